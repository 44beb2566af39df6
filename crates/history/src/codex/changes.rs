//! Changes of files: of items, of events, and of the patches that the model writes.

use serde_json::{Map, Value, json};

/// The changes of an item or event, which are a map by path on disk and a list on the wire.
pub(super) fn to_wire(changes: Value) -> Value {
    let Value::Object(changes) = &changes else { return changes };
    changes.iter().map(|(path, change)| file_change(path, change)).collect()
}

fn file_change(path: &str, change: &Value) -> Value {
    // Older versions have the kind as a key: `{"add": {"content": "…"}}`.
    let nested = change.as_object().filter(|fields| fields.len() == 1 && !fields.contains_key("type"));
    let (kind, fields) = match nested.and_then(|fields| fields.iter().next()) {
        Some((kind, fields)) => (kind.as_str(), fields),
        None => (change.get("type").and_then(Value::as_str).unwrap_or("update"), change),
    };
    let diff = fields.get("unified_diff").or_else(|| fields.get("content")).cloned().unwrap_or_else(|| json!(""));
    let mut wire_kind = Map::new();
    wire_kind.insert("type".to_owned(), json!(kind));
    if kind == "update" {
        wire_kind.insert("move_path".to_owned(), fields.get("move_path").cloned().unwrap_or(Value::Null));
    }
    json!({ "path": path, "kind": wire_kind, "diff": diff })
}

/// The changes in a patch of the model. The diff of an update has no line numbers, because the patch has none.
pub(super) fn parse_patch(patch: &str, cwd: Option<&str>) -> Value {
    let mut changes: Vec<Change> = Vec::new();
    for line in patch.lines() {
        if let Some(path) = line.strip_prefix("*** Add File: ") {
            changes.push(Change::new("add", path, cwd));
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            changes.push(Change::new("delete", path, cwd));
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            changes.push(Change::new("update", path, cwd));
        } else if let Some(change) = changes.last_mut() {
            change.push_line(line, cwd);
        }
    }
    changes.into_iter().map(Change::into_wire).collect()
}

struct Change {
    kind: &'static str,
    path: String,
    move_path: Option<String>,
    diff: String,
}

impl Change {
    fn new(kind: &'static str, path: &str, cwd: Option<&str>) -> Self {
        Self { kind, path: absolute(path, cwd), move_path: None, diff: String::new() }
    }

    fn push_line(&mut self, line: &str, cwd: Option<&str>) {
        if let Some(path) = line.strip_prefix("*** Move to: ") {
            self.move_path = Some(absolute(path, cwd));
        } else if line.starts_with("*** ") {
            // The end of the patch or of the file.
        } else if self.kind == "add" {
            self.diff.push_str(line.strip_prefix('+').unwrap_or(line));
            self.diff.push('\n');
        } else {
            self.diff.push_str(line);
            self.diff.push('\n');
        }
    }

    fn into_wire(self) -> Value {
        let kind = match self.kind {
            "update" => json!({ "type": "update", "move_path": self.move_path }),
            kind => json!({ "type": kind }),
        };
        json!({ "path": self.path, "kind": kind, "diff": self.diff })
    }
}

fn absolute(path: &str, cwd: Option<&str>) -> String {
    let path = path.trim();
    match cwd {
        Some(cwd) if !path.starts_with('/') => format!("{}/{path}", cwd.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_a_list_whatever_their_shape_is() {
        let expected = json!([{ "path": "/a", "kind": { "type": "add" }, "diff": "x\n" }]);
        assert_eq!(to_wire(json!({ "/a": { "type": "add", "content": "x\n" } })), expected);
        assert_eq!(to_wire(json!({ "/a": { "add": { "content": "x\n" } } })), expected);
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";
        assert_eq!(parse_patch(patch, Some("/")), expected);
    }
}

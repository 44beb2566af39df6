//! The files that a tool read or changed, from its input and what it tells of its result.

use interlingua_native::Json;
use interlingua_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::Value;

use crate::unified_diff;

/// What is read of the metadata of a tool that is done. A field of another shape than expected is as good as none,
/// but for the exit code.
#[derive(Default)]
pub(super) struct Metadata {
    /// A command's exit code.
    pub(super) exit: Option<i32>,
    /// The exit code is there and is none.
    pub(super) exit_is_damaged: bool,
    /// It was interrupted, or is a command that never came to an exit.
    pub(super) cut_off: bool,
    /// OpenCode cut the output off.
    pub(super) truncated: bool,
    /// The session of a sub-agent.
    pub(super) session_id: Option<String>,
    /// Whether the file was there before.
    exists: Option<bool>,
    diff: Option<String>,
    changes: Vec<Change>,
}

/// A changed file as the tools tell it, in any version.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    #[serde(alias = "filePath", alias = "filepath", alias = "path")]
    file: Option<String>,
    #[serde(rename = "movePath")]
    moved_to: Option<String>,
    #[serde(rename = "type", alias = "status")]
    how: Option<String>,
    #[serde(alias = "diff")]
    patch: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

impl Metadata {
    pub(super) fn read(json: Option<&Json>) -> Self {
        let Some(Value::Object(mut fields)) = json.map(Json::to_value) else {
            return Self::default();
        };
        let mut changes: Vec<Change> = Vec::new();
        let mut add = |value: Option<Value>| {
            changes.extend(value.and_then(|value| Change::deserialize(value).ok()));
        };
        add(fields.remove("filediff"));
        for list in ["files", "results"] {
            if let Some(Value::Array(list)) = fields.remove(list) {
                for mut change in list {
                    let inner = change.get_mut("filediff").map(Value::take);
                    add(inner.or(Some(change)));
                }
            }
        }
        let text = |value: Option<Value>| match value {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let said = fields.get("exit");
        let exit = said.and_then(exit_code);
        Self {
            exit,
            exit_is_damaged: exit.is_none() && said.is_some_and(|said| !said.is_null()),
            cut_off: said == Some(&Value::Null) || fields.get("interrupted") == Some(&Value::Bool(true)),
            truncated: fields.get("truncated") == Some(&Value::Bool(true)),
            session_id: text(fields.remove("sessionId").or_else(|| fields.remove("sessionID"))),
            exists: fields.get("exists").and_then(Value::as_bool),
            diff: text(fields.remove("diff")),
            changes,
        }
    }
}

/// A whole number, however it is written.
fn exit_code(said: &Value) -> Option<i32> {
    #[allow(clippy::cast_possible_truncation, reason = "what is too large for an exit code stays so")]
    let whole = || said.as_f64().filter(|said| said.fract() == 0.0).map(|said| said as i64);
    said.as_i64().or_else(whole).and_then(|code| i32::try_from(code).ok())
}

/// What is read of a tool's input.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Touched {
    #[serde(alias = "filePath", alias = "file_path")]
    path: Option<String>,
    content: Option<String>,
}

/// The files of a tool that went well. `asked` is the diff that the user was asked to permit.
pub(super) fn file_refs(
    tool: &str,
    input: Option<&Json>,
    metadata: Metadata,
    asked: Option<String>,
) -> Vec<ContentPart> {
    if !matches!(tool, "read" | "write" | "edit" | "multiedit" | "patch" | "apply_patch") {
        return Vec::new();
    }
    let input: Touched = input.and_then(touched).unwrap_or_default();
    let reference = |path, action, diff| vec![ContentPart::FileRef { path, action, diff }];
    match (tool, input.path) {
        ("read", Some(path)) => reference(path, FileAction::Read, None),
        ("write", Some(path)) => {
            let known = metadata.changes.into_iter().find_map(Change::diff).or(metadata.diff).or(asked);
            let diff = match known {
                Some(diff) => Some(with_marker(diff, metadata.exists == Some(false), false)),
                None if metadata.exists == Some(true) => None,
                None => input.content.and_then(|content| unified_diff(&path, None, Some(&content))),
            };
            reference(path, FileAction::Write, diff)
        }
        (_, path) => {
            let changes: Vec<ContentPart> =
                metadata.changes.into_iter().filter_map(|change| change.reference(path.as_deref())).collect();
            match path {
                Some(path) if changes.is_empty() => reference(path, FileAction::Patch, metadata.diff.or(asked)),
                _ => changes,
            }
        }
    }
}

/// The input under one name for the path; the v2 tools say `path`, and may be given both.
fn touched(input: &Json) -> Option<Touched> {
    let mut value = input.to_value();
    let fields = value.as_object_mut()?;
    let path = ["filePath", "file_path", "path"].iter().find_map(|key| fields.remove(*key));
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    Some(Touched { path: text(path), content: text(fields.remove("content")) })
}

impl Change {
    fn reference(self, path: Option<&str>) -> Option<ContentPart> {
        let action = match self.how.as_deref() {
            Some("add" | "added") => FileAction::Write,
            _ => FileAction::Patch,
        };
        let named = self.moved_to.clone().or_else(|| self.file.clone());
        let path = named.or_else(|| path.map(str::to_owned))?;
        Some(ContentPart::FileRef { path, action, diff: self.diff() })
    }

    fn diff(self) -> Option<String> {
        let created = matches!(self.how.as_deref(), Some("add" | "added"));
        let deleted = matches!(self.how.as_deref(), Some("delete" | "deleted"));
        match self.patch {
            Some(patch) if !patch.is_empty() => Some(with_marker(patch, created, deleted)),
            _ => {
                let (before, after) = (self.before.filter(|_| !created), self.after.filter(|_| !deleted));
                unified_diff(self.file.as_deref()?, before.as_deref(), after.as_deref())
            }
        }
    }
}

/// A diff that tells by `/dev/null` that the file is new or gone, which OpenCode's own headers do not.
fn with_marker(diff: String, created: bool, deleted: bool) -> String {
    let hunks = if diff.starts_with("@@") { Some(0) } else { diff.find("\n@@").map(|newline| newline + 1) };
    match (created, deleted, hunks) {
        (true, _, Some(hunks)) => format!("--- /dev/null\n+++ b\n{}", &diff[hunks..]),
        (_, true, Some(hunks)) => format!("--- a\n+++ /dev/null\n{}", &diff[hunks..]),
        _ => diff,
    }
}

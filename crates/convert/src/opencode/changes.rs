//! Files that a tool has read or changed, from its input and metadata.

use interlingua_native::Json;
use interlingua_schema::{ContentPart, FileAction};
use serde::Deserialize;
use serde_json::Value;

use crate::unified_diff;

/// Metadata of a completed tool. A field with an unexpected type counts as missing, except for the exit code.
#[derive(Default)]
pub(super) struct ToolMetadata {
    /// Exit code of a command.
    pub(super) exit: Option<i32>,
    /// There is an exit code, but it is not a whole number.
    pub(super) has_invalid_exit: bool,
    /// The tool was interrupted, or is a command that did not exit.
    pub(super) is_cut_off: bool,
    /// OpenCode has truncated the output.
    pub(super) is_truncated: bool,
    /// Session of the sub-agent.
    pub(super) session_id: Option<String>,
    /// Whether the file existed before.
    exists: Option<bool>,
    diff: Option<String>,
    changes: Vec<Change>,
}

/// A changed file, in the form of any tool and version.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    #[serde(alias = "filePath", alias = "filepath", alias = "path")]
    file: Option<String>,
    #[serde(rename = "movePath")]
    moved_to: Option<String>,
    #[serde(rename = "type", alias = "status")]
    status: Option<String>,
    #[serde(alias = "diff")]
    patch: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

impl ToolMetadata {
    pub(super) fn parse(json: Option<&Json>) -> Self {
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
        let exit_value = fields.get("exit");
        let exit = exit_value.and_then(parse_exit_code);
        Self {
            exit,
            has_invalid_exit: exit.is_none() && exit_value.is_some_and(|value| !value.is_null()),
            is_cut_off: exit_value == Some(&Value::Null) || fields.get("interrupted") == Some(&Value::Bool(true)),
            is_truncated: fields.get("truncated") == Some(&Value::Bool(true)),
            session_id: text(fields.remove("sessionId").or_else(|| fields.remove("sessionID"))),
            exists: fields.get("exists").and_then(Value::as_bool),
            diff: text(fields.remove("diff")),
            changes,
        }
    }
}

/// Parses a whole number, also if it is written as a float.
fn parse_exit_code(value: &Value) -> Option<i32> {
    #[allow(clippy::cast_possible_truncation, reason = "values out of range stay out of range")]
    let whole = || value.as_f64().filter(|code| code.fract() == 0.0).map(|code| code as i64);
    value.as_i64().or_else(whole).and_then(|code| i32::try_from(code).ok())
}

/// Input of a tool that works on one file.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FileInput {
    #[serde(alias = "filePath", alias = "file_path")]
    path: Option<String>,
    content: Option<String>,
}

/// Files of a successful tool. `permitted_diff` is the diff of the permission request.
pub(super) fn file_refs(
    tool: &str,
    input: Option<&Json>,
    metadata: ToolMetadata,
    permitted_diff: Option<String>,
) -> Vec<ContentPart> {
    if !matches!(tool, "read" | "write" | "edit" | "multiedit" | "patch" | "apply_patch") {
        return Vec::new();
    }
    let input: FileInput = input.and_then(parse_file_input).unwrap_or_default();
    let file_ref = |path, action, diff| vec![ContentPart::FileRef { path, action, diff }];
    match (tool, input.path) {
        ("read", Some(path)) => file_ref(path, FileAction::Read, None),
        ("write", Some(path)) => {
            let known_diff =
                metadata.changes.into_iter().find_map(Change::into_diff).or(metadata.diff).or(permitted_diff);
            let diff = match known_diff {
                Some(diff) => Some(with_dev_null_header(diff, metadata.exists == Some(false), false)),
                None if metadata.exists == Some(true) => None,
                None => input.content.and_then(|content| unified_diff(&path, None, Some(&content))),
            };
            file_ref(path, FileAction::Write, diff)
        }
        (_, path) => {
            let changes: Vec<ContentPart> =
                metadata.changes.into_iter().filter_map(|change| change.into_file_ref(path.as_deref())).collect();
            match path {
                Some(path) if changes.is_empty() => file_ref(path, FileAction::Patch, metadata.diff.or(permitted_diff)),
                _ => changes,
            }
        }
    }
}

/// Reads the path under any of its names. The v2 tools use `path`, and an input may have several.
fn parse_file_input(input: &Json) -> Option<FileInput> {
    let mut value = input.to_value();
    let fields = value.as_object_mut()?;
    let path = ["filePath", "file_path", "path"].iter().find_map(|key| fields.remove(*key));
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    Some(FileInput { path: text(path), content: text(fields.remove("content")) })
}

impl Change {
    fn into_file_ref(self, path: Option<&str>) -> Option<ContentPart> {
        let action = match self.status.as_deref() {
            Some("add" | "added") => FileAction::Write,
            _ => FileAction::Patch,
        };
        let own_path = self.moved_to.clone().or_else(|| self.file.clone());
        let path = own_path.or_else(|| path.map(str::to_owned))?;
        Some(ContentPart::FileRef { path, action, diff: self.into_diff() })
    }

    fn into_diff(self) -> Option<String> {
        let is_created = matches!(self.status.as_deref(), Some("add" | "added"));
        let is_deleted = matches!(self.status.as_deref(), Some("delete" | "deleted"));
        match self.patch {
            Some(patch) if !patch.is_empty() => Some(with_dev_null_header(patch, is_created, is_deleted)),
            _ => {
                let (before, after) = (self.before.filter(|_| !is_created), self.after.filter(|_| !is_deleted));
                unified_diff(self.file.as_deref()?, before.as_deref(), after.as_deref())
            }
        }
    }
}

/// Marks a created or deleted file by `/dev/null` in the headers of its diff. OpenCode's own headers do not.
fn with_dev_null_header(diff: String, is_created: bool, is_deleted: bool) -> String {
    let hunks = if diff.starts_with("@@") { Some(0) } else { diff.find("\n@@").map(|newline| newline + 1) };
    match (is_created, is_deleted, hunks) {
        (true, _, Some(hunks)) => format!("--- /dev/null\n+++ b\n{}", &diff[hunks..]),
        (_, true, Some(hunks)) => format!("--- a\n+++ /dev/null\n{}", &diff[hunks..]),
        _ => diff,
    }
}

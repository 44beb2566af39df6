//! Files that a tool read or changed, from its `tool_use_result` or else from its arguments.

use interlingua_native::Json;
use interlingua_schema::{ContentPart, FileAction, ToolKind};
use serde::Deserialize;

use super::calls::OpenCall;
use crate::unified_diff;

/// Arguments of all file tools in one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    #[serde(alias = "notebook_path", alias = "path")]
    file_path: Option<String>,
    old_string: Option<String>,
    new_string: Option<String>,
    content: Option<String>,
    new_source: Option<String>,
    edits: Vec<Edit>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Edit {
    old_string: String,
    new_string: String,
}

/// Fields of `tool_use_result` of all file tools in one.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FileRecord {
    #[serde(alias = "notebook_path")]
    file_path: Option<String>,
    /// Present if the file was read.
    file: Option<ReadFile>,
    #[serde(alias = "originalFileContents", alias = "original_file")]
    original_file: Option<String>,
    content: Option<String>,
    #[serde(alias = "updated_file")]
    updated_file: Option<String>,
    structured_patch: Vec<Hunk>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReadFile {
    file_path: Option<String>,
    content: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Hunk {
    old_start: u64,
    old_lines: u64,
    new_start: u64,
    new_lines: u64,
    lines: Vec<String>,
}

/// Content of a file that was read as text.
pub(super) fn text_content(record: &Json) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct ReadRecord {
        r#type: String,
        file: Option<ReadFile>,
    }
    let read: ReadRecord = record.decode().ok()?;
    read.file.filter(|_| read.r#type == "text")?.content
}

/// Whether a record has the file that was read, or the text before and after a change.
#[cfg(feature = "acp")]
pub(super) fn has_file(record: &Json) -> bool {
    record.decode::<FileRecord>().is_ok_and(|record| record.file_path.is_some() || record.file.is_some())
}

/// The `file_ref` part of a file tool that succeeded.
pub(super) fn file_ref(call: &OpenCall, record: Option<&Json>) -> Option<ContentPart> {
    if !matches!(call.kind, ToolKind::FileChange | ToolKind::FileRead) {
        return None;
    }
    let arguments: Arguments = call.arguments();
    let record: FileRecord = record.and_then(|record| record.decode().ok()).unwrap_or_default();
    let read_path = record.file.as_ref().and_then(|file| file.file_path.clone());
    let path = record.file_path.clone().or(read_path).or_else(|| arguments.file_path.clone())?;
    let (action, diff) = match call.kind {
        ToolKind::FileRead => (FileAction::Read, None),
        _ if call.name == "Write" => (FileAction::Write, write_diff(&path, &arguments, &record)),
        _ => (FileAction::Patch, edit_diff(&path, &arguments, &record)),
    };
    Some(ContentPart::FileRef { path, action, diff })
}

/// Diff of a file that was written as a whole.
fn write_diff(path: &str, arguments: &Arguments, record: &FileRecord) -> Option<String> {
    unified_hunks(path, &record.structured_patch).or_else(|| {
        let content = record.content.as_deref().or(arguments.content.as_deref());
        unified_diff(path, record.original_file.as_deref(), content)
    })
}

/// Diff of a file in which text was replaced.
fn edit_diff(path: &str, arguments: &Arguments, record: &FileRecord) -> Option<String> {
    if let Some(diff) = unified_hunks(path, &record.structured_patch) {
        return Some(diff);
    }
    if let (Some(before), Some(after)) = (&record.original_file, &record.updated_file) {
        return unified_diff(path, Some(before), Some(after));
    }
    let after = arguments.new_string.as_deref().or(arguments.new_source.as_deref());
    if let Some(after) = after {
        return unified_diff(path, Some(arguments.old_string.as_deref().unwrap_or_default()), Some(after));
    }
    let diffs =
        arguments.edits.iter().filter_map(|edit| unified_diff(path, Some(&edit.old_string), Some(&edit.new_string)));
    // All edits are of one file, so only the first diff keeps its header.
    diffs.reduce(|all, diff| all + strip_header(&diff))
}

/// The hunks of a diff, without the file header.
fn strip_header(diff: &str) -> &str {
    diff.find("@@").map_or(diff, |start| &diff[start..])
}

/// The agent's hunks as a unified diff.
fn unified_hunks(path: &str, hunks: &[Hunk]) -> Option<String> {
    if hunks.is_empty() {
        return None;
    }
    let path = path.trim_start_matches('/');
    let mut diff = format!("--- a/{path}\n+++ b/{path}\n");
    for hunk in hunks {
        let Hunk { old_start, old_lines, new_start, new_lines, lines } = hunk;
        let header = format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n");
        diff.push_str(&header);
        for line in lines {
            diff.push_str(line);
            diff.push('\n');
        }
    }
    Some(diff)
}

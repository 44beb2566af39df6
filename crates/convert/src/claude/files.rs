//! The files that a tool read or changed, from its own record of the result or else from its arguments.

use interlingua_native::Json;
use interlingua_schema::{ContentPart, FileAction, ToolKind};
use serde::Deserialize;

use super::calls::Call;
use crate::unified_diff;

/// The arguments of the file tools, all in one.
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

/// The records of the file tools, all in one.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record {
    #[serde(alias = "notebook_path")]
    file_path: Option<String>,
    /// Of a file that was read.
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

/// The content of a file that was read as text, from the tool's record.
pub(super) fn content(record: &Json) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Read {
        r#type: String,
        file: Option<ReadFile>,
    }
    let read: Read = record.decode().ok()?;
    read.file.filter(|_| read.r#type == "text")?.content
}

/// The file of a tool that worked.
pub(super) fn of(call: &Call, record: Option<&Json>) -> Option<ContentPart> {
    if !matches!(call.kind, ToolKind::FileChange | ToolKind::FileRead) {
        return None;
    }
    let arguments: Arguments = call.arguments();
    let record: Record = record.and_then(|record| record.decode().ok()).unwrap_or_default();
    let read = record.file.as_ref().and_then(|file| file.file_path.clone());
    let path = record.file_path.clone().or(read).or_else(|| arguments.file_path.clone())?;
    let (action, diff) = match call.kind {
        ToolKind::FileRead => (FileAction::Read, None),
        _ if call.name == "Write" => (FileAction::Write, written(&path, &arguments, &record)),
        _ => (FileAction::Patch, patched(&path, &arguments, &record)),
    };
    Some(ContentPart::FileRef { path, action, diff })
}

/// The change of a file that was written as a whole.
fn written(path: &str, arguments: &Arguments, record: &Record) -> Option<String> {
    hunks(path, &record.structured_patch).or_else(|| {
        let content = record.content.as_deref().or(arguments.content.as_deref());
        unified_diff(path, record.original_file.as_deref(), content)
    })
}

/// The change of a file in which something was replaced.
fn patched(path: &str, arguments: &Arguments, record: &Record) -> Option<String> {
    if let Some(diff) = hunks(path, &record.structured_patch) {
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
    // All of them are of one file, so only the first keeps its header.
    diffs.reduce(|all, diff| all + without_header(&diff))
}

/// The hunks of a diff.
fn without_header(diff: &str) -> &str {
    diff.find("@@").map_or(diff, |start| &diff[start..])
}

/// The agent's own hunks as a unified diff.
fn hunks(path: &str, hunks: &[Hunk]) -> Option<String> {
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

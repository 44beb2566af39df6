//! Amp's tools: what sort each is, and what its arguments say about files.

use foldhash::HashMap;
use interlingua_schema::{ContentPart, FileAction, ToolKind};
use serde::Deserialize;
use serde_json::Value;

use crate::{PlanStep, unified_diff};

/// So many calls without a result are remembered.
const MOST_OPEN: usize = 1024;

/// What sort of tool it is, by its name.
pub(super) fn kind(name: &str) -> ToolKind {
    match name {
        "shell_command" | "async_shell_command" | "shell_command_status" | "shell_command_kill" | "Bash" => {
            ToolKind::Command
        }
        "edit_file" | "create_file" | "apply_patch" | "undo_edit" | "delete_file" | "format_file" => {
            ToolKind::FileChange
        }
        "Read" | "read_file" | "list_directory" | "view_media" | "look_at" => ToolKind::FileRead,
        "Grep" | "glob" | "finder" | "find_thread" | "codebase_search_agent" => ToolKind::Search,
        "read_web_page" | "web_search" => ToolKind::Web,
        "read_mcp_resource" => ToolKind::Mcp,
        "Task" | "oracle" | "librarian" | "handoff" => ToolKind::SubAgent,
        "todo_write" | "todo_read" => ToolKind::Plan,
        name if name.starts_with("mcp__") => ToolKind::Mcp,
        _ => ToolKind::Other,
    }
}

/// The steps of a plan that a call writes down.
pub(super) fn plan(name: &str, arguments: &str) -> Option<Vec<PlanStep>> {
    #[derive(Deserialize)]
    struct Arguments {
        todos: Vec<Value>,
    }
    if name != "todo_write" {
        return None;
    }
    let arguments: Arguments = serde_json::from_str(arguments).ok()?;
    Some(arguments.todos.into_iter().map(PlanStep::of_json).collect())
}

/// A call whose result is still to come, as far as the result needs it.
#[derive(Debug)]
pub(super) enum OpenCall {
    Read { path: String },
    Edit { path: String, old: String, new: String },
    Create { path: String, content: String },
    Patch { text: String },
}

/// The calls whose arguments tell what their results leave out.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(HashMap<String, OpenCall>);

/// The arguments that matter, of whatever tool.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    path: Option<String>,
    old_str: Option<String>,
    new_str: Option<String>,
    content: Option<String>,
    #[serde(alias = "patchText", alias = "patch_text", alias = "patch", alias = "input")]
    patch: Option<String>,
}

impl OpenCalls {
    /// A tool is called.
    pub(super) fn begin(&mut self, id: &str, name: &str, arguments: &str) {
        if !matches!(name, "Read" | "edit_file" | "create_file" | "apply_patch") || self.0.len() >= MOST_OPEN {
            return;
        }
        let arguments: Arguments = serde_json::from_str(arguments).unwrap_or_default();
        let call = match (name, arguments.path, arguments.patch) {
            ("Read", Some(path), _) => OpenCall::Read { path },
            ("edit_file", Some(path), _) => OpenCall::Edit {
                path,
                old: arguments.old_str.unwrap_or_default(),
                new: arguments.new_str.unwrap_or_default(),
            },
            ("create_file", Some(path), _) => OpenCall::Create { path, content: arguments.content.unwrap_or_default() },
            ("apply_patch", _, Some(text)) => OpenCall::Patch { text },
            _ => return,
        };
        self.0.insert(id.to_owned(), call);
    }

    /// A tool is done.
    pub(super) fn end(&mut self, id: &str) -> Option<OpenCall> {
        self.0.remove(id)
    }
}

impl OpenCall {
    /// The files that the tool read or changed. The agent's own diff is better than one made of the arguments.
    pub(super) fn files(self, diff: Option<String>) -> Vec<ContentPart> {
        let file = |path, action, diff| vec![ContentPart::FileRef { path, action, diff }];
        match self {
            Self::Read { path } => file(path, FileAction::Read, None),
            Self::Edit { path, old, new } => {
                let diff = diff.or_else(|| unified_diff(&path, Some(&old), Some(&new)));
                file(path, FileAction::Patch, diff)
            }
            Self::Create { path, content } => {
                let diff = diff.or_else(|| unified_diff(&path, None, Some(&content)));
                file(path, FileAction::Write, diff)
            }
            Self::Patch { text } => patched(&text),
        }
    }
}

/// The files of a patch in the `*** Begin Patch` form.
fn patched(text: &str) -> Vec<ContentPart> {
    let mut files = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let heads = [("*** Add File: ", 'a'), ("*** Update File: ", 'u'), ("*** Delete File: ", 'd')];
        let Some((path, how)) = heads.iter().find_map(|(head, how)| Some((line.strip_prefix(head)?.trim(), *how)))
        else {
            continue;
        };
        let mut body = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("*** ")) {
            body.push_str(line);
            body.push('\n');
        }
        let added = || body.lines().filter_map(|line| line.strip_prefix('+')).flat_map(|line| [line, "\n"]).collect();
        let (action, diff) = match how {
            'a' => {
                let content: String = added();
                (FileAction::Write, unified_diff(path, None, Some(&content)))
            }
            'd' => (FileAction::Patch, None),
            _ => (FileAction::Patch, Some(format!("--- a/{0}\n+++ b/{0}\n{body}", path.trim_start_matches('/')))),
        };
        files.push(ContentPart::FileRef { path: path.to_owned(), action, diff });
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_files() {
        let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: b.txt\n@@ fn\n-x\n+y\n*** Delete File: c.txt\n*** End Patch\n";
        let files: Vec<_> = patched(patch)
            .into_iter()
            .map(|part| match part {
                ContentPart::FileRef { path, action, diff } => (path, action, diff.unwrap_or_default()),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(files[0].2, "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n");
        assert_eq!(files[1], ("b.txt".into(), FileAction::Patch, "--- a/b.txt\n+++ b/b.txt\n@@ fn\n-x\n+y\n".into()));
        assert_eq!(files[2].0, "c.txt");
    }
}

//! Amp's tools: their kinds, their inputs, and the files that they read or change.

mod patch;

use std::borrow::Cow;
use std::fmt;

use foldhash::HashMap;
use interlingua_schema::{
    ChangeKind, CommandInput, ContentPart, FileAction, FileChange, FileChangeInput, FileReadInput, McpInput, PlanInput,
    PlanStep, SearchInput, SearchTarget, SubAgentInput, TextEdit, ToolInput, ToolKind, WebInput,
};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{plan_step_from_json, unified_diff};
use patch::PatchedFile;

/// Maximum number of open calls that are tracked.
const MAX_OPEN_CALLS: usize = 1024;

/// The kind of a tool, by its name.
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

/// The arguments of a call. Values are decoded only when they are needed: most are not.
pub(super) struct Arguments<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Arguments<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgumentsVisitor;

        impl<'de> Visitor<'de> for ArgumentsVisitor {
            type Value = Arguments<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::with_capacity(4);
                while let Some((ArgumentName(key), value)) = members.next_entry()? {
                    list.push((key, value));
                }
                Ok(Arguments(list))
            }
        }

        deserializer.deserialize_map(ArgumentsVisitor)
    }
}

/// The name of an argument, borrowed unless it has escapes.
#[derive(Deserialize)]
struct ArgumentName<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Arguments<'a> {
    /// Parses the arguments of a call. JSON that is not an object has no arguments.
    pub(super) fn parse(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or(Self(Vec::new()))
    }

    /// Decodes the argument of this name; the last one if there are several.
    fn value<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        let (_, value) = self.0.iter().rfind(|(name, _)| name == key)?;
        serde_json::from_str(value.get()).ok()
    }

    /// The first of these arguments that is a string.
    fn text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.value(key))
    }

    /// The first of these arguments that is a number.
    fn number(&self, keys: &[&str]) -> Option<u64> {
        keys.iter().find_map(|key| self.value(key))
    }

    /// The input of the tool `name`, if the arguments have the shape of its kind.
    pub(super) fn input(&self, name: &str) -> Option<ToolInput> {
        Some(match name {
            "shell_command" | "async_shell_command" | "Bash" => self.command(name)?,
            "Read" | "read_file" | "list_directory" | "view_media" | "look_at" => self.file_read()?,
            "edit_file" | "create_file" | "undo_edit" | "delete_file" | "format_file" => self.file_change(name)?,
            "apply_patch" => self.patch()?,
            "Grep" | "glob" | "finder" | "find_thread" | "codebase_search_agent" => self.search(name)?,
            "read_web_page" => ToolInput::Web(WebInput::fetch(self.text(&["url"])?)),
            "web_search" => ToolInput::Web(WebInput::search(self.web_query()?)),
            "Task" | "oracle" | "librarian" | "handoff" => self.sub_agent(name)?,
            "todo_write" => ToolInput::Plan(PlanInput::new(self.plan_steps()?)),
            _ => self.mcp(name)?,
        })
    }

    /// One-line title for a call that has no input of its kind.
    pub(super) fn title(&self, name: &str) -> Option<String> {
        let command = || match self.text(&["processId", "process_id", "commandId", "id"]) {
            Some(id) => format!("command {id}"),
            None => "a command".to_owned(),
        };
        match name {
            "shell_command_status" => Some(format!("Read output of {}", command())),
            "shell_command_kill" => Some(format!("Stop {}", command())),
            "read_mcp_resource" => Some(format!("{}: {}", self.text(&["server"])?, self.text(&["uri"])?)),
            _ => None,
        }
    }

    fn command(&self, name: &str) -> Option<ToolInput> {
        let mut input = CommandInput::new(self.text(&["command", "cmd"])?);
        input.cwd = self.text(&["cwd", "workdir"]);
        input.background = (name == "async_shell_command").then_some(true);
        input.timeout_ms = self.number(&["timeout_ms", "timeoutMs"]);
        input.description = self.text(&["description"]);
        Some(ToolInput::Command(input))
    }

    fn file_read(&self) -> Option<ToolInput> {
        let mut input = FileReadInput::new(self.text(&["path"])?);
        if let Some([first, last]) = self.value::<[u64; 2]>("read_range") {
            input.offset = Some(first);
            input.limit = last.checked_sub(first).map(|more| more + 1);
        }
        Some(ToolInput::FileRead(input))
    }

    fn file_change(&self, name: &str) -> Option<ToolInput> {
        let mut change = FileChange::new(self.text(&["path"])?);
        match name {
            "edit_file" => {
                let old = self.text(&["old_str"]);
                change.edits = old.zip(self.text(&["new_str"])).map(|(old, new)| vec![TextEdit::new(old, new)]);
            }
            "delete_file" => change.change = Some(ChangeKind::Delete),
            // `create_file` may also replace a file, so the kind of change is unknown.
            _ => {}
        }
        Some(ToolInput::FileChange(FileChangeInput::new(vec![change])))
    }

    fn patch(&self) -> Option<ToolInput> {
        let files = patch::parse(&self.patch_text()?);
        let changes: Vec<_> = files.into_iter().map(PatchedFile::into_change).collect();
        (!changes.is_empty()).then(|| ToolInput::FileChange(FileChangeInput::new(changes)))
    }

    fn patch_text(&self) -> Option<String> {
        self.text(&["patchText", "patch_text", "patch", "input"])
    }

    fn search(&self, name: &str) -> Option<ToolInput> {
        let (key, target) = match name {
            "Grep" => ("pattern", Some(SearchTarget::Contents)),
            "glob" => ("filePattern", Some(SearchTarget::Names)),
            _ => ("query", None),
        };
        let mut input = SearchInput::new(self.text(&[key])?);
        input.target = target;
        input.path = self.text(&["path"]);
        input.glob = self.text(&["glob"]);
        Some(ToolInput::Search(input))
    }

    /// The query of a web search: `query`, or else the objective or the first of several queries.
    fn web_query(&self) -> Option<String> {
        let first_query = || self.value::<Vec<String>>("search_queries")?.into_iter().next();
        self.text(&["query", "objective"]).or_else(first_query)
    }

    fn sub_agent(&self, name: &str) -> Option<ToolInput> {
        let mut input = SubAgentInput::new(self.text(&["prompt", "task", "query", "goal"])?);
        input.description = self.text(&["description"]);
        // Some sub-agents have a separate tool.
        input.agent = match name {
            "oracle" | "librarian" => Some(name.to_owned()),
            _ => self.text(&["subagent_type", "agent"]),
        };
        Some(ToolInput::SubAgent(input))
    }

    fn plan_steps(&self) -> Option<Vec<PlanStep>> {
        Some(self.value::<Vec<Value>>("todos")?.into_iter().map(plan_step_from_json).collect())
    }

    /// The tool `mcp__<server>__<tool>` of an MCP server.
    fn mcp(&self, name: &str) -> Option<ToolInput> {
        let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
        let arguments = self.0.iter().map(|(key, value)| {
            // A value that is nested too deeply to decode becomes null.
            (key.clone().into_owned(), serde_json::from_str(value.get()).unwrap_or_default())
        });
        Some(ToolInput::Mcp(McpInput::new(server, tool, Value::Object(arguments.collect()))))
    }
}

/// A call without a result, with what the result needs of its arguments.
#[derive(Debug)]
pub(super) enum OpenCall {
    Command,
    Read {
        path: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Create {
        path: String,
        content: String,
    },
    Patch {
        text: String,
    },
    /// A change of a file that the arguments do not describe.
    Change {
        path: String,
    },
    Search,
    Mcp,
}

/// Open calls by their id.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(HashMap<String, OpenCall>);

impl OpenCalls {
    /// Adds a call.
    pub(super) fn insert(&mut self, id: &str, name: &str, arguments: &Arguments<'_>) {
        if self.0.len() < MAX_OPEN_CALLS
            && let Some(call) = OpenCall::new(name, arguments)
        {
            self.0.insert(id.to_owned(), call);
        }
    }

    /// Removes a call that has its result.
    pub(super) fn remove(&mut self, id: &str) -> Option<OpenCall> {
        self.0.remove(id)
    }
}

impl OpenCall {
    fn new(name: &str, arguments: &Arguments<'_>) -> Option<Self> {
        let path = || arguments.text(&["path"]);
        let text = |key| arguments.text(&[key]).unwrap_or_default();
        Some(match name {
            "edit_file" => Self::Edit { path: path()?, old: text("old_str"), new: text("new_str") },
            "create_file" => Self::Create { path: path()?, content: text("content") },
            "apply_patch" => Self::Patch { text: arguments.patch_text()? },
            "undo_edit" | "delete_file" | "format_file" => Self::Change { path: path()? },
            "Read" | "read_file" => Self::Read { path: path()? },
            name => match kind(name) {
                ToolKind::Command => Self::Command,
                ToolKind::Search => Self::Search,
                ToolKind::Mcp => Self::Mcp,
                _ => return None,
            },
        })
    }

    /// The files that the tool read or changed. Amp's diff takes precedence over one made from the arguments.
    pub(super) fn files(self, diff: Option<String>) -> Vec<ContentPart> {
        let file = |path, action, diff| vec![ContentPart::FileRef { path, action, diff }];
        match self {
            Self::Command | Self::Search | Self::Mcp => Vec::new(),
            Self::Read { path } => file(path, FileAction::Read, None),
            Self::Edit { path, old, new } => {
                let diff = diff.or_else(|| unified_diff(&path, Some(&old), Some(&new)));
                file(path, FileAction::Patch, diff)
            }
            Self::Create { path, content } => {
                let diff = diff.or_else(|| unified_diff(&path, None, Some(&content)));
                file(path, FileAction::Write, diff)
            }
            Self::Patch { text } => patch::parse(&text).into_iter().map(PatchedFile::into_part).collect(),
            Self::Change { path } => file(path, FileAction::Patch, diff),
        }
    }

    /// Whether the call changes files.
    pub(super) fn is_change(&self) -> bool {
        matches!(self, Self::Edit { .. } | Self::Create { .. } | Self::Patch { .. } | Self::Change { .. })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(name: &str, arguments: &Value) -> Option<Value> {
        let input = Arguments::parse(&arguments.to_string()).input(name)?;
        assert_eq!(input.kind(), Some(kind(name)), "{name}");
        Some(serde_json::to_value(input).unwrap())
    }

    #[test]
    fn every_tool_has_the_input_of_its_kind() {
        for (name, arguments, expected) in [
            (
                "shell_command",
                json!({ "command": "make", "workdir": "/w", "timeout_ms": 9 }),
                json!({ "command": "make", "cwd": "/w", "timeout_ms": 9 }),
            ),
            ("async_shell_command", json!({ "command": "make" }), json!({ "command": "make", "background": true })),
            ("Bash", json!({ "cmd": "make", "cwd": "/w" }), json!({ "command": "make", "cwd": "/w" })),
            (
                "Read",
                json!({ "path": "/w/a", "read_range": [3, 7] }),
                json!({ "path": "/w/a", "offset": 3, "limit": 5 }),
            ),
            ("Read", json!({ "path": "/w/a" }), json!({ "path": "/w/a" })),
            (
                "edit_file",
                json!({ "path": "a", "old_str": "x", "new_str": "y" }),
                json!({ "changes": [{ "path": "a", "edits": [{ "old": "x", "new": "y" }] }] }),
            ),
            ("create_file", json!({ "path": "a", "content": "x" }), json!({ "changes": [{ "path": "a" }] })),
            ("delete_file", json!({ "path": "a" }), json!({ "changes": [{ "path": "a", "change": "delete" }] })),
            (
                "Grep",
                json!({ "pattern": "x", "path": "src", "glob": "*.rs" }),
                json!({ "query": "x", "in": "contents", "path": "src", "glob": "*.rs" }),
            ),
            ("glob", json!({ "filePattern": "**/*.py" }), json!({ "query": "**/*.py", "in": "names" })),
            ("finder", json!({ "query": "q" }), json!({ "query": "q" })),
            ("read_web_page", json!({ "url": "https://x" }), json!({ "url": "https://x" })),
            ("web_search", json!({ "objective": "o", "search_queries": ["q"] }), json!({ "query": "o" })),
            ("web_search", json!({ "search_queries": ["q"] }), json!({ "query": "q" })),
            ("Task", json!({ "prompt": "p", "description": "d" }), json!({ "prompt": "p", "description": "d" })),
            ("oracle", json!({ "task": "t", "context": "c" }), json!({ "prompt": "t", "agent": "oracle" })),
            (
                "todo_write",
                json!({ "todos": [{ "id": "1", "content": "c", "status": "in-progress" }] }),
                json!({ "steps": [{ "content": "c", "status": "in_progress" }] }),
            ),
            ("mcp__tiny__add", json!({ "a": 2 }), json!({ "server": "tiny", "tool": "add", "arguments": { "a": 2 } })),
        ] {
            assert_eq!(input(name, &arguments), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_call_without_the_keys_of_its_kind_has_no_input() {
        for name in ["shell_command", "Read", "edit_file", "apply_patch", "Grep", "web_search", "Task", "todo_write"] {
            assert_eq!(input(name, &json!({ "path": 1 })), None, "{name}");
        }
        assert_eq!(input("skill", &json!({ "name": "x" })), None);
    }

    #[test]
    fn calls_about_a_running_command_have_a_title() {
        let title = |name, arguments: Value| Arguments::parse(&arguments.to_string()).title(name);
        let id = json!({ "processId": "p1" });
        assert_eq!(title("shell_command_status", id.clone()).as_deref(), Some("Read output of command p1"));
        assert_eq!(title("shell_command_kill", id).as_deref(), Some("Stop command p1"));
        assert_eq!(title("shell_command_status", json!({})).as_deref(), Some("Read output of a command"));
        let resource = json!({ "server": "tiny", "uri": "tiny://a" });
        assert_eq!(title("read_mcp_resource", resource).as_deref(), Some("tiny: tiny://a"));
        assert_eq!(title("Read", json!({})), None);
    }
}

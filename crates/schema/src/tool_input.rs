//! Inputs of tool calls: one struct per kind of tool.
//!
//! The keys of an `input` depend on the call's `tool_kind` alone, whichever agent makes the call. Optional keys that the
//! call does not have are omitted.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{PlanStep, ToolKind, wire_enum, wire_struct, wire_untagged_union};

wire_untagged_union! {
    /// The input of a tool call. The call's `tool_kind` decides the variant.
    pub enum ToolInput by ToolKind {
        /// Input of a call of kind `command`.
        Command(CommandInput),
        /// Input of a call of kind `file_read`.
        FileRead(FileReadInput),
        /// Input of a call of kind `file_change`.
        FileChange(FileChangeInput),
        /// Input of a call of kind `search`.
        Search(SearchInput),
        /// Input of a call of kind `web`.
        Web(WebInput),
        /// Input of a call of kind `mcp`.
        Mcp(McpInput),
        /// Input of a call of kind `sub_agent`.
        SubAgent(SubAgentInput),
        /// Input of a call of kind `plan`.
        Plan(PlanInput),
        /// Input of a call of kind `question`.
        Question(QuestionInput),
    } else
        /// An input that lacks a required key of its kind, kept unchanged.
        Unknown(Value)
}

impl ToolInput {
    /// The kind of tool that has this input; `None` for [`ToolInput::Unknown`].
    #[must_use]
    pub const fn kind(&self) -> Option<ToolKind> {
        self.tag()
    }

    /// Decodes the input of a call of this kind. An input that lacks a required key of the kind becomes
    /// [`ToolInput::Unknown`].
    #[must_use]
    pub fn decode(kind: Option<&ToolKind>, input: Value) -> Self {
        match kind.and_then(|kind| Self::decode_as(kind, &input)) {
            Some(Ok(typed)) => typed,
            Some(Err(_)) | None => Self::Unknown(input),
        }
    }

    /// Decodes an input that was read before the kind of its call was known.
    pub(crate) fn with_kind(self, kind: Option<&ToolKind>) -> Self {
        match self {
            Self::Unknown(input) => Self::decode(kind, input),
            typed => typed,
        }
    }
}

/// Reads an input whose kind is not known yet. [`ToolInput::with_kind`] decodes it.
pub(crate) fn deserialize_untyped<'de, T: From<ToolInput>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<Value>::deserialize(from)?.map(|input| ToolInput::Unknown(input).into()))
}

wire_struct! {
    /// A command to run.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct CommandInput {
        /// The command line, without a shell such as `bash -lc` around it.
        pub command: String,
        /// Working directory. Omitted if the call does not have it.
        pub cwd?: Option<String>,
        /// Whether the command runs in the background. Omitted if the call does not have it.
        pub background?: Option<bool>,
        /// Timeout of the command. Omitted if the call does not have it.
        pub timeout_ms?: Option<u64>,
        /// The model's description of the command. Omitted if the call does not have it.
        pub description?: Option<String>,
    }
    /// A command without further options.
    new(command: impl Into<String>)
}

wire_struct! {
    /// A file to read.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FileReadInput {
        /// Path of the file; absolute if the session's directory is known.
        pub path: String,
        /// The first line to read. Omitted if the call does not have it.
        pub offset?: Option<u64>,
        /// Number of lines to read. Omitted if the call does not have it.
        pub limit?: Option<u64>,
    }
    /// A whole file.
    new(path: impl Into<String>)
}

wire_struct! {
    /// Changes to files.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FileChangeInput {
        /// One change per file.
        pub changes: Vec<FileChange>,
    }
    /// An input with these changes.
    new(changes: Vec<FileChange>)
}

wire_struct! {
    /// A change to one file.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FileChange {
        /// Path of the file; absolute if the session's directory is known.
        pub path: String,
        /// What happens to the file. Omitted if the call does not say: a write may create or replace a file.
        pub change?: Option<ChangeKind>,
        /// New path of a moved file. Omitted if it is not moved.
        pub to?: Option<String>,
        /// The change as a unified diff. Omitted if the call does not have one.
        pub diff?: Option<String>,
        /// The text replacements. Omitted if the call does not have them.
        pub edits?: Option<Vec<TextEdit>>,
    }
    /// A change to the file at this path.
    new(path: impl Into<String>)
}

wire_enum! {
    /// What happens to a file.
    pub enum ChangeKind {
        /// The file is created.
        Create = "create",
        /// The file is changed.
        Update = "update",
        /// The file is deleted.
        Delete = "delete",
        /// The file is moved, and may be changed as well.
        Move = "move",
    } else Unknown
}

wire_struct! {
    /// The replacement of a text in a file.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct TextEdit {
        /// The text that is replaced.
        pub old: String,
        /// The text that replaces it.
        pub new: String,
    }
    /// The replacement of `old` by `new`.
    new(old: impl Into<String>, new: impl Into<String>)
}

wire_struct! {
    /// A search in file contents or file names.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct SearchInput {
        /// The text or pattern to find.
        pub query: String,
        /// Whether names or contents are searched. Omitted if the call does not have it.
        pub target as "in"?: Option<SearchTarget>,
        /// The directory or file to search. Omitted if the call does not have it.
        pub path?: Option<String>,
        /// Pattern of the files to search. Omitted if the call does not have it.
        pub glob?: Option<String>,
    }
    /// A search for this text or pattern.
    new(query: impl Into<String>)
}

wire_enum! {
    /// What a search looks at.
    pub enum SearchTarget {
        /// File names.
        Names = "names",
        /// File contents.
        Contents = "contents",
    } else Unknown
}

wire_struct! {
    /// A page to fetch or a web search.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct WebInput {
        /// URL of the page. Omitted for a search.
        pub url?: Option<String>,
        /// Search query. Omitted if a page is fetched.
        pub query?: Option<String>,
    }
}

impl WebInput {
    /// A page to fetch.
    #[must_use]
    pub fn fetch(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), query: None }
    }

    /// A web search.
    #[must_use]
    pub fn search(query: impl Into<String>) -> Self {
        Self { url: None, query: Some(query.into()) }
    }
}

wire_struct! {
    /// A call of a tool of an MCP server.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct McpInput {
        /// Name of the server.
        pub server: String,
        /// Name of the tool.
        pub tool: String,
        /// Arguments of the call.
        pub arguments: Value,
    }
    /// A call of a tool of this server.
    new(server: impl Into<String>, tool: impl Into<String>, arguments: Value)
}

wire_struct! {
    /// A task for a sub-agent.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct SubAgentInput {
        /// The task of the sub-agent.
        pub prompt: String,
        /// Short description of the task. Omitted if the call does not have it.
        pub description?: Option<String>,
        /// Name of the sub-agent. Omitted if the call does not have it.
        pub agent?: Option<String>,
    }
    /// A task with this prompt.
    new(prompt: impl Into<String>)
}

wire_struct! {
    /// A plan.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct PlanInput {
        /// All steps, in order.
        pub steps: Vec<PlanStep>,
    }
    /// A plan of these steps.
    new(steps: Vec<PlanStep>)
}

wire_struct! {
    /// Questions to the user.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct QuestionInput {
        /// The questions, in order.
        pub questions: Vec<AskedQuestion>,
    }
    /// An input with these questions.
    new(questions: Vec<AskedQuestion>)
}

wire_struct! {
    /// A question that a tool asks.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct AskedQuestion {
        /// Text of the question.
        pub prompt: String,
        /// Labels of the options; empty if the answer is free text.
        pub options: Vec<String>,
    }
    /// A question with these options.
    new(prompt: impl Into<String>, options: Vec<String>)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ContentPart;

    fn part(kind: &str, input: &Value) -> Value {
        json!({
            "type": "tool_call", "name": "n", "arguments": "{}", "call_id": "c", "tool_kind": kind, "title": "T",
            "input": input,
        })
    }

    /// Decodes a part with this input, and asserts that it is written back unchanged.
    #[track_caller]
    fn decode(kind: &str, input: &Value) -> ToolInput {
        let part = part(kind, input);
        let read: ContentPart = serde_json::from_value(part.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), part);
        match read {
            ContentPart::ToolCall { input: Some(input), .. } => *input,
            other => panic!("not a tool call with an input: {other:?}"),
        }
    }

    #[test]
    fn the_tool_kind_decides_the_type_of_the_input() {
        let inputs = [
            (
                "command",
                json!({ "command": "make", "cwd": "/w", "background": true, "timeout_ms": 1, "description": "d" }),
            ),
            ("command", json!({ "command": "make" })),
            ("file_read", json!({ "path": "/w/a", "offset": 1, "limit": 2 })),
            ("file_read", json!({ "path": "/w/a" })),
            (
                "file_change",
                json!({ "changes": [
                    { "path": "a", "change": "move", "to": "b", "diff": "-", "edits": [{ "old": "x", "new": "y" }] },
                    { "path": "c" },
                ] }),
            ),
            ("search", json!({ "query": "q", "in": "contents", "path": "/w", "glob": "*.rs" })),
            ("search", json!({ "query": "q" })),
            ("web", json!({ "url": "https://example.com" })),
            ("web", json!({ "query": "q" })),
            ("mcp", json!({ "server": "s", "tool": "t", "arguments": { "a": [1.5, null] } })),
            ("sub_agent", json!({ "prompt": "p", "description": "d", "agent": "a" })),
            ("sub_agent", json!({ "prompt": "p" })),
            ("plan", json!({ "steps": [{ "content": "c", "status": "in_progress" }] })),
            ("question", json!({ "questions": [{ "prompt": "?", "options": ["yes", "no"] }] })),
        ];
        for (kind, input) in inputs {
            let expected: ToolKind = serde_json::from_value(json!(kind)).unwrap();
            assert_eq!(decode(kind, &input).kind(), Some(expected));
        }
    }

    #[test]
    fn the_tool_kind_decides_whether_a_query_is_a_web_search_or_a_file_search() {
        let query = json!({ "query": "q" });
        assert_eq!(decode("web", &query), ToolInput::Web(WebInput::search("q")));
        assert_eq!(decode("search", &query), ToolInput::Search(SearchInput::new("q")));
    }

    #[test]
    fn an_input_without_the_keys_of_its_kind_is_kept_as_unknown() {
        let inputs = [
            ("command", json!({ "cmd": "make" })),
            ("file_read", json!({ "path": 1 })),
            ("file_change", json!({ "changes": { "path": "a" } })),
            ("search", json!({ "in": "names" })),
            ("web", json!("https://example.com")),
            ("web", json!([])),
            ("mcp", json!({ "server": "s", "tool": "t" })),
            ("sub_agent", json!(["p"])),
            ("plan", json!({ "steps": [{ "content": "c", "status": 7 }] })),
            ("question", json!({})),
            ("other", json!({ "command": "make" })),
            ("dance", json!({ "command": "make" })),
        ];
        for (kind, input) in inputs {
            assert_eq!(decode(kind, &input), ToolInput::Unknown(input.clone()));
        }
        assert_eq!(ToolInput::decode(None, json!({ "command": "make" })).kind(), None);
    }

    #[test]
    fn a_call_without_title_and_input_has_neither_key() {
        let mut call = part("command", &Value::Null);
        let read: ContentPart = serde_json::from_value(call.clone()).unwrap();
        let keys = call.as_object_mut().unwrap();
        keys.remove("input");
        assert_eq!(serde_json::to_value(&read).unwrap(), json!(keys));
        keys.remove("title");
        let read: ContentPart = serde_json::from_value(json!(keys)).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), json!(keys));
    }
}

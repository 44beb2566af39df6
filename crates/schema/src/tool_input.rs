//! What a tool is called with, in one shape per kind of tool.
//!
//! The keys of an `input` depend on the call's `tool_kind` alone, whichever agent makes the call. What the agent does
//! not say is left out.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{PlanStep, ToolKind, wire_enum, wire_struct, wire_untagged_union};

wire_untagged_union! {
    /// The input of a tool call. Which variant it is follows from the call's `tool_kind`.
    pub enum ToolInput by ToolKind {
        /// Of a call of kind `command`.
        Command(CommandInput),
        /// Of a call of kind `file_read`.
        FileRead(FileReadInput),
        /// Of a call of kind `file_change`.
        FileChange(FileChangeInput),
        /// Of a call of kind `search`.
        Search(SearchInput),
        /// Of a call of kind `web`.
        Web(WebInput),
        /// Of a call of kind `mcp`.
        Mcp(McpInput),
        /// Of a call of kind `sub_agent`.
        SubAgent(SubAgentInput),
        /// Of a call of kind `plan`.
        Plan(PlanInput),
        /// Of a call of kind `question`.
        Question(QuestionInput),
    } else
        /// An input that does not have the keys of its kind, kept as it was read.
        Unknown(Value)
}

impl ToolInput {
    /// The kind of tool that is called with this; `None` for [`ToolInput::Unknown`].
    #[must_use]
    pub const fn kind(&self) -> Option<ToolKind> {
        self.word()
    }

    /// Reads the input of a call of this kind. One without the keys of its kind is [`ToolInput::Unknown`].
    #[must_use]
    pub fn decode(kind: Option<&ToolKind>, input: Value) -> Self {
        match kind.and_then(|kind| Self::read_as(kind, &input)) {
            Some(Ok(read)) => read,
            Some(Err(_)) | None => Self::Unknown(input),
        }
    }

    /// Gives an input that was read without knowing the kind of its call the shape of that kind.
    pub(crate) fn typed(self, kind: Option<&ToolKind>) -> Self {
        match self {
            Self::Unknown(input) => Self::decode(kind, input),
            typed => typed,
        }
    }
}

/// Reads an input whose kind is not known yet, for [`ToolInput::typed`].
pub(crate) fn read_untyped<'de, T: From<ToolInput>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Value>::deserialize(from)?.map(|input| ToolInput::Unknown(input).into()))
}

wire_struct! {
    /// A command to run.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct CommandInput {
        /// The command as a person would type it, without a shell around it.
        pub command: String,
        /// The directory it runs in. Left out when the call does not say.
        pub cwd?: Option<String>,
        /// Whether it runs in the background. Left out when the call does not say.
        pub background?: Option<bool>,
        /// How long it may run. Left out when the call does not say.
        pub timeout_ms?: Option<u64>,
        /// What it is for, in the model's words. Left out when the call does not say.
        pub description?: Option<String>,
    }
    /// A command of which nothing else is known.
    new(command: impl Into<String>)
}

wire_struct! {
    /// A file to read.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FileReadInput {
        /// Its path; absolute where the session's directory is known.
        pub path: String,
        /// The first line to read. Left out when the call does not say.
        pub offset?: Option<u64>,
        /// How many lines to read. Left out when the call does not say.
        pub limit?: Option<u64>,
    }
    /// The whole of a file.
    new(path: impl Into<String>)
}

wire_struct! {
    /// Changes of files.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FileChangeInput {
        /// One for each file.
        pub changes: Vec<FileChange>,
    }
    /// These changes.
    new(changes: Vec<FileChange>)
}

wire_struct! {
    /// The change of one file.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct FileChange {
        /// The file's path; absolute where the session's directory is known.
        pub path: String,
        /// What happens to the file. Left out when the call does not say: a write may create or replace.
        pub change?: Option<ChangeKind>,
        /// Where a moved file goes. Left out when it is not moved.
        pub to?: Option<String>,
        /// The change as a unified diff. Left out when the call does not have one.
        pub diff?: Option<String>,
        /// The texts to replace. Left out when the call does not have them.
        pub edits?: Option<Vec<TextEdit>>,
    }
    /// A change of the file at this path.
    new(path: impl Into<String>)
}

wire_enum! {
    /// What happens to a file.
    pub enum ChangeKind {
        /// It is new.
        Create = "create",
        /// It is changed.
        Update = "update",
        /// It is deleted.
        Delete = "delete",
        /// It is moved, and perhaps changed.
        Move = "move",
    } else Unknown
}

wire_struct! {
    /// A text in a file that is replaced by another.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct TextEdit {
        /// The text that is replaced.
        pub old: String,
        /// The text that replaces it.
        pub new: String,
    }
    /// The replacement of one text by another.
    new(old: impl Into<String>, new: impl Into<String>)
}

wire_struct! {
    /// A search in files or their names.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct SearchInput {
        /// The text or pattern to find.
        pub query: String,
        /// Whether names or contents are searched. Left out when the call does not say.
        pub target as "in"?: Option<SearchTarget>,
        /// The directory or file to search. Left out when the call does not say.
        pub path?: Option<String>,
        /// Which files to search. Left out when the call does not say.
        pub glob?: Option<String>,
    }
    /// A search for this.
    new(query: impl Into<String>)
}

wire_enum! {
    /// What is searched.
    pub enum SearchTarget {
        /// The names of files.
        Names = "names",
        /// The contents of files.
        Contents = "contents",
    } else Unknown
}

wire_struct! {
    /// A page to fetch or a web search.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct WebInput {
        /// The page. Left out when the web is searched.
        pub url?: Option<String>,
        /// What is searched for. Left out when a page is fetched.
        pub query?: Option<String>,
    }
}

impl WebInput {
    /// A page to fetch.
    #[must_use]
    pub fn fetch(url: impl Into<String>) -> Self {
        Self { url: Some(url.into()), query: None }
    }

    /// A search of the web.
    #[must_use]
    pub fn search(query: impl Into<String>) -> Self {
        Self { url: None, query: Some(query.into()) }
    }
}

wire_struct! {
    /// A tool of an MCP server.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct McpInput {
        /// The server's name.
        pub server: String,
        /// The tool's name.
        pub tool: String,
        /// What the tool is called with.
        pub arguments: Value,
    }
    /// A call of a server's tool.
    new(server: impl Into<String>, tool: impl Into<String>, arguments: Value)
}

wire_struct! {
    /// A task for another agent.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct SubAgentInput {
        /// What the agent is to do.
        pub prompt: String,
        /// The task in a few words. Left out when the call does not say.
        pub description?: Option<String>,
        /// Which agent is to do it. Left out when the call does not say.
        pub agent?: Option<String>,
    }
    /// A task in these words.
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
    /// These questions.
    new(questions: Vec<AskedQuestion>)
}

wire_struct! {
    /// A question that a tool asks.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct AskedQuestion {
        /// The question itself.
        pub prompt: String,
        /// What can be chosen; empty when the answer is free.
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

    /// Reads a part with this input, and expects it to be written as it was.
    #[track_caller]
    fn read(kind: &str, input: &Value) -> ToolInput {
        let part = part(kind, input);
        let read: ContentPart = serde_json::from_value(part.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), part);
        match read {
            ContentPart::ToolCall { input: Some(input), .. } => *input,
            other => panic!("not a tool call with an input: {other:?}"),
        }
    }

    #[test]
    fn the_kind_of_the_call_decides_what_its_input_is() {
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
            assert_eq!(read(kind, &input).kind(), Some(expected));
        }
    }

    #[test]
    fn a_query_is_a_web_search_or_a_file_search_by_the_kind_of_the_call() {
        let query = json!({ "query": "q" });
        assert_eq!(read("web", &query), ToolInput::Web(WebInput::search("q")));
        assert_eq!(read("search", &query), ToolInput::Search(SearchInput::new("q")));
    }

    #[test]
    fn an_input_without_the_keys_of_its_kind_is_kept() {
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
            assert_eq!(read(kind, &input), ToolInput::Unknown(input.clone()));
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

//! What an item consists of.

use serde_json::Value;

use crate::{StatusLabel, ToolInput, tool_input, wire_enum, wire_tagged_union};

/// The longest `title` of a tool call, in characters.
pub const MAX_TITLE_CHARS: usize = 120;

wire_enum! {
    /// What sort of tool is called.
    pub enum ToolKind {
        /// Runs a command.
        Command = "command",
        /// Writes, edits, moves or deletes files.
        FileChange = "file_change",
        /// Reads a file.
        FileRead = "file_read",
        /// Searches files or their names.
        Search = "search",
        /// A tool of an MCP server.
        Mcp = "mcp",
        /// Searches or fetches the web.
        Web = "web",
        /// Starts another agent, or talks to one.
        SubAgent = "sub_agent",
        /// Keeps a plan or a list of things to do.
        Plan = "plan",
        /// Asks the user.
        Question = "question",
        /// Anything else.
        Other = "other",
    } else Unknown
}

wire_enum! {
    /// What was done to a file.
    pub enum FileAction {
        /// Read, or attached.
        Read = "read",
        /// Written as a whole.
        Write = "write",
        /// Changed in places.
        Patch = "patch",
    } else Unknown
}

wire_enum! {
    /// Whether reasoning is meant to be shown.
    pub enum Visibility {
        /// A summary or thinking that the agent shows.
        Public = "public",
        /// Raw or redacted reasoning.
        Private = "private",
    }
}

wire_tagged_union! {
    /// One part of an item's content.
    pub enum ContentPart {
        /// Plain text.
        Text = "text" {
            /// The text.
            text: String,
        },
        /// Structured content.
        Json = "json" {
            /// The value. In a status item it is the data of the item's label (`StatusData`).
            json: Value,
        },
        /// A tool is called.
        ToolCall = "tool_call" {
            /// The tool's name, as the agent says it.
            name: String,
            /// The arguments as JSON text: `{}` when there are none, a JSON string when they are not JSON.
            arguments: String,
            /// The agent's own id of the call, unchanged.
            call_id: String,
            /// What sort of tool it is. Left out when nobody can tell.
            tool_kind?: Option<ToolKind>,
            /// The call in one line for a person, worded alike for every agent. Left out while it is not known.
            title?: Option<String>,
            /// What the tool is called with, in the shape of its kind. Left out while the arguments stream, and when the
            /// call does not have the keys of its kind.
            #[serde(deserialize_with = "tool_input::read_untyped")]
            input?: Option<Box<ToolInput>>,
        },
        /// What a tool gave back. Files and images of a result follow it in the same item.
        ToolResult = "tool_result" {
            /// The call this answers.
            call_id: String,
            /// The text a person would read; empty when there was none.
            output: String,
            /// A command's exit code. Left out for other tools, and when it is not known.
            exit_code?: Option<i32>,
            /// How long it took. Left out when the agent does not say.
            duration_ms?: Option<u64>,
            /// How much of the output came from standard error. Left out when the agent does not keep the two apart.
            stderr_bytes?: Option<u64>,
        },
        /// A file that was read or changed.
        FileRef = "file_ref" {
            /// Its path.
            path: String,
            /// What was done to it.
            action: FileAction,
            /// The change as a unified diff; null when it was not changed or the change is not known.
            diff: Option<String>,
        },
        /// The model's reasoning.
        Reasoning = "reasoning" {
            /// The text; empty when it was redacted.
            text: String,
            /// Whether it is meant to be shown.
            visibility: Visibility,
        },
        /// An image.
        Image = "image" {
            /// Its path, or a `data:` URI when the agent gave bytes and no path.
            path: String,
            /// Its MIME type; null when the agent does not say.
            mime: Option<String>,
        },
        /// What a status item is about.
        Status = "status" {
            /// Its label.
            label: StatusLabel,
            /// A line for a person; null when the label says it all.
            detail: Option<String>,
        },
    } else
        /// A part this version does not know, kept as it was read.
        Unknown
    read by ContentPart::with_typed_input
}

impl ContentPart {
    /// Plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Reasoning.
    #[must_use]
    pub fn reasoning(text: impl Into<String>, visibility: Visibility) -> Self {
        Self::Reasoning { text: text.into(), visibility }
    }

    /// Gives the input of a tool call that was just read the shape of its kind.
    fn with_typed_input(mut self) -> Self {
        if let Self::ToolCall { tool_kind, input: Some(input), .. } = &mut self {
            let untyped = std::mem::replace(&mut **input, ToolInput::Unknown(Value::Null));
            **input = untyped.typed(tool_kind.as_ref());
        }
        self
    }

    /// The text that a message streams: that of `text` and `reasoning` parts, none of the others.
    #[must_use]
    pub fn streamed_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } | Self::Reasoning { text, .. } => Some(text),
            _ => None,
        }
    }
}

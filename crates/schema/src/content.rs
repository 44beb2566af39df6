//! Content parts: the elements of an item's content.

use serde_json::Value;

use crate::{StatusLabel, ToolInput, tool_input, wire_enum, wire_tagged_union};

/// Maximum length of a tool call's `title`, in characters.
pub const MAX_TITLE_CHARS: usize = 120;

wire_enum! {
    /// The kind of a tool.
    pub enum ToolKind {
        /// Runs a command.
        Command = "command",
        /// Writes, edits, moves or deletes files.
        FileChange = "file_change",
        /// Reads a file.
        FileRead = "file_read",
        /// Searches file contents or file names.
        Search = "search",
        /// A tool of an MCP server.
        Mcp = "mcp",
        /// Searches the web or fetches a page.
        Web = "web",
        /// Starts a sub-agent, or sends it a message.
        SubAgent = "sub_agent",
        /// Updates a plan or a to-do list.
        Plan = "plan",
        /// Asks the user a question.
        Question = "question",
        /// Any other tool.
        Other = "other",
    } else Unknown
}

wire_enum! {
    /// What a tool did with a file.
    pub enum FileAction {
        /// The file was read or attached.
        Read = "read",
        /// The file was written as a whole.
        Write = "write",
        /// Parts of the file were changed.
        Patch = "patch",
    } else Unknown
}

wire_enum! {
    /// Whether reasoning may be shown to the user.
    pub enum Visibility {
        /// A summary, or thinking that the agent shows itself.
        Public = "public",
        /// Raw or redacted reasoning.
        Private = "private",
    }
}

wire_tagged_union! {
    /// One element of an item's content.
    pub enum ContentPart {
        /// Plain text.
        Text = "text" {
            /// The text.
            text: String,
        },
        /// Structured content.
        Json = "json" {
            /// The value. In a status item, the data of the item's label (`StatusData`).
            json: Value,
        },
        /// A tool call.
        ToolCall = "tool_call" {
            /// The agent's name of the tool.
            name: String,
            /// The arguments as JSON text: `{}` if there are none, a JSON string if they are not JSON.
            arguments: String,
            /// The agent's id of the call, unchanged.
            call_id: String,
            /// The kind of the tool. Omitted if it is not known.
            tool_kind?: Option<ToolKind>,
            /// One line that describes the call, worded the same way for every agent. Omitted until it is known.
            title?: Option<String>,
            /// The arguments under the keys of the tool's kind. Omitted while the arguments stream, and if the call lacks
            /// a required key of its kind.
            #[serde(deserialize_with = "tool_input::deserialize_untyped")]
            input?: Option<Box<ToolInput>>,
        },
        /// The result of a tool call. Its files and images follow as further parts of the same item.
        ToolResult = "tool_result" {
            /// Id of the call that this is the result of.
            call_id: String,
            /// The output as text; empty if there was none.
            output: String,
            /// Exit code of a command. Omitted for other tools, and if it is not known.
            exit_code?: Option<i32>,
            /// Duration of the call. Omitted if the agent does not report it.
            duration_ms?: Option<u64>,
            /// Bytes of the output that came from standard error. Omitted if the agent does not separate the two streams.
            stderr_bytes?: Option<u64>,
        },
        /// A file that was read or changed.
        FileRef = "file_ref" {
            /// Path of the file.
            path: String,
            /// What was done with the file.
            action: FileAction,
            /// The change as a unified diff; null if the file was not changed or the change is not known.
            diff: Option<String>,
        },
        /// The model's reasoning.
        Reasoning = "reasoning" {
            /// The text; empty if it was redacted.
            text: String,
            /// Whether it may be shown to the user.
            visibility: Visibility,
        },
        /// An image.
        Image = "image" {
            /// Path of the image, or a `data:` URI if the agent sent the bytes.
            path: String,
            /// MIME type; null if the agent does not report it.
            mime: Option<String>,
        },
        /// The label of a status item.
        Status = "status" {
            /// The label.
            label: StatusLabel,
            /// One line for a person; null if the label alone is enough.
            detail: Option<String>,
        },
    } else
        /// A part that this version does not know, kept unchanged.
        Unknown
    after decoding ContentPart::with_typed_input
}

impl ContentPart {
    /// A `text` part.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A `reasoning` part.
    #[must_use]
    pub fn reasoning(text: impl Into<String>, visibility: Visibility) -> Self {
        Self::Reasoning { text: text.into(), visibility }
    }

    /// Decodes the input of a tool call by the kind of its tool. Serde reads the fields one by one, so the kind is not
    /// known when it reads the input.
    fn with_typed_input(mut self) -> Self {
        if let Self::ToolCall { tool_kind, input: Some(input), .. } = &mut self {
            let untyped = std::mem::replace(&mut **input, ToolInput::Unknown(Value::Null));
            **input = untyped.with_kind(tool_kind.as_ref());
        }
        self
    }

    /// The text that deltas stream: that of `text` and `reasoning` parts, `None` for other parts.
    #[must_use]
    pub fn streamed_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } | Self::Reasoning { text, .. } => Some(text),
            _ => None,
        }
    }
}

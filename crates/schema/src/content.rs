//! What an item consists of.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::ToolInput;

/// The longest `title` of a tool call, in characters.
pub const MAX_TITLE_CHARS: usize = 120;

/// What sort of tool is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Runs a command.
    Command,
    /// Writes, edits, moves or deletes files.
    FileChange,
    /// Reads a file.
    FileRead,
    /// Searches files or their names.
    Search,
    /// A tool of an MCP server.
    Mcp,
    /// Searches or fetches the web.
    Web,
    /// Starts another agent, or talks to one.
    SubAgent,
    /// Keeps a plan or a list of things to do.
    Plan,
    /// Asks the user.
    Question,
    /// Anything else.
    Other,
    /// A kind this version does not know, kept as it was read.
    #[serde(untagged)]
    #[schemars(skip)]
    Unlisted(String),
}

/// What was done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// Read, or attached.
    Read,
    /// Written as a whole.
    Write,
    /// Changed in places.
    Patch,
}

/// Whether reasoning is meant to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// A summary or thinking that the agent shows.
    Public,
    /// Raw or redacted reasoning.
    Private,
}

/// What a status item is about, so that a client can tell them apart. Most labels have data, which follows as a `json`
/// part (`StatusData`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StatusLabel {
    /// The agent tries a request again.
    Retry,
    /// The conversation was shortened.
    Compaction,
    /// The steps the agent means to take.
    Plan,
    /// How much of a limit is used.
    RateLimit,
    /// Another model goes on.
    ModelChanged,
    /// Another mode: permission, plan, review.
    ModeChanged,
    /// A hook ran.
    Hook,
    /// Background work moved on.
    Task,
    /// A warning or a remark.
    Notice,
    /// A tool's result that came after its turn; the output follows as a `text` part.
    LateResult,
    /// A label this version does not know, kept as it was read.
    #[serde(untagged)]
    #[schemars(skip)]
    Other(String),
}

/// One part of an item's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentPart {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// Structured content.
    Json {
        /// The value. In a status item it is the data of the item's label (`StatusData`).
        json: Value,
    },
    /// A tool is called.
    #[serde(deserialize_with = "read_tool_call")]
    ToolCall {
        /// The tool's name, as the agent says it.
        name: String,
        /// The arguments as JSON text: `{}` when there are none, a JSON string when they are not JSON.
        arguments: String,
        /// The agent's own id of the call, unchanged.
        call_id: String,
        /// What sort of tool it is. Left out when nobody can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_kind: Option<ToolKind>,
        /// The call in one line for a person, worded alike for every agent. Left out while it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What the tool is called with, in the shape of its kind. Left out while the arguments stream, and when the
        /// call does not have the keys of its kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Box<ToolInput>>,
    },
    /// What a tool gave back. Files and images of a result follow it in the same item.
    ToolResult {
        /// The call this answers.
        call_id: String,
        /// The text a person would read; empty when there was none.
        output: String,
        /// A command's exit code. Left out for other tools, and when it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// How long it took. Left out when the agent does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// How much of the output came from standard error. Left out when the agent does not keep the two apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stderr_bytes: Option<u64>,
    },
    /// A file that was read or changed.
    FileRef {
        /// Its path.
        path: String,
        /// What was done to it.
        action: FileAction,
        /// The change as a unified diff; null when it was not changed or the change is not known.
        diff: Option<String>,
    },
    /// The model's reasoning.
    Reasoning {
        /// The text; empty when it was redacted.
        text: String,
        /// Whether it is meant to be shown.
        visibility: Visibility,
    },
    /// An image.
    Image {
        /// Its path, or a `data:` URI when the agent gave bytes and no path.
        path: String,
        /// Its MIME type; null when the agent does not say.
        mime: Option<String>,
    },
    /// What a status item is about.
    Status {
        /// Its label.
        label: StatusLabel,
        /// A line for a person; null when the label says it all.
        detail: Option<String>,
    },
    /// A part this version does not know, kept as it was read.
    #[serde(untagged)]
    #[schemars(skip)]
    Unknown(Map<String, Value>),
}

/// The fields of [`ContentPart::ToolCall`]: which keys `input` has depends on `tool_kind`.
type ToolCallFields = (String, String, String, Option<ToolKind>, Option<String>, Option<Box<ToolInput>>);

fn read_tool_call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolCallFields, D::Error> {
    #[derive(Deserialize)]
    struct Wire {
        name: String,
        arguments: String,
        call_id: String,
        tool_kind: Option<ToolKind>,
        title: Option<String>,
        input: Option<Value>,
    }
    let Wire { name, arguments, call_id, tool_kind, title, input } = Wire::deserialize(deserializer)?;
    let input = input.map(|input| Box::new(ToolInput::read(tool_kind.as_ref(), input)));
    Ok((name, arguments, call_id, tool_kind, title, input))
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

    /// The text that a message streams: that of `text` and `reasoning` parts, none of the others.
    #[must_use]
    pub fn streamed_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } | Self::Reasoning { text, .. } => Some(text),
            _ => None,
        }
    }
}

//! A request to the model, independent of the API that it came over.

use crate::offered_tool::OfferedTool;

/// The content of a request: the whole conversation so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation {
    /// Id that tells this session from others, if the agent sends one.
    pub(crate) session: String,
    /// Name of the requested model.
    pub(crate) model: String,
    /// The agent's instructions to the model.
    pub(crate) instructions: String,
    /// Messages and tool calls in order.
    pub(crate) entries: Vec<Entry>,
    /// Tools that the model may call.
    pub(crate) tools: Vec<OfferedTool>,
    /// Whether the response is streamed.
    pub(crate) is_streaming: bool,
    /// Maximum number of output tokens.
    pub(crate) output_limit: Option<u64>,
}

/// An entry of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A message of the user, or of the agent in the user's name.
    User(String),
    /// A message of the agent to the model. It may pass on what the user sent meanwhile.
    System(String),
    /// A tool call of the model.
    ToolCall {
        /// Id of the call, chosen by the model.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments as JSON text.
        arguments: String,
    },
    /// The result of a tool call.
    ToolResult {
        /// Id of the call.
        id: String,
        /// The result.
        text: String,
    },
}

impl Conversation {
    /// Whether the agent offers a tool with this name.
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// All texts that the model received: messages and tool results.
    pub(crate) fn received_texts(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::User(text) | Entry::System(text) | Entry::ToolResult { text, .. } => Some(text.as_str()),
            Entry::ToolCall { .. } => None,
        })
    }

    /// The last message of the user.
    pub(crate) fn last_user_text(&self) -> &str {
        let text = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::User(text) => Some(text.as_str()),
            _ => None,
        });
        text.unwrap_or_default()
    }
}

/// The text of a message's content, which is a string or a list of parts.
pub(crate) fn content_text(content: &serde_json::Value) -> String {
    use serde_json::Value;
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().map(content_text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let text = ["text", "content", "output"].iter().find_map(|key| fields.get(*key));
            text.map(content_text).unwrap_or_default()
        }
        _ => String::new(),
    }
}

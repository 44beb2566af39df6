//! A request for the model, in whichever language it came.

use crate::offered::Offered;

/// What an agent sends with each request: everything that was said so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation {
    /// What tells this session from others, where the agent says it.
    pub(crate) session: String,
    /// The model that was asked for.
    pub(crate) model: String,
    /// What the agent tells the model to be.
    pub(crate) instructions: String,
    /// What was said and done, in order.
    pub(crate) entries: Vec<Entry>,
    /// The tools that the model may call.
    pub(crate) tools: Vec<Offered>,
    /// Whether the answer is to be streamed.
    pub(crate) stream: bool,
    /// How much the model may say.
    pub(crate) output_limit: Option<u64>,
}

/// Something that was said or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// The user said it, or the agent in the user's name.
    User(String),
    /// The agent told the model, which may be how it passes on what the user said meanwhile.
    Told(String),
    /// The model called a tool.
    Called {
        /// The id that the model gave the call.
        id: String,
        /// The name of the tool.
        name: String,
        /// What it was given.
        arguments: String,
    },
    /// What came of a call.
    Output {
        /// The id of the call.
        id: String,
        /// The output.
        text: String,
    },
}

impl Conversation {
    /// Whether a tool of that name is offered.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// All that was told the model and that tools gave it.
    pub(crate) fn told(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::User(text) | Entry::Told(text) | Entry::Output { text, .. } => Some(text.as_str()),
            Entry::Called { .. } => None,
        })
    }

    /// What the user said last.
    pub(crate) fn last_user_text(&self) -> &str {
        let texts = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::User(text) => Some(text.as_str()),
            _ => None,
        });
        texts.unwrap_or_default()
    }
}

/// The text of a message's content, which may be a string or a list of parts.
pub(crate) fn text_of(content: &serde_json::Value) -> String {
    use serde_json::Value;
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            ["text", "content", "output"].iter().find_map(|key| fields.get(*key)).map(text_of).unwrap_or_default()
        }
        _ => String::new(),
    }
}

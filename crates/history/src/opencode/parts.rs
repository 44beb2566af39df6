//! What parts of messages say.

use serde::Deserialize;

use super::storage::Row;
use crate::json::{Field, ObjectWriter, flag, text};

/// A part, as far as it is used.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Part<'a> {
    #[serde(borrow, rename = "messageID")]
    pub(super) message_id: Field<'a>,
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    synthetic: Field<'a>,
    #[serde(borrow)]
    auto: Field<'a>,
    #[serde(borrow)]
    tool: Field<'a>,
    #[serde(borrow)]
    pub(super) id: Field<'a>,
    #[serde(borrow)]
    pub(super) text: Field<'a>,
    #[serde(borrow)]
    time: Time<'a>,
    #[serde(borrow)]
    state: State<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Time<'a> {
    #[serde(borrow)]
    end: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    status: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
    #[serde(borrow)]
    input: Todos<'a>,
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Todos<'a> {
    #[serde(borrow)]
    todos: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    todos: Field<'a>,
    #[serde(borrow)]
    session_id: Field<'a>,
}

impl<'a> Part<'a> {
    pub(super) fn parse(json: &'a str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    /// Whether the agent adds the part to a message in the user's name: a compaction that it starts, or a text.
    pub(super) fn is_added_by_agent(&self) -> bool {
        match text(self.kind).as_deref() {
            Some("compaction") => flag(self.auto),
            Some("text") => flag(self.synthetic),
            _ => false,
        }
    }

    /// Whether a text or reasoning starts to stream.
    pub(super) fn starts_text(&self) -> bool {
        matches!(text(self.kind).as_deref(), Some("text" | "reasoning"))
            && self.time.end.is_none()
            && text(self.text).is_some_and(|text| text.is_empty())
    }

    /// Whether a person declined what the tool asked for, without saying what to do instead. That ends the turn.
    pub(super) fn was_declined(&self) -> bool {
        text(self.state.error).is_some_and(|error| {
            error == "The user dismissed this question"
                || (error.starts_with("The user rejected permission") && !error.contains("with the following feedback"))
        })
    }

    /// Whether a tool has ended.
    pub(super) fn has_ended(&self) -> bool {
        matches!(text(self.state.status).as_deref(), Some("completed" | "error"))
    }

    /// The session of the sub-agent that the tool ran.
    pub(super) fn sub_agent(&self) -> Option<String> {
        text(self.state.metadata.session_id).map(std::borrow::Cow::into_owned)
    }

    /// The event about the plan that a tool has changed, which is sent before the tool ends and is not stored.
    pub(super) fn plan_update(&self, session: &str) -> Option<String> {
        let is_plan = text(self.tool).as_deref() == Some("todowrite");
        let has_succeeded = text(self.state.status).as_deref() == Some("completed");
        let todos = self.state.metadata.todos.or(self.state.input.todos)?;
        let mut properties = ObjectWriter::with_capacity(todos.get().len() + 64);
        properties.text("sessionID", session).json("todos", todos.get());
        (is_plan && has_succeeded).then(|| properties.finish())
    }
}

/// Whether the agent itself wrote a message in the user's name.
pub(super) fn is_added_by_agent(parts: &[Row]) -> bool {
    !parts.is_empty() && parts.iter().all(|part| Part::parse(&part.json).is_added_by_agent())
}

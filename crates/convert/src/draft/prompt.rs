//! What the user says.

use interlingua_schema::{ContentPart, NativeItemId, RawJson};

use crate::Key;

/// What the host sent as a message to the agent.
#[derive(Clone, Debug)]
pub struct PromptDraft {
    pub(crate) id: Option<Key>,
    pub(crate) content: Vec<ContentPart>,
    pub(crate) expects_echo: bool,
    pub(crate) payload: PromptPayload,
}

/// Where the user's words come from.
#[derive(Clone, Debug, Default)]
pub(crate) enum PromptPayload {
    /// The payload at hand.
    #[default]
    Current,
    /// This one, or none: a command line.
    Other(Option<RawJson>),
}

impl PromptDraft {
    /// This text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::text(text)])
    }

    /// These parts.
    #[must_use]
    pub fn new(content: Vec<ContentPart>) -> Self {
        Self { id: None, content, expects_echo: false, payload: PromptPayload::Current }
    }

    /// The agent is known to repeat what it is told, so its own words are waited for. They are used if they come
    /// before it says anything else in the turn.
    #[must_use]
    pub fn expect_echo(mut self) -> Self {
        self.expects_echo = true;
        self
    }

    /// Sets the payload with the user's words, from [`Drafts::raw`](crate::Drafts::raw), where that is not the
    /// payload at hand. `None` if there is none: the words come from a command line.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.payload = PromptPayload::Other(raw);
        self
    }

    /// An id by which the agent's repetition, or [`prompt_accepted`](crate::SessionDrafts::prompt_accepted), names it.
    #[must_use]
    pub fn id(mut self, id: impl Into<Key>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// A user's message as the agent repeats it.
#[derive(Clone, Debug)]
pub struct UserMessage {
    pub(crate) content: Vec<ContentPart>,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) native_message: Option<Key>,
    pub(crate) echo_of: Option<Key>,
    pub(crate) starts_turn: bool,
    pub(crate) injected: bool,
    pub(crate) raw: Option<RawJson>,
}

impl UserMessage {
    /// This text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::text(text)])
    }

    /// These parts.
    #[must_use]
    pub fn new(content: Vec<ContentPart>) -> Self {
        Self {
            content,
            native_id: None,
            native_message: None,
            echo_of: None,
            starts_turn: false,
            injected: false,
            raw: None,
        }
    }

    /// Sets the agent's own id of the item; without one it is null.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Names the agent's message that this is.
    #[must_use]
    pub fn in_message(mut self, message: impl Into<Key>) -> Self {
        self.native_message = Some(message.into());
        self
    }

    /// Names the [`PromptDraft`] that it repeats. Without a name it is matched by text, and failing that by order.
    #[must_use]
    pub fn echo_of(mut self, prompt: impl Into<Key>) -> Self {
        self.echo_of = Some(prompt.into());
        self
    }

    /// It begins a turn of its own: a turn that is running ends here. For agents that do not say when one is over.
    #[must_use]
    pub fn starts_turn(mut self) -> Self {
        self.starts_turn = true;
        self
    }

    /// Sets the payload with the user's words, from [`Drafts::raw`](crate::Drafts::raw), where that is not the
    /// payload at hand.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.raw = raw;
        self
    }

    /// Nobody sent it: the agent put it in the user's mouth, so no prompt is matched with it.
    #[must_use]
    pub fn injected(mut self) -> Self {
        self.injected = true;
        self
    }
}

//! Drafts of user messages: prompts that the host sends, and their echoes.

use interlingua_schema::{ContentPart, NativeItemId, RawJson};

use crate::Key;

/// A user's message as the host sent it to the agent.
#[derive(Clone, Debug)]
pub struct PromptDraft {
    pub(crate) id: Option<Key>,
    pub(crate) content: Vec<ContentPart>,
    pub(crate) expects_echo: bool,
    pub(crate) payload: PromptPayload,
}

/// Payload that a prompt comes from.
#[derive(Clone, Debug, Default)]
pub(crate) enum PromptPayload {
    /// The payload that is being converted.
    #[default]
    Current,
    /// This payload, or none if the prompt comes from a command line.
    Other(Option<RawJson>),
}

impl PromptDraft {
    /// From a text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::text(text)])
    }

    /// From content parts.
    #[must_use]
    pub fn new(content: Vec<ContentPart>) -> Self {
        Self { id: None, content, expects_echo: false, payload: PromptPayload::Current }
    }

    /// Waits for the agent's echo of the prompt. The echo is shown instead of the prompt, if it comes before any other
    /// output of the agent in the turn.
    #[must_use]
    pub fn expect_echo(mut self) -> Self {
        self.expects_echo = true;
        self
    }

    /// Sets the payload that contains the prompt, from [`Drafts::raw`](crate::Drafts::raw), if that is not the payload
    /// that is being converted. `None` if there is none because the prompt comes from a command line.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.payload = PromptPayload::Other(raw);
        self
    }

    /// Sets the id by which the echo, or [`prompt_accepted`](crate::SessionDrafts::prompt_accepted), refers to the
    /// prompt.
    #[must_use]
    pub fn id(mut self, id: impl Into<Key>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// A user's message as the agent echoes it.
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
    /// From a text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::text(text)])
    }

    /// From content parts.
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

    /// Sets the native id of the item; null if not set.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Sets the native message that this is.
    #[must_use]
    pub fn in_message(mut self, message: impl Into<Key>) -> Self {
        self.native_message = Some(message.into());
        self
    }

    /// Sets the id of the [`PromptDraft`] that this echoes. Without one, the prompt is found by its text, or else by
    /// order.
    #[must_use]
    pub fn echo_of(mut self, prompt: impl Into<Key>) -> Self {
        self.echo_of = Some(prompt.into());
        self
    }

    /// Starts a new turn with this message and ends the running one. For agents that do not report the end of a turn.
    #[must_use]
    pub fn starts_turn(mut self) -> Self {
        self.starts_turn = true;
        self
    }

    /// Sets the payload that contains the message, from [`Drafts::raw`](crate::Drafts::raw), if that is not the payload
    /// that is being converted.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.raw = raw;
        self
    }

    /// Marks a message that the agent wrote in the user's name. The host did not send it, so it echoes no prompt.
    #[must_use]
    pub fn injected(mut self) -> Self {
        self.injected = true;
        self
    }
}

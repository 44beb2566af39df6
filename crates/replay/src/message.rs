//! Messages of the host and lines of the agent, as far as a replay interprets them.

/// Whether a replay waits for a message of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageClass {
    /// It advances the conversation; the replay waits for it.
    Required,
    /// A host may omit it or send it at another time.
    Optional,
    /// It only reads state and is answered at any time.
    Query,
}

/// A message of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostMessage {
    /// Meaning of the message, such as `request turn/start`. Equal for messages that mean the same.
    pub(crate) meaning: String,
    pub(crate) class: MessageClass,
    /// Id that its answer must carry: JSON text, or the number of an HTTP call. `None` if it wants no answer.
    pub(crate) key: Option<String>,
    /// Ids of the sessions and requests that it refers to.
    pub(crate) ids: Vec<String>,
    /// Id that the host chose for this message. The agent may repeat it.
    pub(crate) chosen_id: Option<String>,
    pub(crate) starts_turn: bool,
    pub(crate) is_interrupt: bool,
}

impl HostMessage {
    pub(crate) fn new(meaning: impl Into<String>, class: MessageClass) -> Self {
        Self {
            meaning: meaning.into(),
            class,
            key: None,
            ids: Vec::new(),
            chosen_id: None,
            starts_turn: false,
            is_interrupt: false,
        }
    }

    /// A prompt over standard input, or on the command line.
    pub(crate) fn prompt() -> Self {
        Self { starts_turn: true, ..Self::new("message", MessageClass::Required) }
    }

    /// The answer to a request of the agent.
    pub(crate) fn answer(key: &str) -> Self {
        Self::new(format!("answer {key}"), MessageClass::Required)
    }

    /// Whether it answers the agent's request with this key.
    pub(crate) fn answers(&self, key: &str) -> bool {
        self.meaning.strip_prefix("answer ") == Some(key) || self.ids.iter().any(|id| id == key)
    }

    /// A line that is not a message of the protocol.
    pub(crate) fn unreadable() -> Self {
        Self::new("unreadable", MessageClass::Optional)
    }
}

/// The properties of an agent's line that a replay needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineInfo {
    /// Key of the host's request that the line answers.
    pub(crate) answered_request: Option<String>,
    /// Key of the request that the line makes to the host.
    pub(crate) opened_request: Option<String>,
    /// Key of an earlier request that the line withdraws.
    pub(crate) withdrawn_request: Option<String>,
    /// Session that the line belongs to.
    pub(crate) session: Option<String>,
    /// Turn whose start the line reports.
    pub(crate) started_turn: Option<String>,
    pub(crate) ends_turn: bool,
}

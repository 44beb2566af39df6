//! Turns.

use interlingua_schema::{Facts, TurnStatus, Usage};

/// How a turn ends.
#[derive(Clone, Debug, Default)]
pub struct TurnEnd {
    pub(crate) status: Option<TurnStatus>,
    pub(crate) turn_id: Option<String>,
    /// The turn's own use of tokens. What sub-agents with a session of their own used is added to it.
    pub usage: Option<Usage>,
    /// How long it took, by the agent's own clock.
    pub duration_ms: Option<u64>,
    /// What else the agent says.
    pub metadata: Facts,
}

impl TurnEnd {
    /// The agent only says that it is over: `interrupted` if the host asked for it, `failed` if there was an error,
    /// else `completed`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The agent says how it went. `failed` after the host asked for an interrupt counts as `interrupted`.
    #[must_use]
    pub fn with_status(status: TurnStatus) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// Sets the agent's own id of the turn; without one, that of its start is used.
    #[must_use]
    pub fn id(mut self, turn_id: impl Into<String>) -> Self {
        self.turn_id = Some(turn_id.into());
        self
    }

    /// Sets the turn's use of tokens.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the agent's own measure of the turn.
    #[must_use]
    pub fn duration_ms(mut self, duration_ms: u64) -> Self {
        self.duration_ms = Some(duration_ms);
        self
    }

    /// Sets what else the agent says.
    #[must_use]
    pub fn metadata(mut self, metadata: Facts) -> Self {
        self.metadata = metadata;
        self
    }
}

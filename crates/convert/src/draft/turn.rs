//! Turns.

use interlingua_schema::{NativeMetadata, StopReason, TurnStatus, Usage};

/// How a turn ends.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TurnEnd {
    pub(crate) status: Option<TurnStatus>,
    /// The turn's own use of tokens. What sub-agents with a session of their own used is added to it.
    pub usage: Option<Usage>,
    /// How long it took, by the agent's own clock.
    pub duration_ms: Option<u64>,
    /// Why the model stopped, if the agent says so.
    pub stop_reason: Option<StopReason>,
    /// What else the agent says, in its own words.
    pub native: NativeMetadata,
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

    /// Sets why the model stopped.
    #[must_use]
    pub fn stop_reason(mut self, reason: Option<StopReason>) -> Self {
        self.stop_reason = reason;
        self
    }

    /// Sets what else the agent says, in its own words.
    #[must_use]
    pub fn native(mut self, native: NativeMetadata) -> Self {
        self.native = native;
        self
    }
}

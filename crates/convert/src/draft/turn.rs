//! Draft of the end of a turn.

use interlingua_schema::{NativeMetadata, StopReason, TurnStatus, Usage};

/// End of a turn.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct TurnEnd {
    pub(crate) status: Option<TurnStatus>,
    /// Token usage of the turn. The usage of sub-agents with their own native session is added to it.
    pub usage: Option<Usage>,
    /// Duration by the agent's own clock.
    pub duration_ms: Option<u64>,
    /// Why the model stopped, if the agent reports it.
    pub stop_reason: Option<StopReason>,
    /// Other metadata, in the agent's own format.
    pub native: NativeMetadata,
}

impl TurnEnd {
    /// An end without a status. The turn is `interrupted` if the host requested that, `failed` if there was an error,
    /// and `completed` otherwise.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An end with the status that the agent reports. `failed` counts as `interrupted` if the host requested an
    /// interrupt.
    #[must_use]
    pub fn with_status(status: TurnStatus) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// Sets the token usage of the turn.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets the duration by the agent's own clock.
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

    /// Sets other metadata, in the agent's own format.
    #[must_use]
    pub fn native(mut self, native: NativeMetadata) -> Self {
        self.native = native;
        self
    }
}

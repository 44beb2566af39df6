//! Start and end of a turn.

use crate::{TurnEndMetadata, TurnMetadata, Usage, lenient, wire_enum, wire_struct};

wire_struct! {
    /// Data of `turn.started`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct TurnStarted {
        /// Id of the turn. The agent's id, or a generated one if the agent has none. Empty only in streams of version 1.0.
        #[serde(default)]
        pub turn_id: String,
        /// Always `started`.
        #[serde(default)]
        pub phase: StartedPhase,
        /// What the agent reports at the start of the turn. Omitted if there is nothing.
        #[serde(deserialize_with = "lenient::deserialize_turn_metadata")]
        pub metadata?: Option<Box<TurnMetadata>>,
    }
}

impl TurnStarted {
    /// A turn with this id.
    #[must_use]
    pub fn new(turn_id: impl Into<String>) -> Self {
        Self { turn_id: turn_id.into(), phase: StartedPhase::Started, metadata: None }
    }
}

wire_enum! {
    /// The `phase` of `turn.started`.
    #[derive(Default)]
    pub enum StartedPhase {
        /// The turn started.
        #[default]
        Started = "started",
    }
}

wire_enum! {
    /// The `phase` of `turn.ended`.
    #[derive(Default)]
    pub enum EndedPhase {
        /// The turn ended.
        #[default]
        Ended = "ended",
    }
}

wire_enum! {
    /// The outcome of a turn.
    pub enum TurnStatus {
        /// The agent finished its work.
        Completed = "completed",
        /// An error ended the turn, or the agent process died.
        Failed = "failed",
        /// The host interrupted the turn.
        Interrupted = "interrupted",
    } else Unknown
}

wire_struct! {
    /// Data of `turn.ended`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct TurnEnded {
        /// Id of the turn, as in its `turn.started`. Empty only in streams of version 1.0.
        #[serde(default)]
        pub turn_id: String,
        /// Always `ended`.
        #[serde(default)]
        pub phase: EndedPhase,
        /// Outcome of the turn.
        pub status: TurnStatus,
        /// Tokens and cost of this turn alone. Omitted if the agent does not report them.
        pub usage?: Option<Usage>,
        /// Duration of the turn: as the agent reports it, or else the time between the two events.
        #[serde(default)]
        pub duration_ms: u64,
        /// What the agent reports at the end of the turn. Omitted if there is nothing.
        #[serde(deserialize_with = "lenient::deserialize_turn_end_metadata")]
        pub metadata?: Option<TurnEndMetadata>,
    }
}

impl TurnEnded {
    /// The end of the turn with this id, without usage, duration and metadata.
    #[must_use]
    pub fn new(turn_id: impl Into<String>, status: TurnStatus) -> Self {
        Self { turn_id: turn_id.into(), phase: EndedPhase::Ended, status, usage: None, duration_ms: 0, metadata: None }
    }
}

//! How a turn begins and ends.

use crate::{TurnEndMetadata, TurnMetadata, Usage, lenient, wire_enum, wire_struct};

wire_struct! {
    /// Data of `turn.started`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct TurnStarted {
        /// The agent's own id for the turn, or one made up where it has none. Empty only in streams of version 1.0.
        #[serde(default)]
        pub turn_id: String,
        /// Always `started`.
        #[serde(default)]
        pub phase: StartedPhase,
        /// What the agent says at the start of each turn. Left out when it says nothing.
        #[serde(deserialize_with = "lenient::turn")]
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
        /// The turn began.
        #[default]
        Started = "started",
    }
}

wire_enum! {
    /// The `phase` of `turn.ended`.
    #[derive(Default)]
    pub enum EndedPhase {
        /// The turn is over.
        #[default]
        Ended = "ended",
    }
}

wire_enum! {
    /// How a turn went.
    pub enum TurnStatus {
        /// The agent finished.
        Completed = "completed",
        /// An error ended it, or the agent died.
        Failed = "failed",
        /// The host asked the agent to stop.
        Interrupted = "interrupted",
    } else Unknown
}

wire_struct! {
    /// Data of `turn.ended`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct TurnEnded {
        /// The id that `turn.started` has. Empty only in streams of version 1.0.
        #[serde(default)]
        pub turn_id: String,
        /// Always `ended`.
        #[serde(default)]
        pub phase: EndedPhase,
        /// How it went.
        pub status: TurnStatus,
        /// The turn's own use of tokens. Left out when the agent does not say.
        pub usage?: Option<Usage>,
        /// How long it took: by the agent's own clock, or else by the times of the events.
        #[serde(default)]
        pub duration_ms: u64,
        /// Why the model stopped, and what else the agent says at the end. Left out when it says nothing.
        #[serde(deserialize_with = "lenient::turn_end")]
        pub metadata?: Option<TurnEndMetadata>,
    }
}

impl TurnEnded {
    /// The end of the turn with this id; everything else is to be filled in.
    #[must_use]
    pub fn new(turn_id: impl Into<String>, status: TurnStatus) -> Self {
        Self { turn_id: turn_id.into(), phase: EndedPhase::Ended, status, usage: None, duration_ms: 0, metadata: None }
    }
}

//! How a turn begins and ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Usage;

/// Data of `turn.started`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    /// The agent's own id for the turn. Left out when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// What the agent says at the start of each turn. Left out when it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// How a turn went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// The agent finished.
    Completed,
    /// An error ended it, or the agent died.
    Failed,
    /// The host asked the agent to stop.
    Interrupted,
}

/// Data of `turn.ended`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TurnEnded {
    /// The agent's own id for the turn. Left out when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// How it went.
    pub status: TurnStatus,
    /// The turn's own use of tokens. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// How long it took, by the agent's own clock. Left out when the agent does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What else the agent says at the end. Left out when it says nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

impl TurnEnded {
    /// A turn that went so; everything else is to be filled in.
    #[must_use]
    pub const fn new(status: TurnStatus) -> Self {
        Self { turn_id: None, status, usage: None, duration_ms: None, metadata: None }
    }
}

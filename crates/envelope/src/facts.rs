//! What an event says besides its text, when it is not about a tool.

use interlingua_schema::{Usage, Visibility};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Name;

/// The `data` of every event that is no tool's, and of a completion: names, numbers and nothing else. A field that does
/// not apply is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[non_exhaustive]
pub struct Facts {
    /// The type of the universal event that it was made from. Left out of `TextOutput`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Name>,
    /// The session, by our name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Name>,
    /// The session by the agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<Name>,
    /// The turn, by the agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<Name>,
    /// The message that a text is part of, or the item that a status tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_id: Option<Name>,
    /// The item it hangs on: a sub-agent's words hang on the call that spawned it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<Name>,
    /// Whether reasoning is meant to be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<Visibility>,
    /// Where it stands: of a turn, an item, a permission, a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Name>,
    /// What a status item is about: `retry`, `compaction`, `plan`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Name>,
    /// The permission or question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Name>,
    /// The tool that a permission or question is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<Name>,
    /// The call that a permission or question is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<Name>,
    /// What kind of failure it is: `rate_limited`, `auth`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Name>,
    /// The agent's exit code; a signal is a negative one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The native type of what nobody could classify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_type: Option<Name>,
    /// How many turns there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// How long the turn took, by the agent's own clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The tokens used: of a turn its own, of a completion the sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

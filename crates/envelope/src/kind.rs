//! The agent that an event is from, and the kind of the event.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use interlingua_agents::Agent;
use interlingua_schema::wire::{WriteJson, write_string};
use interlingua_schema::wire_enum;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::shared_str::SharedStr;

/// The agent that an event is from, under the name that hosts use: `claude_code`, `codex`, `opencode`, `amp`, or any other
/// name that matches `^[a-z][a-z0-9_]*$`. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentWrapperKind(SharedStr);

/// The error for a name that is not a valid agent kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAgentWrapperKind(String);

impl fmt::Display for InvalidAgentWrapperKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(found) = self;
        write!(
            f,
            "expected an agent kind that matches {}, such as `claude_code`; found {found:?}",
            AgentWrapperKind::PATTERN
        )
    }
}

impl std::error::Error for InvalidAgentWrapperKind {}

impl AgentWrapperKind {
    pub(crate) const PATTERN: &'static str = "^[a-z][a-z0-9_]*$";

    /// The agent kind with this name.
    ///
    /// # Errors
    /// If the name does not match `^[a-z][a-z0-9_]*$`.
    pub fn new(name: &str) -> Result<Self, InvalidAgentWrapperKind> {
        let is_valid = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        match name.as_bytes() {
            [b'a'..=b'z', rest @ ..] if rest.iter().all(is_valid) => Ok(Self(SharedStr::Shared(name.into()))),
            _ => Err(InvalidAgentWrapperKind(name.chars().take(64).collect())),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name that hosts use for an agent. For Claude Code it is `claude_code`.
impl From<Agent> for AgentWrapperKind {
    fn from(agent: Agent) -> Self {
        Self(SharedStr::Static(agent.descriptor().envelope_name))
    }
}

impl FromStr for AgentWrapperKind {
    type Err = InvalidAgentWrapperKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::new(name)
    }
}

impl fmt::Display for AgentWrapperKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentWrapperKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for AgentWrapperKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AgentWrapperKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(&Cow::<str>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl WriteJson for AgentWrapperKind {
    fn write_json(&self, out: &mut Vec<u8>) {
        write_string(out, &self.0);
    }
}

wire_enum! {
    /// The kind of an event.
    #[derive(PartialOrd, Ord)]
    pub enum AgentWrapperEventKind {
        /// Text of the agent, of its reasoning or of the user, in `text`. The `channel` tells which.
        TextOutput = "TextOutput",
        /// A tool call. The tools facet in `data` has the name of the tool, but not its arguments.
        ToolCall = "ToolCall",
        /// The result of a tool call. The tools facet in `data` has its outcome and size, but not its output.
        ToolResult = "ToolResult",
        /// A change of state, in `message`.
        Status = "Status",
        /// A failure, in `message`.
        Error = "Error",
        /// An event that could not be classified. `data` has its native type.
        Unknown = "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_kind_that_matches_the_pattern() {
        for (agent, name) in Agent::ALL.into_iter().zip(["claude_code", "codex", "opencode", "amp", "acp"]) {
            let kind = AgentWrapperKind::from(agent);
            assert_eq!(kind.as_str(), name);
            assert_eq!(AgentWrapperKind::new(name), Ok(kind));
        }
    }

    #[test]
    fn a_kind_that_does_not_match_the_pattern_is_an_error() {
        for name in ["", "_a", "1a", "Codex", "claude-code", "a b", "codex\n", "é", "aé"] {
            assert!(AgentWrapperKind::new(name).is_err(), "{name:?}");
            assert!(serde_json::from_value::<AgentWrapperKind>(name.into()).is_err(), "{name:?}");
        }
        for name in ["a", "a1_", "my_agent2"] {
            assert_eq!(name.parse::<AgentWrapperKind>().unwrap().as_str(), name);
        }
        let error = AgentWrapperKind::new("Claude").unwrap_err().to_string();
        assert!(error.contains("found \"Claude\"") && error.contains("claude_code"), "{error}");
    }
}

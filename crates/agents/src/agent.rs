//! The `Agent` enum: agents and their ids.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::descriptor::{ACP, AMP, CLAUDE, CODEX, Descriptor, OPENCODE};

/// A coding agent with its own wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex: its app server, or `codex exec --json`.
    Codex,
    /// OpenCode.
    OpenCode,
    /// Amp.
    Amp,
    /// Any agent that speaks the Agent Client Protocol. [`AcpProfile`](crate::AcpProfile) lists the known ones.
    Acp,
}

impl Agent {
    /// All agents, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::OpenCode, Self::Amp, Self::Acp];

    /// Registry row of the agent: names, package, credentials, process model.
    #[must_use]
    pub const fn descriptor(self) -> &'static Descriptor {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::OpenCode => &OPENCODE,
            Self::Amp => &AMP,
            Self::Acp => &ACP,
        }
    }

    /// The id that commands, wirelog headers and directories use: `claude`, `codex`, `opencode`, `amp`, `acp`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        self.descriptor().id
    }

    /// The agent with this id.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.id() == id)
    }

    /// The agent whose program has the same file name as this path.
    #[must_use]
    pub fn from_program(program: &Path) -> Option<Self> {
        let name = program.file_name()?.to_str()?;
        Self::ALL.into_iter().find(|agent| agent.descriptor().program == name)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(id: &str) -> Result<Self, UnknownAgent> {
        Self::from_id(id).ok_or_else(|| UnknownAgent { id: id.to_owned() })
    }
}

impl Serialize for Agent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// Error: no agent has this id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAgent {
    id: String,
}

impl UnknownAgent {
    /// The unknown id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Display for UnknownAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Agent::ALL.map(Agent::id).join(", ");
        write!(f, "unknown agent `{}`: expected one of {known}", self.id)
    }
}

impl Error for UnknownAgent {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_found_by_its_id_and_by_its_program() {
        for agent in Agent::ALL {
            assert_eq!(agent.id().parse(), Ok(agent));
            let program = Path::new("/usr/bin").join(agent.descriptor().program);
            assert_eq!(Agent::from_program(&program), Some(agent));
        }
        assert_eq!(Agent::from_program(Path::new("/usr/bin/env")), None);
        let error = "toy".parse::<Agent>().unwrap_err();
        assert_eq!(error.to_string(), "unknown agent `toy`: expected one of claude, codex, opencode, amp, acp");
    }
}

//! What no recording can show, declared by hand: how stable an agent's wire is and how the agent runs.

use crate::Agent;

/// How far an agent's wire can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Stability {
    /// Made for hosts, and kept compatible by its vendor.
    Stable,
    /// It may change with any release.
    Experimental,
}

impl Stability {
    /// The name for a person.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Stable => "Stable",
            Self::Experimental => "Experimental",
        }
    }
}

/// What is said of an agent without a recording that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Declared {
    /// How far its wire can be relied on.
    pub stability: Stability,
    /// Whether its models come in variants, such as an effort of reasoning, that a session can choose: its driver takes
    /// one.
    pub variants: bool,
    /// Whether one process serves all sessions.
    pub shared_process: bool,
}

impl Declared {
    /// What is said of this agent.
    #[must_use]
    pub const fn of(agent: Agent) -> Self {
        let (stability, variants, shared_process) = match agent {
            Agent::Claude => (Stability::Stable, true, false),
            Agent::Codex => (Stability::Stable, true, true),
            Agent::OpenCode => (Stability::Experimental, true, true),
            Agent::Amp => (Stability::Experimental, false, false),
        };
        Self { stability, variants, shared_process }
    }
}

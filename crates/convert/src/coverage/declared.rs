//! What no recording can show, written down by hand: how far an agent is to be relied on, what it is started with, and
//! what it cannot do at all.

use crate::Agent;

use super::Feature;

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

/// Why an agent cannot do something, so that no recording will ever show it; `None` where one could.
#[must_use]
pub const fn cannot(agent: Agent, feature: Feature) -> Option<&'static str> {
    match (agent, feature) {
        (Agent::Amp, Feature::FileAttachments) => Some("takes images; any other file is named in the text"),
        (Agent::Amp, Feature::StreamingDeltas | Feature::ItemStarted) => Some("prints whole messages only"),
        (Agent::Amp, Feature::SubAgents) => Some("leaves out what a sub-agent does"),
        (Agent::Amp, Feature::Questions) => Some("has no tool that asks the user"),
        (Agent::Amp, Feature::Permissions) => Some("refuses, or gives up, where it would have to ask"),
        (Agent::Amp, Feature::Compaction | Feature::Retries | Feature::Status) => Some("says nothing of it"),
        _ => None,
    }
}

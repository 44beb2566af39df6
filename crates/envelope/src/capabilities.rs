//! Capabilities: what a host can rely on in an agent's envelope stream.

use std::collections::BTreeMap;
use std::fmt;

use interlingua_convert::Agent;
use interlingua_convert::coverage::{Feature, proof};

/// A capability, with the id under which hosts know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// `agent_api.run`: the agent works on a prompt and reports when it is done.
    Run,
    /// `agent_api.events`: the agent's messages are events.
    Events,
    /// `agent_api.events.live`: events arrive while the agent works, not at the end.
    EventsLive,
    /// `agent_api.tools.structured.v1`: every `ToolCall` and `ToolResult` has the tools facet.
    ToolsStructuredV1,
    /// `agent_api.tools.results.v1`: the outcome of a tool is a `ToolResult`.
    ToolsResultsV1,
    /// `agent_api.artifacts.final_text.v1`: the completion has the last message of the agent.
    ArtifactsFinalTextV1,
    /// `agent_api.control.cancel.v1`: a run can be interrupted, and the completion reports it.
    ControlCancelV1,
}

impl Capability {
    /// All capabilities.
    pub const ALL: [Self; 7] = [
        Self::Run,
        Self::Events,
        Self::EventsLive,
        Self::ToolsStructuredV1,
        Self::ToolsResultsV1,
        Self::ArtifactsFinalTextV1,
        Self::ControlCancelV1,
    ];

    /// The id of the capability.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Run => "agent_api.run",
            Self::Events => "agent_api.events",
            Self::EventsLive => "agent_api.events.live",
            Self::ToolsStructuredV1 => "agent_api.tools.structured.v1",
            Self::ToolsResultsV1 => "agent_api.tools.results.v1",
            Self::ArtifactsFinalTextV1 => "agent_api.artifacts.final_text.v1",
            Self::ControlCancelV1 => "agent_api.control.cancel.v1",
        }
    }

    /// The feature that a recording must show before the capability is advertised for an agent.
    #[must_use]
    pub const fn required_feature(self) -> Feature {
        match self {
            Self::Run => Feature::Completion,
            Self::Events | Self::ArtifactsFinalTextV1 => Feature::TextMessages,
            Self::EventsLive => Feature::LiveEvents,
            Self::ToolsStructuredV1 => Feature::ToolCalls,
            Self::ToolsResultsV1 => Feature::ToolResults,
            Self::ControlCancelV1 => Feature::Interrupts,
        }
    }
}

/// Writes the id.
impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// The capabilities of an agent, each with the recording that proves it, as `agent/version/scenario`.
///
/// ```
/// use interlingua_convert::Agent;
/// use interlingua_envelope::{Capability, capabilities};
///
/// let proven = capabilities(Agent::Codex);
/// assert!(proven[&Capability::ToolsStructuredV1].starts_with("codex/"));
/// let ids: Vec<&str> = proven.keys().map(|capability| capability.id()).collect();
/// assert!(ids.contains(&"agent_api.events.live"));
/// ```
#[must_use]
pub fn capabilities(agent: Agent) -> BTreeMap<Capability, &'static str> {
    let proven = |capability: Capability| Some((capability, proof(agent, capability.required_feature())?));
    Capability::ALL.into_iter().filter_map(proven).collect()
}

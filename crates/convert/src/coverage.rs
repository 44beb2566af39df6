//! The features of each agent, and the recordings that prove them.
//!
//! `cargo xtask generate` converts every recording, looks for each [`Feature`] in the universal events, and writes the
//! name of a recording that shows it to the table of [`proof`] and to `docs/coverage.md`. The capabilities of the API
//! and the capability ids of the envelope come from this table, so that only recorded features are advertised.
//!
//! ```
//! use interlingua_convert::Agent;
//! use interlingua_convert::coverage::{Feature, is_proven, proof};
//!
//! assert!(is_proven(Agent::Codex, Feature::CommandExecution));
//! assert!(proof(Agent::Codex, Feature::CommandExecution).is_some_and(|recording| recording.starts_with("codex/")));
//! // Amp only prints whole messages.
//! assert!(!is_proven(Agent::Amp, Feature::StreamingDeltas));
//! ```

mod proven;

use crate::Agent;

/// Declares the features: the meaning, id and title of each.
macro_rules! features {
    ($(#[doc = $meaning:literal] $feature:ident = $id:literal, $title:literal;)+) => {
        /// A feature of an agent that its universal stream shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Feature {
            $(#[doc = $meaning] $feature,)+
        }

        impl Feature {
            /// All features, in the order of the coverage matrix.
            pub const ALL: &[Self] = &[$(Self::$feature,)+];

            /// Id of the feature in the table of proofs.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$feature => $id,)+
                }
            }

            /// Name of the feature for a person.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$feature => $title,)+
                }
            }

            /// Meaning of the feature, in a sentence.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$feature => $meaning.trim_ascii(),)+
                }
            }
        }
    };
}

features! {
    /// A `message` item of the assistant with text.
    TextMessages = "text_messages", "Text messages";
    /// A `tool_call` item.
    ToolCalls = "tool_calls", "Tool calls";
    /// A `tool_result` item that the agent itself reports.
    ToolResults = "tool_results", "Tool results";
    /// The exit code of a command in its result.
    ExitCodes = "exit_codes", "Exit codes";
    /// `question.requested`: the agent asks the user something.
    Questions = "questions", "Questions (HITL)";
    /// `permission.requested`: the agent asks for a permission.
    Permissions = "permissions", "Permissions (HITL)";
    /// An image in the user's message.
    Images = "images", "Images";
    /// A file in the user's message.
    FileAttachments = "file_attachments", "File attachments";
    /// The agent itself reports the start of a session.
    SessionLifecycle = "session_lifecycle", "Session lifecycle";
    /// An `error` that the agent itself reports.
    ErrorEvents = "error_events", "Error events";
    /// A `reasoning` part with text.
    Reasoning = "reasoning", "Reasoning/thinking";
    /// A call of a command, and a result with its output.
    CommandExecution = "command_execution", "Command execution";
    /// A result with the diff of a file.
    FileChanges = "file_changes", "File changes";
    /// A call of a tool of an MCP server.
    McpTools = "mcp_tools", "MCP tools";
    /// Deltas of a message that the agent itself sends.
    StreamingDeltas = "streaming_deltas", "Streaming deltas";
    /// The agent itself reports the start of an item.
    ItemStarted = "item_started", "Item started";
    /// Events of a turn while it runs, not only at its end.
    LiveEvents = "live_events", "Live events";
    /// The agent itself reports the end of a turn.
    Completion = "completion", "Turn completion";
    /// The token usage of a turn.
    Usage = "usage", "Usage";
    /// Items of a sub-agent, below the call that spawned it.
    SubAgents = "sub_agents", "Sub-agents";
    /// The steps of the agent's plan, or a call of the tool that keeps them.
    Plans = "plans", "Plans";
    /// A mode in which the agent plans and does not act.
    PlanMode = "plan_mode", "Plan mode";
    /// A turn that the host interrupted.
    Interrupts = "interrupts", "Interrupts";
    /// A `status` item for a compaction of the conversation.
    Compaction = "compaction", "Compaction";
    /// A `status` item for a retry of a request.
    Retries = "retries", "Retries";
    /// Any `status` item.
    Status = "status", "Status";
}

/// The recording that proves the feature of this agent, as `agent/version/scenario`; `None` if there is none.
#[must_use]
pub fn proof(agent: Agent, feature: Feature) -> Option<&'static str> {
    proven::PROVEN
        .iter()
        .find(|(name, id, _)| *name == agent.id() && *id == feature.id())
        .map(|(_, _, recording)| *recording)
}

/// Whether a recording proves the feature of this agent.
#[must_use]
pub fn is_proven(agent: Agent, feature: Feature) -> bool {
    proof(agent, feature).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proof_has_a_known_agent_and_feature_and_a_recording_of_that_agent() {
        for (agent, feature, recording) in proven::PROVEN {
            let known = agent.parse::<Agent>().is_ok() && Feature::ALL.iter().any(|known| known.id() == *feature);
            assert!(known, "{agent} {feature}: run `cargo xtask generate coverage`");
            assert!(recording.starts_with(&format!("{agent}/")), "{agent} {feature} is proven by {recording}");
        }
    }

    #[test]
    fn ids_are_unique() {
        let ids: std::collections::BTreeSet<_> = Feature::ALL.iter().map(|feature| feature.id()).collect();
        assert_eq!(ids.len(), Feature::ALL.len());
    }
}

//! What each agent is known to do, and the recording that proves it.
//!
//! `cargo xtask generate` converts every recording, looks for each [`Feature`] in the universal events, and writes the
//! name of the recording that shows it to [`proof`]'s table and to `docs/coverage.md`. The API's capabilities and the
//! envelope's capability ids are answered from this table, so that nothing is advertised that was never recorded.
//!
//! ```
//! use interlingua_convert::Agent;
//! use interlingua_convert::coverage::{Feature, is_proven, proof};
//!
//! assert!(is_proven(Agent::Codex, Feature::CommandExecution));
//! assert!(proof(Agent::Codex, Feature::CommandExecution).is_some_and(|recording| recording.starts_with("codex/")));
//! // Amp prints whole messages only.
//! assert!(!is_proven(Agent::Amp, Feature::StreamingDeltas));
//! ```

mod proven;

use crate::Agent;

/// Declares the features: what is meant, the id and the title of each.
macro_rules! features {
    ($(#[doc = $meaning:literal] $feature:ident = $id:literal, $title:literal;)+) => {
        /// Something that an agent may do and that its universal stream then shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Feature {
            $(#[doc = $meaning] $feature,)+
        }

        impl Feature {
            /// All of them, in the order of the matrix.
            pub const ALL: &[Self] = &[$(Self::$feature,)+];

            /// The name by which the table of proofs knows it.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$feature => $id,)+
                }
            }

            /// The name for a person.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$feature => $title,)+
                }
            }

            /// What is meant by it, in a sentence.
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
    /// The agent answers in words: a `message` of the assistant's with text.
    TextMessages = "text_messages", "Text messages";
    /// A `tool_call` item.
    ToolCalls = "tool_calls", "Tool calls";
    /// A `tool_result` item that the agent itself tells of.
    ToolResults = "tool_results", "Tool results";
    /// A command's exit code in its result.
    ExitCodes = "exit_codes", "Exit codes";
    /// `question.requested`: the agent asks the user something.
    Questions = "questions", "Questions (HITL)";
    /// `permission.requested`: the agent asks whether it may.
    Permissions = "permissions", "Permissions (HITL)";
    /// An image in the user's message.
    Images = "images", "Images";
    /// A file in the user's message.
    FileAttachments = "file_attachments", "File attachments";
    /// The agent itself says that a session began.
    SessionLifecycle = "session_lifecycle", "Session lifecycle";
    /// An `error` in the agent's own words.
    ErrorEvents = "error_events", "Error events";
    /// A `reasoning` part with a text.
    Reasoning = "reasoning", "Reasoning/thinking";
    /// A call of a command, and a result with its output.
    CommandExecution = "command_execution", "Command execution";
    /// A result with the diff of a file.
    FileChanges = "file_changes", "File changes";
    /// A call of an MCP server's tool.
    McpTools = "mcp_tools", "MCP tools";
    /// Deltas of a message that the agent itself sends.
    StreamingDeltas = "streaming_deltas", "Streaming deltas";
    /// The agent itself says that an item begins.
    ItemStarted = "item_started", "Item started";
    /// A turn is told of while it runs, not only at its end.
    LiveEvents = "live_events", "Live events";
    /// The agent itself says that a turn is over.
    Completion = "completion", "Turn completion";
    /// What the turn used, in tokens.
    Usage = "usage", "Usage";
    /// What a sub-agent does, below the call that spawned it.
    SubAgents = "sub_agents", "Sub-agents";
    /// The steps the agent means to take, or the tool with which it keeps them.
    Plans = "plans", "Plans";
    /// A mode in which the agent plans and does not act.
    PlanMode = "plan_mode", "Plan mode";
    /// A turn that the host stopped.
    Interrupts = "interrupts", "Interrupts";
    /// A `status` that the conversation was shortened.
    Compaction = "compaction", "Compaction";
    /// A `status` that a request is tried again.
    Retries = "retries", "Retries";
    /// Any `status` item.
    Status = "status", "Status";
}

/// The recording that shows this agent doing it, as `agent/version/scenario`; `None` where none does.
#[must_use]
pub fn proof(agent: Agent, feature: Feature) -> Option<&'static str> {
    proven::PROVEN
        .iter()
        .find(|(name, id, _)| *name == agent.id() && *id == feature.id())
        .map(|(_, _, recording)| *recording)
}

/// Whether a recording shows this agent doing it.
#[must_use]
pub fn is_proven(agent: Agent, feature: Feature) -> bool {
    proof(agent, feature).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proof_is_of_a_known_agent_and_feature_and_by_a_recording_of_that_agent() {
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

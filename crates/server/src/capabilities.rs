//! Capabilities of agents.

use interlingua_agents::Agent;
use interlingua_convert::coverage::{Feature, is_proven};
use serde::Serialize;
use utoipa::ToSchema;

/// Declares the capabilities and the feature that each one corresponds to.
macro_rules! capabilities {
    ($($(#[doc = $doc:literal])+ $name:ident = $feature:ident;)+) => {
        /// Capabilities of an agent. True if a recording shows it, so that only verified capabilities are advertised.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub(crate) struct Capabilities {
            $($(#[doc = $doc])+ $name: bool,)+
            /// One process serves all sessions of the agent.
            shared_process: bool,
        }

        impl Capabilities {
            /// Capabilities of the agent with this id. The mock agent has all of them, and runs in the server's
            /// process.
            pub(crate) fn for_agent(agent: &str) -> Self {
                let Ok(agent) = agent.parse::<Agent>() else {
                    return Self { $($name: true,)+ shared_process: false };
                };
                Self {
                    $($name: is_proven(agent, Feature::$feature),)+
                    shared_process: agent.descriptor().process_model.is_shared(),
                }
            }
        }
    };
}

capabilities! {
    /// It can plan without making changes.
    plan_mode = PlanMode;
    /// It asks for permission before it acts.
    permissions = Permissions;
    /// It asks the user questions.
    questions = Questions;
    /// It reports its tool calls.
    tool_calls = ToolCalls;
    /// It reports the results of tool calls.
    tool_results = ToolResults;
    /// It answers with text messages.
    text_messages = TextMessages;
    /// It accepts images.
    images = Images;
    /// It accepts file attachments.
    file_attachments = FileAttachments;
    /// It reports the start of a session.
    session_lifecycle = SessionLifecycle;
    /// It reports errors.
    error_events = ErrorEvents;
    /// It reports its reasoning.
    reasoning = Reasoning;
    /// It reports its status.
    status = Status;
    /// It runs commands.
    command_execution = CommandExecution;
    /// It reports its file changes.
    file_changes = FileChanges;
    /// It uses tools of MCP servers.
    mcp_tools = McpTools;
    /// It streams text while it is generated.
    streaming_deltas = StreamingDeltas;
    /// It reports the start of an item.
    item_started = ItemStarted;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_follow_from_recordings() {
        assert!(Capabilities::for_agent("codex").command_execution && Capabilities::for_agent("codex").shared_process);
        assert!(!Capabilities::for_agent("amp").streaming_deltas && !Capabilities::for_agent("amp").shared_process);
        let mock = Capabilities::for_agent("mock");
        assert!(mock.questions && mock.images && !mock.shared_process);
    }
}

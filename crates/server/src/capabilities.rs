//! What an agent can do.

use interlingua_agents::Agent;
use interlingua_convert::coverage::{Feature, is_proven};
use serde::Serialize;
use utoipa::ToSchema;

/// Declares the capabilities and the feature that each stands for.
macro_rules! capabilities {
    ($($(#[doc = $doc:literal])+ $name:ident = $feature:ident;)+) => {
        /// What an agent can do. True where a recording shows it, so that nothing is promised that nobody has seen.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub(crate) struct Capabilities {
            $($(#[doc = $doc])+ $name: bool,)+
            /// One process serves all its sessions.
            shared_process: bool,
        }

        impl Capabilities {
            /// What the agent of this name can do. The mock agent can do everything, in the server's own process.
            pub(crate) fn of(agent: &str) -> Self {
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
    /// It can plan without acting.
    plan_mode = PlanMode;
    /// It asks before it does something.
    permissions = Permissions;
    /// It asks the user questions.
    questions = Questions;
    /// It tells which tools it calls.
    tool_calls = ToolCalls;
    /// It tells what came of the calls.
    tool_results = ToolResults;
    /// It answers in words.
    text_messages = TextMessages;
    /// It takes images.
    images = Images;
    /// It takes files.
    file_attachments = FileAttachments;
    /// It tells when a session begins.
    session_lifecycle = SessionLifecycle;
    /// It tells of errors.
    error_events = ErrorEvents;
    /// It shows its reasoning.
    reasoning = Reasoning;
    /// It tells its status.
    status = Status;
    /// It runs commands.
    command_execution = CommandExecution;
    /// It changes files, and shows how.
    file_changes = FileChanges;
    /// It uses the tools of MCP servers.
    mcp_tools = McpTools;
    /// It streams its words as they come.
    streaming_deltas = StreamingDeltas;
    /// It tells when an item begins.
    item_started = ItemStarted;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_can_do_what_was_recorded() {
        assert!(Capabilities::of("codex").command_execution && Capabilities::of("codex").shared_process);
        assert!(!Capabilities::of("amp").streaming_deltas && !Capabilities::of("amp").shared_process);
        let mock = Capabilities::of("mock");
        assert!(mock.questions && mock.images && !mock.shared_process);
    }
}

//! Advertised capabilities are real: the envelope stream of the named recording shows each of them.

use interlingua_convert::Agent;
use interlingua_envelope::{
    AgentWrapperCompletionStatus, AgentWrapperEvent, AgentWrapperEventKind as Kind, Capability, capabilities,
};

use super::projected::{ProjectedRecording, projected_recordings};

fn has_capability(projected: &ProjectedRecording, capability: Capability) -> bool {
    let has = |kind: Kind| projected.events.iter().any(|event| event.kind() == kind);
    let messages = || projected.events.iter().filter_map(AgentWrapperEvent::message);
    match capability {
        Capability::Run => messages().any(|message| message == "turn completed" || message == "turn failed"),
        Capability::Events => has(Kind::TextOutput),
        // An event of the agent before the end of the turn.
        Capability::EventsLive => {
            let is_of_agent = |event: &AgentWrapperEvent| !matches!(event.channel(), Some("user" | "status"));
            let end = projected.events.iter().position(|event| {
                event.message().is_some_and(|message| message.starts_with("turn ") && message != "turn started")
            });
            projected.events.iter().take(end.unwrap_or(usize::MAX)).any(is_of_agent)
        }
        Capability::ToolsStructuredV1 => {
            let mut tools = projected
                .events
                .iter()
                .filter(|event| matches!(event.kind(), Kind::ToolCall | Kind::ToolResult))
                .peekable();
            let is_facet =
                |event: &AgentWrapperEvent| event.data().is_some_and(|data| data["schema"] == capability.id());
            tools.peek().is_some() && tools.all(is_facet)
        }
        Capability::ToolsResultsV1 => has(Kind::ToolResult),
        Capability::ArtifactsFinalTextV1 => {
            projected.completions.iter().any(|completion| completion.final_text().is_some())
        }
        Capability::ControlCancelV1 => {
            let interrupted = AgentWrapperCompletionStatus::Interrupted;
            messages().any(|message| message == "turn interrupted")
                || projected.completions.iter().any(|completion| completion.status() == interrupted)
        }
        other => panic!("this test has no check for the capability {other}; add one to `has_capability`"),
    }
}

#[test]
fn every_advertised_capability_is_shown_by_its_recording() {
    for agent in Agent::ALL {
        for (capability, proof) in capabilities(agent) {
            let projected = projected_recordings().iter().find(|projected| projected.recording.name() == proof);
            let projected = projected.unwrap_or_else(|| {
                panic!("{agent}: {capability} is proven by {proof}, which does not exist; run `cargo xtask generate`")
            });
            assert!(
                has_capability(projected, capability),
                "{agent}: the envelope stream of {proof} does not show {capability}"
            );
        }
    }
}

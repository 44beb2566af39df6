//! What is advertised is there: the recording that is named shows it in its envelope stream.

use interlingua_convert::Agent;
use interlingua_envelope::{
    AgentWrapperCompletionStatus, AgentWrapperEvent, AgentWrapperEventKind as Kind, Capability, capabilities,
};

use super::projected::{Projected, all};

fn shows(projected: &Projected, capability: Capability) -> bool {
    let has = |kind: Kind| projected.events.iter().any(|event| event.kind() == kind);
    let messages = || projected.events.iter().filter_map(AgentWrapperEvent::message);
    match capability {
        Capability::Run => messages().any(|message| message == "turn completed" || message == "turn failed"),
        Capability::Events => has(Kind::TextOutput),
        // Something of the agent's own before the turn is over.
        Capability::EventsLive => {
            let own = |event: &AgentWrapperEvent| !matches!(event.channel(), Some("user" | "status"));
            let end = projected.events.iter().position(|event| {
                event.message().is_some_and(|message| message.starts_with("turn ") && message != "turn started")
            });
            projected.events.iter().take(end.unwrap_or(usize::MAX)).any(own)
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
        other => panic!("nobody knows what shows {other}"),
    }
}

#[test]
fn the_recording_that_is_named_shows_the_capability() {
    for agent in Agent::ALL {
        for (capability, proof) in capabilities(agent) {
            let projected = all().iter().find(|projected| projected.recording.name() == proof);
            let projected = projected.unwrap_or_else(|| panic!("{proof}, which proves {capability}, is gone"));
            assert!(shows(projected, capability), "{proof} does not show {capability}");
        }
    }
}

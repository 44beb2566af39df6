//! Features that an agent does not support, declared by hand.

use interlingua_convert::Agent;
use interlingua_convert::coverage::Feature;

/// What an implementation of the Agent Client Protocol was measured not to show.
pub(super) fn acp_limit(implementation: &str, feature: Feature) -> Option<&'static str> {
    match (implementation, feature) {
        ("codex" | "copilot", Feature::ErrorEvents) => Some("writes a model error as a message and completes the turn"),
        ("gemini", Feature::ToolResults) => Some("sends no output of commands, and no result of a denied call"),
        ("copilot", Feature::Retries) => Some("writes it as a message"),
        ("claude" | "codex" | "gemini" | "opencode", Feature::Retries) => Some("does not report it"),
        ("opencode", Feature::SubAgents) => {
            Some("shows the call only; a permission that the sub-agent asks for is lost")
        }
        _ => None,
    }
}

/// Why an agent does not support a feature, so that no recording can show it. `None` if a recording could show it.
#[must_use]
pub const fn unsupported_reason(agent: Agent, feature: Feature) -> Option<&'static str> {
    match (agent, feature) {
        (Agent::Amp, Feature::FileAttachments) => Some("accepts images; other files are mentioned in the text"),
        (Agent::Amp, Feature::StreamingDeltas | Feature::ItemStarted) => Some("prints whole messages only"),
        (Agent::Amp, Feature::SubAgents) => Some("does not print the actions of a sub-agent"),
        (Agent::Amp, Feature::Questions) => Some("has no tool for asking the user"),
        (Agent::Amp, Feature::Permissions) => Some("refuses or ends the turn instead of asking"),
        (Agent::Amp, Feature::Compaction | Feature::Retries | Feature::Status) => Some("does not report it"),
        _ => None,
    }
}

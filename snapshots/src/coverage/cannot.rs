//! What an agent cannot do at all, declared by hand.

use interlingua_convert::Agent;
use interlingua_convert::coverage::Feature;

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

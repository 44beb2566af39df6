//! A recording as an envelope stream.

use interlingua_envelope::{AgentWrapperCompletion, AgentWrapperEvent, EnvelopeLine, Projector};
use interlingua_schema::UniversalEvent;
use interlingua_snapshots::{Recording, convert, recordings};

/// What a recording becomes.
pub(crate) struct Projected {
    pub(crate) recording: Recording,
    pub(crate) universal: Vec<UniversalEvent>,
    pub(crate) events: Vec<AgentWrapperEvent>,
    pub(crate) completions: Vec<AgentWrapperCompletion>,
}

impl Projected {
    pub(crate) fn of(recording: Recording) -> Self {
        let universal = convert(&recording).unwrap().events;
        let mut projector = Projector::new(recording.agent);
        let events = universal.iter().flat_map(|event| projector.push(event)).collect();
        Self { recording, universal, events, completions: projector.finish().collect() }
    }

    /// The lines as they are written.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let events = self.events.iter().cloned().map(EnvelopeLine::Event);
        let completions = self.completions.iter().cloned().map(EnvelopeLine::Completion);
        events.chain(completions).map(|line| serde_json::to_string(&line).unwrap())
    }
}

/// Every recording.
pub(crate) fn all() -> impl Iterator<Item = Projected> {
    recordings().unwrap().into_iter().map(Projected::of)
}

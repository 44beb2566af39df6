//! The recordings as envelope streams.

use std::sync::LazyLock;

use interlingua_envelope::{AgentWrapperCompletion, AgentWrapperEvent, EnvelopeLine, Projector};
use interlingua_schema::UniversalEvent;
use interlingua_snapshots::{CorpusEntry, Recording};

use crate::corpus;

/// A recording with its universal stream and its envelope stream.
pub(crate) struct ProjectedRecording {
    pub(crate) recording: &'static Recording,
    pub(crate) universal: &'static [UniversalEvent],
    pub(crate) events: Vec<AgentWrapperEvent>,
    pub(crate) completions: Vec<AgentWrapperCompletion>,
}

impl ProjectedRecording {
    fn new(entry: &'static CorpusEntry) -> Self {
        let (recording, universal) = (&entry.recording, entry.converted.events.as_slice());
        let mut projector = Projector::new(recording.agent);
        let events = universal.iter().flat_map(|event| projector.push(event)).collect();
        Self { recording, universal, events, completions: projector.finish().collect() }
    }

    /// The lines of the stream.
    pub(crate) fn lines(&self) -> impl Iterator<Item = EnvelopeLine> {
        let events = self.events.iter().cloned().map(EnvelopeLine::Event);
        let completions = self.completions.iter().cloned().map(EnvelopeLine::Completion);
        events.chain(completions)
    }
}

/// Every recording. Projected once for all tests.
pub(crate) fn projected_recordings() -> &'static [ProjectedRecording] {
    static ALL: LazyLock<Vec<ProjectedRecording>> =
        LazyLock::new(|| corpus().entries().iter().map(ProjectedRecording::new).collect());
    &ALL
}

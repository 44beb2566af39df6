//! Every recording, converted once.

use std::io;
use std::thread;

use crate::{ConvertedRecording, Recording, convert, recordings};

/// A recording with its universal stream.
#[derive(Debug, Clone)]
pub struct CorpusEntry {
    /// The recording.
    pub recording: Recording,
    /// Its universal stream.
    pub converted: ConvertedRecording,
}

/// Every recording with its universal stream, sorted. Conversion takes most of the test time, so all tests share one
/// corpus.
#[derive(Debug, Clone)]
pub struct Corpus {
    entries: Vec<CorpusEntry>,
}

impl Corpus {
    /// Converts every recording, on all cores.
    ///
    /// # Errors
    /// If a recording cannot be read.
    pub fn load() -> io::Result<Self> {
        let recordings = recordings()?;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let convert_share = |offset: usize| {
            let share = recordings.iter().skip(offset).step_by(threads);
            share
                .map(|recording| Ok(CorpusEntry { recording: recording.clone(), converted: convert(recording)? }))
                .collect::<io::Result<Vec<_>>>()
        };
        let mut entries = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|offset| scope.spawn(move || convert_share(offset))).collect();
            let results = workers.into_iter().map(|worker| match worker.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            results.collect::<io::Result<Vec<_>>>()
        })?
        .concat();
        entries.sort_by(|one, other| one.recording.cmp(&other.recording));
        Ok(Self { entries })
    }

    /// Every recording, sorted.
    #[must_use]
    pub fn entries(&self) -> &[CorpusEntry] {
        &self.entries
    }

    /// The recording named `agent/version/scenario`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&CorpusEntry> {
        self.entries.iter().find(|entry| entry.recording.name() == name)
    }
}

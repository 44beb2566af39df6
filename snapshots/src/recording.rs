//! Recordings, and how the tests find them.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;

use interlingua_convert::Agent;
use interlingua_recordings::{RecordingFile, Transcripts, version_numbers};
use interlingua_wirelog::{Entry, Input, Reader, Record};

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recording {
    /// The agent, by its folder.
    pub agent: Agent,
    /// The agent's version, by its folder.
    pub version: String,
    /// The scenario, by its file.
    pub scenario: String,
    /// The file.
    pub path: PathBuf,
}

/// What crossed the wire, without its time.
pub type Line = Input;

impl Recording {
    /// `agent/version/scenario`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.agent, self.version, self.scenario)
    }

    /// The numbers of the version, by which versions are in order.
    #[must_use]
    pub fn version_numbers(&self) -> Vec<u64> {
        version_numbers(&self.version)
    }

    /// Opens the recording.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn reader(&self) -> io::Result<Reader<BufReader<File>>> {
        Reader::new(BufReader::new(File::open(&self.path)?))
    }

    /// What crossed the wire, in order.
    ///
    /// # Errors
    /// When it cannot be read, or has a line in it that is no record.
    pub fn lines(&self) -> io::Result<Vec<Line>> {
        let mut reader = self.reader()?;
        let mut lines = Vec::new();
        while let Some(entry) = reader.next()? {
            match entry {
                Entry::Record(Record { input, .. }) => lines.push(input),
                Entry::Invalid(bad) => return Err(io::Error::other(format!("{}: {bad}", self.name()))),
            }
        }
        Ok(lines)
    }

    /// The lines that the agent sent.
    ///
    /// # Errors
    /// As [`lines`](Self::lines).
    pub fn received(&self) -> io::Result<Vec<String>> {
        let received = self.lines()?.into_iter().filter_map(|line| match line {
            Input::Received(line) => Some(line),
            _ => None,
        });
        Ok(received.collect())
    }
}

/// Every recording, sorted.
///
/// # Errors
/// When the folder of recordings cannot be read, or has a folder in it that is named after no agent.
pub fn recordings() -> io::Result<Vec<Recording>> {
    let files = Transcripts::in_repository().all()?.into_iter();
    let mut found = files
        .map(|RecordingFile { agent, version, scenario, path, .. }| {
            let agent: Agent = agent.parse().map_err(io::Error::other)?;
            Ok(Recording { agent, version, scenario, path })
        })
        .collect::<io::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}

//! Recordings, and how the tests find and read them.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;

use interlingua_convert::Agent;
use interlingua_recordings::{RecordingFile, Transcripts, version_numbers};
use interlingua_wirelog::{Entry, Input, Reader, Record};

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recording {
    /// The agent, from the folder name.
    pub agent: Agent,
    /// The agent's version, from the folder name.
    pub version: String,
    /// The scenario, from the file name.
    pub scenario: String,
    /// The file.
    pub path: PathBuf,
}

impl Recording {
    /// Name of the recording: `agent/version/scenario`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.agent, self.version, self.scenario)
    }

    /// The numbers in the version. They define the order of versions.
    #[must_use]
    pub fn version_numbers(&self) -> Vec<u64> {
        version_numbers(&self.version)
    }

    /// Opens the recording.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn reader(&self) -> io::Result<Reader<BufReader<File>>> {
        Reader::new(BufReader::new(File::open(&self.path)?))
    }

    /// Reads all inputs, in order, without their times.
    ///
    /// # Errors
    /// If the file cannot be read, or has a line that is not a wirelog record.
    pub fn inputs(&self) -> io::Result<Vec<Input>> {
        let mut reader = self.reader()?;
        let mut inputs = Vec::new();
        while let Some(entry) = reader.next()? {
            match entry {
                Entry::Record(Record { input, .. }) => inputs.push(input),
                Entry::Invalid(bad) => return Err(io::Error::other(format!("{}: {bad}", self.name()))),
            }
        }
        Ok(inputs)
    }

    /// Reads the lines that the agent sent.
    ///
    /// # Errors
    /// As [`inputs`](Self::inputs).
    pub fn received_lines(&self) -> io::Result<Vec<String>> {
        let received = self.inputs()?.into_iter().filter_map(|input| match input {
            Input::Received(line) => Some(line),
            _ => None,
        });
        Ok(received.collect())
    }
}

/// Finds every recording of this repository, sorted.
///
/// # Errors
/// If the folder of recordings cannot be read, or contains a folder that is not named after an agent.
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

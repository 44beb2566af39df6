//! Recordings, and how the tests find them.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use interlingua_convert::Agent;
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
        self.version.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
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
                Entry::Bad(bad) => return Err(io::Error::other(format!("{}: {bad}", self.name()))),
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut found = Vec::new();
    for folder_of_agent in folder(&root)? {
        let agent: Agent = name(&folder_of_agent).parse().map_err(io::Error::other)?;
        for version in folder(&folder_of_agent)? {
            for path in folder(&version)? {
                if path.extension().is_some_and(|extension| extension == "jsonl") {
                    let scenario = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    found.push(Recording { agent, version: name(&version), scenario, path });
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

fn folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

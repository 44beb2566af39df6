//! The recordings, and how the tests over them find them.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recording {
    /// The agent, by its folder.
    pub agent: String,
    /// The agent's version, by its folder.
    pub version: String,
    /// The scenario, by its file.
    pub scenario: String,
    /// The file.
    pub path: PathBuf,
}

impl Recording {
    /// `agent/version/scenario`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.agent, self.version, self.scenario)
    }
}

/// Every recording, sorted.
///
/// # Errors
/// When the folder of recordings cannot be read.
pub fn recordings() -> io::Result<Vec<Recording>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut found = Vec::new();
    for agent in folder(&root)? {
        for version in folder(&agent)? {
            for path in folder(&version)? {
                if path.extension().is_some_and(|extension| extension == "jsonl") {
                    found.push(Recording { agent: name(&agent), version: name(&version), scenario: stem(&path), path });
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

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

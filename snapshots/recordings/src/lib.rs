//! Finds the recordings of this repository.
//!
//! ```text
//! snapshots/transcripts/recorded/<agent>/<version>/<scenario>.jsonl   recorded by `cargo xtask record` from scenarios/
//! snapshots/transcripts/captured/<agent>/<version>/<name>.jsonl       captured in another way; cannot be recorded again
//! ```
//!
//! The name of a recording is `agent/version/scenario`, in either folder. This crate has no dependencies, so that the
//! tests and benchmarks of every crate can use it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// How a recording was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provenance {
    /// By `cargo xtask record`, from the file of the same name in `scenarios/`.
    Recorded,
    /// In another way. It cannot be recorded again.
    Captured,
}

impl Provenance {
    /// Every provenance.
    pub const ALL: [Self; 2] = [Self::Recorded, Self::Captured];

    /// Name of the folder below `transcripts/`.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Captured => "captured",
        }
    }
}

/// One recording.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordingFile {
    /// The agent's id.
    pub agent: String,
    /// The agent's version.
    pub version: String,
    /// The scenario, or the name of the capture.
    pub scenario: String,
    /// How it was made.
    pub provenance: Provenance,
    /// The file.
    pub path: PathBuf,
}

/// A folder of recordings.
#[derive(Debug, Clone)]
pub struct Transcripts {
    root: PathBuf,
}

impl Transcripts {
    /// The recordings of this repository.
    #[must_use]
    pub fn in_repository() -> Self {
        Self::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../transcripts"))
    }

    /// The recordings below `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder of one agent. It contains one folder per version.
    #[must_use]
    pub fn agent_folder(&self, provenance: Provenance, agent: &str) -> PathBuf {
        self.root.join(provenance.folder()).join(agent)
    }

    /// The path of a recording of this provenance, whether it exists or not.
    #[must_use]
    pub fn file(&self, provenance: Provenance, agent: &str, version: &str, scenario: &str) -> PathBuf {
        self.agent_folder(provenance, agent).join(version).join(format!("{scenario}.jsonl"))
    }

    /// The path of the recording named `agent/version/scenario`.
    ///
    /// # Errors
    /// If there is no such recording.
    pub fn find(&self, name: &str) -> io::Result<PathBuf> {
        let files = Provenance::ALL.map(|provenance| self.root.join(provenance.folder()).join(format!("{name}.jsonl")));
        files.into_iter().find(|file| file.is_file()).ok_or_else(|| {
            let root = self.root.display();
            io::Error::new(io::ErrorKind::NotFound, format!("no recording `{name}` in {root}/recorded or /captured"))
        })
    }

    /// Every recording, sorted by agent, version and scenario.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn all(&self) -> io::Result<Vec<RecordingFile>> {
        let mut found = Vec::new();
        for provenance in Provenance::ALL {
            for agent in list_folder(&self.root.join(provenance.folder()))? {
                for version in list_folder(&agent)? {
                    for path in list_folder(&version)? {
                        if path.extension().is_some_and(|extension| extension == "jsonl") {
                            let scenario = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                            let (agent, version) = (file_name(&agent), file_name(&version));
                            found.push(RecordingFile { agent, version, scenario, provenance, path });
                        }
                    }
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Every recording of one agent, sorted by version and scenario.
    ///
    /// # Errors
    /// As [`all`](Self::all).
    pub fn for_agent(&self, agent: &str) -> io::Result<Vec<RecordingFile>> {
        let mut found = self.all()?;
        found.retain(|recording| recording.agent == agent);
        Ok(found)
    }

    /// The recording of a scenario with the newest version of an agent that has one. A capture is not made again for newer
    /// versions, so the versions of different scenarios may differ.
    ///
    /// # Errors
    /// As [`all`](Self::all), and if the scenario was never recorded with the agent.
    pub fn newest(&self, agent: &str, scenario: &str) -> io::Result<RecordingFile> {
        let mut recordings = self.for_agent(agent)?;
        recordings.retain(|recording| recording.scenario == scenario);
        recordings.into_iter().max_by_key(|recording| version_numbers(&recording.version)).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("no recording of {agent} is named `{scenario}`"))
        })
    }
}

/// The numbers in a version. They define the order of versions: 0.9 comes before 0.10.
#[must_use]
pub fn version_numbers(version: &str) -> Vec<u64> {
    version.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// The entries of a folder; empty if the folder does not exist.
fn list_folder(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_recordings_with_a_scenario_file_are_in_the_recorded_folder() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let recordings = Transcripts::in_repository().all().unwrap();
        assert!(recordings.len() > 500, "{}", recordings.len());
        for recording in recordings {
            let has_scenario = scenarios.join(format!("{}.toml", recording.scenario)).is_file();
            let is_recorded = recording.provenance == Provenance::Recorded;
            assert_eq!(is_recorded, has_scenario, "{} is in the wrong folder", recording.path.display());
        }
    }

    #[test]
    fn a_recording_is_found_by_its_name() {
        let transcripts = Transcripts::in_repository();
        for recording in transcripts.all().unwrap() {
            let RecordingFile { agent, version, scenario, path, .. } = recording;
            assert_eq!(transcripts.find(&format!("{agent}/{version}/{scenario}")).unwrap(), path);
        }
        assert!(transcripts.find("codex/0.0.0/none").unwrap_err().to_string().contains("codex/0.0.0/none"));
    }

    #[test]
    fn the_newest_recording_of_a_scenario_may_be_older_than_others() {
        let folder = std::env::temp_dir().join(format!("interlingua-recordings-{}", std::process::id()));
        for name in ["captured/codex/0.9.0/a", "recorded/codex/0.9.0/b", "recorded/codex/0.10.0/b"] {
            let path = folder.join(format!("{name}.jsonl"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let transcripts = Transcripts::new(&folder);
        assert_eq!(transcripts.newest("codex", "a").unwrap().version, "0.9.0");
        assert_eq!(transcripts.newest("codex", "b").unwrap().version, "0.10.0");
        assert!(transcripts.newest("codex", "c").unwrap_err().to_string().contains("`c`"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        assert!(version_numbers("0.9.0") < version_numbers("0.10.0"));
        assert!(version_numbers("1.18.33") > version_numbers("1.1.34"));
    }
}

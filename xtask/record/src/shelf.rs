//! The recordings that are kept, and when one is rewritten.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use interlingua_convert::Agent;
use interlingua_recordings::{Provenance, Transcripts, version_numbers};

use crate::cell::Cell;
use crate::{form, heard, shape};

/// The folder of all recordings.
#[derive(Clone, Debug)]
pub(crate) struct Shelf(pub(crate) Transcripts);

impl Shelf {
    fn file(&self, agent: Agent, version: &str, scenario: &str) -> PathBuf {
        self.0.file(Provenance::Recorded, agent.id(), version, scenario)
    }

    /// A recording, if there is one.
    pub(crate) fn get(&self, agent: Agent, version: &str, scenario: &str) -> Option<Vec<u8>> {
        std::fs::read(self.file(agent, version, scenario)).ok()
    }

    /// The newest other version of which there is a recording.
    pub(crate) fn newest_other(&self, agent: Agent, version: &str, scenario: &str) -> Option<String> {
        let folders = std::fs::read_dir(self.0.agent_folder(Provenance::Recorded, agent.id())).ok()?.flatten();
        let versions = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
        let recorded = versions.filter(|other| other != version && self.file(agent, other, scenario).is_file());
        recorded.max_by_key(|version| version_numbers(version))
    }

    /// Every kind of thing that an agent said in any recording of a version.
    pub(crate) fn kinds(&self, agent: Agent, version: &str) -> Result<BTreeSet<String>> {
        let recordings = self.0.for_agent(agent.id()).context("cannot list the recordings")?;
        let mut kinds = BTreeSet::new();
        for file in recordings.into_iter().filter(|file| file.version == version).map(|file| file.path) {
            let unreadable = || format!("cannot read {}", file.display());
            let recording = std::fs::read(&file).with_context(unreadable)?;
            kinds.extend(shape::kinds(agent, &recording).with_context(unreadable)?);
        }
        Ok(kinds)
    }

    /// Keeps a recording, unless one of the same form is there: then nothing is touched.
    pub(crate) fn keep(&self, agent: Agent, version: &str, scenario: &str, recording: &[u8]) -> Result<Cell> {
        let file = self.file(agent, version, scenario);
        let cell = match self.get(agent, version, scenario) {
            None => Cell::New,
            Some(before) => {
                let form = |recording: &[u8]| heard::read(agent, recording).map(|heard| form::of(agent, &heard));
                let before = form(&before).with_context(|| format!("cannot read {}", file.display()))?;
                match before.difference(&form(recording)?) {
                    None => return Ok(Cell::Same),
                    Some(difference) => {
                        eprintln!("  {agent} {scenario}: {difference}");
                        Cell::Changed
                    }
                }
            }
        };
        let folder = file.parent().context("a file without a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(&file, recording).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(id: &str, text: &str) -> Vec<u8> {
        let line = serde_json::json!({"type": "assistant", "uuid": id, "text": text}).to_string();
        let record = serde_json::json!({"t": id.len(), "dir": "recv", "line": line});
        format!("{{\"wirelog\":1}}\n{record}\n").into_bytes()
    }

    #[test]
    fn a_recording_is_rewritten_only_when_its_form_changed() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf(Transcripts::new(folder.path()));
        let first = recording("01a1e1a2-952c-7360-8170-54fa7ec436a2", "hello");
        let again = recording("99999999-952c-7360-8170-54fa7ec436a2", "hello");
        let other = recording("99999999-952c-7360-8170-54fa7ec436a2", "bye");
        assert_eq!(shelf.keep(Agent::Claude, "1.0.0", "x", &first).unwrap(), Cell::New);
        assert_eq!(shelf.keep(Agent::Claude, "1.0.0", "x", &again).unwrap(), Cell::Same);
        assert_eq!(shelf.get(Agent::Claude, "1.0.0", "x").unwrap(), first);
        assert_eq!(shelf.keep(Agent::Claude, "1.0.0", "x", &other).unwrap(), Cell::Changed);
        assert_eq!(shelf.get(Agent::Claude, "1.0.0", "x").unwrap(), other);
    }

    #[test]
    fn what_a_version_says_is_what_any_of_its_recordings_says() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf(Transcripts::new(folder.path()));
        shelf.keep(Agent::Claude, "1.0.0", "x", &recording("a", "b")).unwrap();
        let other = String::from_utf8(recording("a", "b")).unwrap().replace("assistant", "system");
        shelf.keep(Agent::Claude, "1.0.0", "y", other.as_bytes()).unwrap();
        let kinds: Vec<String> = shelf.kinds(Agent::Claude, "1.0.0").unwrap().into_iter().collect();
        assert_eq!(kinds, ["assistant", "system/?"]);
        assert!(shelf.kinds(Agent::Claude, "2.0.0").unwrap().is_empty());
    }

    #[test]
    fn the_newest_other_version_is_found_by_its_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf(Transcripts::new(folder.path()));
        for version in ["0.9.0", "0.10.0", "0.11.0"] {
            shelf.keep(Agent::Codex, version, "x", &recording("a", "b")).unwrap();
        }
        assert_eq!(shelf.newest_other(Agent::Codex, "0.11.0", "x").as_deref(), Some("0.10.0"));
        assert_eq!(shelf.newest_other(Agent::Codex, "0.11.0", "y"), None);
    }
}

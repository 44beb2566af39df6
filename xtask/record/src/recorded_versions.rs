//! The stored recordings of all versions, and when one is replaced.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use interlingua_convert::Agent;
use interlingua_recordings::{Provenance, Transcripts, version_numbers};

use crate::normal_form::NormalForm;
use crate::outcome::RecordingOutcome;
use crate::{shape, wire_messages};

/// The folder of all recordings.
#[derive(Clone, Debug)]
pub(crate) struct RecordedVersions(pub(crate) Transcripts);

impl RecordedVersions {
    fn file(&self, agent: Agent, version: &str, scenario: &str) -> PathBuf {
        self.0.file(Provenance::Recorded, agent.id(), version, scenario)
    }

    /// Reads a recording, if there is one.
    pub(crate) fn read(&self, agent: Agent, version: &str, scenario: &str) -> Option<Vec<u8>> {
        std::fs::read(self.file(agent, version, scenario)).ok()
    }

    /// The newest other version with a recording of the scenario.
    pub(crate) fn newest_other(&self, agent: Agent, version: &str, scenario: &str) -> Option<String> {
        let folders = std::fs::read_dir(self.0.agent_folder(Provenance::Recorded, agent.id())).ok()?.flatten();
        let versions = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
        let recorded = versions.filter(|other| other != version && self.file(agent, other, scenario).is_file());
        recorded.max_by_key(|version| version_numbers(version))
    }

    /// All kinds of messages in the recordings of a version.
    pub(crate) fn message_kinds(&self, agent: Agent, version: &str) -> Result<BTreeSet<String>> {
        let recordings = self.0.for_agent(agent.id()).context("cannot list the recordings")?;
        let mut kinds = BTreeSet::new();
        for file in recordings.into_iter().filter(|file| file.version == version).map(|file| file.path) {
            let unreadable = || format!("cannot read {}", file.display());
            let recording = std::fs::read(&file).with_context(unreadable)?;
            kinds.extend(shape::kinds(agent, &recording).with_context(unreadable)?);
        }
        Ok(kinds)
    }

    /// Writes a recording, unless the existing one has the same normal form.
    pub(crate) fn save(
        &self,
        agent: Agent,
        version: &str,
        scenario: &str,
        recording: &[u8],
    ) -> Result<RecordingOutcome> {
        let file = self.file(agent, version, scenario);
        let outcome = match self.read(agent, version, scenario) {
            None => RecordingOutcome::New,
            Some(before) => {
                let form = |recording: &[u8]| {
                    wire_messages::read(agent, recording).map(|messages| NormalForm::new(agent, &messages))
                };
                let before = form(&before).with_context(|| format!("cannot read {}", file.display()))?;
                match before.difference(&form(recording)?) {
                    None => return Ok(RecordingOutcome::Same),
                    Some(difference) => {
                        eprintln!("  {agent} {scenario}: {difference}");
                        RecordingOutcome::Changed
                    }
                }
            }
        };
        let folder = file.parent().context("the path of the recording has no folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        std::fs::write(&file, recording).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(outcome)
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
    fn a_recording_is_replaced_only_if_its_normal_form_changed() {
        let folder = tempfile::tempdir().unwrap();
        let versions = RecordedVersions(Transcripts::new(folder.path()));
        let first = recording("01a1e1a2-952c-7360-8170-54fa7ec436a2", "hello");
        let again = recording("99999999-952c-7360-8170-54fa7ec436a2", "hello");
        let other = recording("99999999-952c-7360-8170-54fa7ec436a2", "bye");
        assert_eq!(versions.save(Agent::Claude, "1.0.0", "x", &first).unwrap(), RecordingOutcome::New);
        assert_eq!(versions.save(Agent::Claude, "1.0.0", "x", &again).unwrap(), RecordingOutcome::Same);
        assert_eq!(versions.read(Agent::Claude, "1.0.0", "x").unwrap(), first);
        assert_eq!(versions.save(Agent::Claude, "1.0.0", "x", &other).unwrap(), RecordingOutcome::Changed);
        assert_eq!(versions.read(Agent::Claude, "1.0.0", "x").unwrap(), other);
    }

    #[test]
    fn the_kinds_of_a_version_are_those_of_all_its_recordings() {
        let folder = tempfile::tempdir().unwrap();
        let versions = RecordedVersions(Transcripts::new(folder.path()));
        versions.save(Agent::Claude, "1.0.0", "x", &recording("a", "b")).unwrap();
        let other = String::from_utf8(recording("a", "b")).unwrap().replace("assistant", "system");
        versions.save(Agent::Claude, "1.0.0", "y", other.as_bytes()).unwrap();
        let kinds: Vec<String> = versions.message_kinds(Agent::Claude, "1.0.0").unwrap().into_iter().collect();
        assert_eq!(kinds, ["assistant", "system/?"]);
        assert!(versions.message_kinds(Agent::Claude, "2.0.0").unwrap().is_empty());
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let versions = RecordedVersions(Transcripts::new(folder.path()));
        for version in ["0.9.0", "0.10.0", "0.11.0"] {
            versions.save(Agent::Codex, version, "x", &recording("a", "b")).unwrap();
        }
        assert_eq!(versions.newest_other(Agent::Codex, "0.11.0", "x").as_deref(), Some("0.10.0"));
        assert_eq!(versions.newest_other(Agent::Codex, "0.11.0", "y"), None);
    }
}

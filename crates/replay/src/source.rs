//! The recordings to replay, and where in them a process starts.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::command_line::CommandLine;
use crate::id_map::IdMap;
use crate::recording::RecordingError;
use crate::script::{Action, Script};
use crate::{Agent, Recording};

/// Why there is nothing to replay.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: this folder has no recording of {expected}", path.display())]
    NoRecording { path: PathBuf, expected: String },
    #[error("{}: expected a recording of {expected}, found one of {found}", path.display())]
    WrongAgent { path: PathBuf, expected: String, found: String },
    #[error("turn {turn}: the recording has only {turns} turns")]
    NoSuchTurn { turn: usize, turns: usize },
    #[error("the whole recording was played according to {}; remove that file to start again", path.display())]
    AllPlayed { path: PathBuf },
    #[error("{}: not a state file of interlingua-replay: {reason}", path.display())]
    InvalidStateFile { path: PathBuf, reason: String },
}

/// How far the recordings were played: the content of the state file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedState {
    /// Index of the last process.
    pub(crate) process: usize,
    /// The step that it reached.
    pub(crate) step: usize,
    /// Ids of the host.
    pub(crate) ids: IdMap,
}

impl SavedState {
    /// Reads the state of earlier processes and writes the one that `change` returns, if any. The file is locked
    /// meanwhile, because several stand-ins may share it.
    pub(crate) fn update<T>(
        path: &Path,
        change: impl FnOnce(Option<Self>) -> (Option<Self>, T),
    ) -> Result<T, SourceError> {
        let failed = |source| SourceError::Unreadable { path: path.to_owned(), source };
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        file.lock().map_err(failed)?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let state =
            if text.is_empty() {
                None
            } else {
                let state = serde_json::from_str(&text);
                Some(state.map_err(|error| SourceError::InvalidStateFile {
                    path: path.to_owned(),
                    reason: error.to_string(),
                })?)
            };
        let (changed, outcome) = change(state);
        if let Some(changed) = changed {
            let text = serde_json::to_vec(&changed).map_err(|error| failed(error.into()))?;
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text)).map_err(failed)?;
        }
        Ok(outcome)
    }

    /// Writes the position of a process, unless a later process has started since.
    pub(crate) fn advance(self, path: &Path) -> Result<(), SourceError> {
        Self::update(path, |known| {
            let is_current = known.as_ref().is_none_or(|known| known.process == self.process);
            (is_current.then_some(self), ())
        })
    }
}

/// Recordings of one agent in the order in which they are played.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) recordings: Vec<Recording>,
}

impl Source {
    /// Opens a recording, or all recordings of an agent in a folder. Without `agent`, recordings of any agent fit.
    pub(crate) fn open(path: &Path, agent: Option<Agent>, command_line: &CommandLine) -> Result<Self, SourceError> {
        let fits = |recording: &Recording| {
            let arguments = recording.header.argv.get(1..).unwrap_or(&[]);
            agent.is_none_or(|agent| agent == recording.agent)
                && match (command_line.mode, CommandLine::parse(recording.agent, arguments).mode) {
                    (Some(expected), Some(recorded)) => expected == recorded,
                    _ => true,
                }
        };
        let expected = || match (agent, command_line.mode) {
            (Some(agent), Some(mode)) => format!("{agent} {mode}"),
            (Some(agent), None) => agent.to_string(),
            (None, _) => "an agent".to_owned(),
        };
        if !path.is_dir() {
            let recording = Recording::open(path)?;
            if !fits(&recording) {
                let found = recording.header.argv.get(..2).map_or(recording.agent.to_string(), |argv| argv.join(" "));
                return Err(SourceError::WrongAgent { path: path.to_owned(), expected: expected(), found });
            }
            return Ok(Self { recordings: vec![recording] });
        }
        let unreadable = |source| SourceError::Unreadable { path: path.to_owned(), source };
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            files.push(entry.map_err(unreadable)?.path());
        }
        files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
        let mut recordings = Vec::new();
        for file in files {
            recordings.push(Recording::open(&file)?);
        }
        recordings.retain(fits);
        if recordings.is_empty() {
            return Err(SourceError::NoRecording { path: path.to_owned(), expected: expected() });
        }
        Ok(Self { recordings })
    }

    /// The processes of all recordings in order.
    pub(crate) fn scripts(&self) -> Vec<Script> {
        let scripts =
            |recording| Recording::processes(recording).into_iter().map(|range| Script::new(recording, range));
        self.recordings.iter().flat_map(scripts).collect()
    }
}

/// Finds where a turn starts: the process and the step.
pub(crate) fn find_turn(scripts: &[Script], turn: usize) -> Result<(usize, usize), SourceError> {
    let mut starts = Vec::new();
    for (process, script) in scripts.iter().enumerate() {
        let turns = turns(script);
        // The steps before the first turn are played with it.
        starts.extend(turns.into_iter().enumerate().map(|(nth, step)| (process, if nth == 0 { 0 } else { step })));
    }
    let found = turn.checked_sub(1).and_then(|turn| starts.get(turn)).copied();
    found.ok_or(SourceError::NoSuchTurn { turn, turns: starts.len() })
}

/// Finds where the next process starts: at the next process of the recording or, after the last one, at the first turn
/// that it did not reach. `None` if everything was played.
pub(crate) fn find_next_start(scripts: &[Script], state: &SavedState) -> Option<(usize, usize)> {
    if state.process + 1 < scripts.len() {
        return Some((state.process + 1, 0));
    }
    let script = scripts.get(state.process)?;
    turns(script).into_iter().find(|step| *step >= state.step && *step > 0).map(|step| (state.process, step))
}

/// The steps at which turns start.
fn turns(script: &Script) -> Vec<usize> {
    if script.is_one_shot() {
        return vec![0];
    }
    let starts_turn = |action: &Action| matches!(action, Action::Expect(message) if message.starts_turn);
    script.steps.iter().enumerate().filter(|(_, step)| starts_turn(&step.action)).map(|(step, _)| step).collect()
}

//! Where recordings come from, and where in them a process starts.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::ids::Ids;
use crate::launch::Launch;
use crate::recording::RecordingError;
use crate::script::{Act, Script};
use crate::{Agent, Recording};

/// Why there is nothing to play.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: no recording of {what} in this folder", path.display())]
    Nothing { path: PathBuf, what: String },
    #[error("{}: expected a recording of {what}, found one of {found}", path.display())]
    Other { path: PathBuf, what: String, found: String },
    #[error("turn {turn}: the recording has only {turns}")]
    NoSuchTurn { turn: usize, turns: usize },
    #[error("the recording is over: {} says that all of it was played; remove that file to start again", path.display())]
    Over { path: PathBuf },
    #[error("{}: not a state file of interlingua-replay: {reason}", path.display())]
    BadState { path: PathBuf, reason: String },
}

/// How far a recording has been played.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// The process that played last; the first is 0.
    pub(crate) process: usize,
    /// The step it came to.
    pub(crate) step: usize,
    /// What the host calls things.
    pub(crate) ids: Ids,
}

impl State {
    /// Reads what earlier processes left, and keeps what `change` makes of it, if anything. Nobody else does the same
    /// meanwhile: several stand-ins may share a file.
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
        let state = if text.is_empty() {
            None
        } else {
            let state = serde_json::from_str(&text);
            Some(state.map_err(|error| SourceError::BadState { path: path.to_owned(), reason: error.to_string() })?)
        };
        let (changed, outcome) = change(state);
        if let Some(changed) = changed {
            let text = serde_json::to_vec(&changed).map_err(|error| failed(error.into()))?;
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text)).map_err(failed)?;
        }
        Ok(outcome)
    }

    /// Notes how far a process has come, unless a later one has started meanwhile.
    pub(crate) fn advance(self, path: &Path) -> Result<(), SourceError> {
        Self::update(path, |known| {
            let mine = known.as_ref().is_none_or(|known| known.process == self.process);
            (mine.then_some(self), ())
        })
    }
}

/// Recordings of one agent, one after the other.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) recordings: Vec<Recording>,
}

impl Source {
    /// Opens a recording, or all recordings of an agent in a folder. Without an agent, the file says whose it is.
    pub(crate) fn open(path: &Path, agent: Option<Agent>, launch: &Launch) -> Result<Self, SourceError> {
        let fits = |recording: &Recording| {
            agent.is_none_or(|agent| agent == recording.agent)
                && match (
                    launch.mode,
                    Launch::read(recording.agent, recording.header.argv.get(1..).unwrap_or(&[])).mode,
                ) {
                    (Some(wanted), Some(recorded)) => wanted == recorded,
                    _ => true,
                }
        };
        let what = || match (agent, launch.mode) {
            (Some(agent), Some(mode)) => format!("{agent} {mode}"),
            (Some(agent), None) => agent.to_string(),
            (None, _) => "an agent".to_owned(),
        };
        if !path.is_dir() {
            let recording = Recording::open(path)?;
            if !fits(&recording) {
                let found = recording.header.argv.get(..2).map_or(recording.agent.to_string(), |argv| argv.join(" "));
                return Err(SourceError::Other { path: path.to_owned(), what: what(), found });
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
            return Err(SourceError::Nothing { path: path.to_owned(), what: what() });
        }
        Ok(Self { recordings })
    }

    /// The processes of all recordings, one after the other.
    pub(crate) fn scripts(&self) -> Vec<Script> {
        let of = |recording| Recording::processes(recording).into_iter().map(|range| Script::new(recording, range));
        self.recordings.iter().flat_map(of).collect()
    }
}

/// Where a process starts: in which script, and at which step.
pub(crate) fn start_of_turn(scripts: &[Script], turn: usize) -> Result<(usize, usize), SourceError> {
    let mut starts = Vec::new();
    for (process, script) in scripts.iter().enumerate() {
        let turns = turns(script);
        // What comes before the first turn is played with it.
        starts.extend(turns.into_iter().enumerate().map(|(nth, step)| (process, if nth == 0 { 0 } else { step })));
    }
    let found = turn.checked_sub(1).and_then(|turn| starts.get(turn)).copied();
    found.ok_or(SourceError::NoSuchTurn { turn, turns: starts.len() })
}

/// Where the next process starts after one that came so far: in the next process of the recording, or, when that was
/// the last, at the turn that it did not come to.
pub(crate) fn start_after(scripts: &[Script], state: &State) -> Option<(usize, usize)> {
    if state.process + 1 < scripts.len() {
        return Some((state.process + 1, 0));
    }
    let script = scripts.get(state.process)?;
    turns(script).into_iter().find(|step| *step >= state.step && *step > 0).map(|step| (state.process, step))
}

/// The steps at which turns begin.
fn turns(script: &Script) -> Vec<usize> {
    if script.is_one_shot() {
        return vec![0];
    }
    let begins = |act: &Act| matches!(act, Act::Hear(said) if said.begins_turn);
    script.steps.iter().enumerate().filter(|(_, step)| begins(&step.act)).map(|(step, _)| step).collect()
}

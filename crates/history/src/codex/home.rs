//! The rollout files of a home folder, and which threads belong together.

use std::fs;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use interlingua_schema::Timestamp;
use serde::Deserialize;

use super::line::{Line, Payload};
use crate::HistoryError;
use crate::json::{Field, decode, text, time};
use crate::record_reader::{RecordReader, is_compressed};

/// Folders that contain rollout files, below a home.
const SESSION_FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];
/// Maximum depth of folders below a home.
const MAX_DEPTH: usize = 6;
/// File with the names of threads.
const NAMES_FILE: &str = "session_index.jsonl";

/// A rollout file, as its first line describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollout {
    pub(super) path: PathBuf,
    pub(super) thread_id: String,
    /// The thread that spawned this one.
    pub(super) parent: Option<String>,
    pub(super) forked_from: Option<String>,
    pub(super) version: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) model_provider: Option<String>,
    /// Name that a person gave it.
    pub(super) name: Option<String>,
    pub(super) starts_at: Option<Timestamp>,
    pub(super) kind: ThreadKind,
}

/// What a thread is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ThreadKind {
    /// A conversation with a person.
    #[default]
    Session,
    /// A sub-agent that a call spawned.
    SubAgent,
    /// A review, which runs in a thread of its own and is shown in the thread that asked for it.
    Review,
    /// Work of the agent for itself: approvals by a model, memories.
    Internal,
}

/// How a thread takes part in a session.
#[derive(Clone, Debug)]
pub(super) enum ThreadRole {
    /// A sub-agent of the thread with this id.
    SubAgent(String),
    /// A review in the thread with this id.
    Review(String),
    /// The agent's own work.
    Internal,
}

/// The rollout files of a home folder.
#[derive(Debug, Default)]
pub(super) struct Home {
    rollouts: Vec<Rollout>,
    by_path: HashMap<PathBuf, usize>,
}

impl Home {
    /// Reads the first lines of all rollout files below a folder.
    pub(super) fn load(folder: &Path) -> Result<Self, HistoryError> {
        let mut files = Vec::new();
        let roots: Vec<PathBuf> =
            SESSION_FOLDERS.iter().map(|name| folder.join(name)).filter(|folder| folder.is_dir()).collect();
        if roots.is_empty() {
            list(folder, 0, &mut files)?;
        }
        for root in roots {
            list(&root, 0, &mut files)?;
        }
        let names = read_names(&folder.join(NAMES_FILE));
        let mut home = Self::default();
        for path in files {
            // A file that cannot be read is reported when it is converted.
            let Ok(Some(mut rollout)) = read_head(&path) else { continue };
            rollout.name = names.get(&rollout.thread_id).cloned();
            home.by_path.insert(path, home.rollouts.len());
            home.rollouts.push(rollout);
        }
        Ok(home)
    }

    pub(super) fn rollout(&self, path: &Path) -> Option<&Rollout> {
        self.by_path.get(path).map(|index| &self.rollouts[*index])
    }

    pub(super) fn find(&self, thread_id: &str) -> Option<&Rollout> {
        self.rollouts.iter().find(|rollout| rollout.thread_id == thread_id)
    }

    /// Whether a thread is shown as part of another one.
    pub(super) fn is_part_of_session(&self, rollout: &Rollout) -> bool {
        match rollout.kind {
            ThreadKind::Session => false,
            ThreadKind::SubAgent => rollout.parent.as_deref().is_some_and(|parent| self.find(parent).is_some()),
            ThreadKind::Review => self.reviewing_thread(rollout).is_some(),
            ThreadKind::Internal => true,
        }
    }

    /// The threads that are shown as part of a session, with their roles.
    pub(super) fn members(&self, root: &Rollout) -> Vec<(&Rollout, ThreadRole)> {
        let mut members: Vec<(&Rollout, ThreadRole)> = Vec::new();
        let mut next = vec![root.thread_id.as_str()];
        while let Some(parent) = next.pop() {
            for rollout in &self.rollouts {
                if rollout.thread_id == root.thread_id || members.iter().any(|(known, _)| known.path == rollout.path) {
                    continue;
                }
                let role = match rollout.kind {
                    ThreadKind::SubAgent if rollout.parent.as_deref() == Some(parent) => {
                        ThreadRole::SubAgent(parent.to_owned())
                    }
                    ThreadKind::Review if self.reviewing_thread(rollout).is_some_and(|id| id == parent) => {
                        ThreadRole::Review(parent.to_owned())
                    }
                    ThreadKind::Internal if rollout.parent.as_deref() == Some(parent) => ThreadRole::Internal,
                    _ => continue,
                };
                members.push((rollout, role));
                next.push(&rollout.thread_id);
            }
        }
        members
    }

    /// The thread that asked for a review. Older versions do not name it: it is the thread that was in a review when the
    /// review's thread started.
    fn reviewing_thread<'a>(&'a self, review: &'a Rollout) -> Option<&'a str> {
        if let Some(parent) = review.parent.as_deref().filter(|parent| self.find(parent).is_some()) {
            return Some(parent);
        }
        let started = review.starts_at?;
        let candidates = self.rollouts.iter().filter(|rollout| {
            rollout.kind == ThreadKind::Session && rollout.cwd == review.cwd && rollout.starts_at <= Some(started)
        });
        candidates
            .filter(|candidate| is_in_review(&candidate.path, started).unwrap_or(false))
            .map(|rollout| rollout.thread_id.as_str())
            .next_back()
    }
}

/// Whether a review was running in a thread at this time.
fn is_in_review(path: &Path, at: Timestamp) -> Result<bool, HistoryError> {
    let mut reader = RecordReader::open(path)?;
    let mut is_running = false;
    while let Some(record) = reader.next()? {
        let Ok(record) = record.text else { continue };
        if !record.contains("review") {
            continue;
        }
        let Ok(line) = Line::parse(&record) else { continue };
        if time(line.timestamp) > Some(at) {
            break;
        }
        let payload: Payload<'_> = decode(line.payload);
        let item: Item<'_> = decode(payload.item);
        match text(payload.kind).as_deref() {
            Some("entered_review_mode") => is_running = true,
            Some("exited_review_mode") => is_running = false,
            _ => match text(item.kind).as_deref() {
                Some("EnteredReviewMode") => is_running = true,
                Some("ExitedReviewMode") => is_running = false,
                _ => {}
            },
        }
    }
    Ok(is_running)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
}

/// The folder whose rollout files belong together: the home that a file is in.
pub(super) fn sessions_folder(file: &Path) -> PathBuf {
    let mut ancestors = file.ancestors().skip(1);
    let home = ancestors.find(|folder| {
        folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| SESSION_FOLDERS.contains(&name))
    });
    let folder = home.and_then(Path::parent).or_else(|| file.parent()).unwrap_or(Path::new("."));
    if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() }
}

/// Whether a path has the name of a rollout file.
pub(crate) fn is_rollout_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("rollout-") && is_lines_file(path)
}

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), HistoryError> {
    for entry in fs::read_dir(folder).map_err(HistoryError::read(folder))? {
        let entry = entry.map_err(HistoryError::read(folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(HistoryError::read(&path))?;
        if kind.is_dir() && depth < MAX_DEPTH {
            list(&path, depth + 1, files)?;
        } else if kind.is_file() && (is_rollout_file(&path) || (depth == 0 && is_lines_file(&path))) {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

fn is_lines_file(path: &Path) -> bool {
    // Old threads are compressed.
    let name = if is_compressed(path) { path.with_extension("") } else { path.to_owned() };
    name.extension().is_some_and(|extension| extension == "jsonl")
}

fn read_head(path: &Path) -> Result<Option<Rollout>, HistoryError> {
    let mut reader = RecordReader::open(path)?;
    while let Some(record) = reader.next()? {
        let Ok(record) = record.text else { continue };
        let Ok(line) = Line::parse(&record) else { continue };
        if text(line.kind).as_deref() != Some("session_meta") {
            return Ok(None);
        }
        let meta: Payload<'_> = decode(line.payload);
        let owned = |field| text(field).map(std::borrow::Cow::into_owned);
        let Some(thread_id) = owned(meta.id) else { return Ok(None) };
        let source: Source<'_> = decode(meta.source);
        let kind = source.kind();
        let parent = owned(meta.parent_thread_id).or_else(|| source.parent());
        return Ok(Some(Rollout {
            path: path.to_owned(),
            thread_id,
            parent,
            forked_from: owned(meta.forked_from_id),
            version: owned(meta.cli_version),
            cwd: owned(meta.cwd),
            model_provider: owned(meta.model_provider),
            name: None,
            starts_at: time(line.timestamp),
            kind,
        }));
    }
    Ok(None)
}

/// Who started a thread: a name, or an object for threads that Codex started itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Source<'a> {
    #[serde(borrow)]
    subagent: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SubAgentSource<'a> {
    #[serde(borrow)]
    thread_spawn: Option<ThreadSpawn<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ThreadSpawn<'a> {
    #[serde(borrow)]
    parent_thread_id: Field<'a>,
}

impl Source<'_> {
    fn kind(&self) -> ThreadKind {
        match (self.subagent, text(self.subagent).as_deref()) {
            (None, _) => ThreadKind::Session,
            (_, Some("review")) => ThreadKind::Review,
            (_, Some(_)) => ThreadKind::Internal,
            (Some(_), None) => {
                let source: SubAgentSource<'_> = decode(self.subagent);
                if source.thread_spawn.is_some() { ThreadKind::SubAgent } else { ThreadKind::Internal }
            }
        }
    }

    fn parent(&self) -> Option<String> {
        let source: SubAgentSource<'_> = decode(self.subagent);
        text(source.thread_spawn?.parent_thread_id).map(std::borrow::Cow::into_owned)
    }
}

/// The names of threads. The last line about a thread counts.
fn read_names(path: &Path) -> HashMap<String, String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Name<'a> {
        #[serde(borrow)]
        id: Field<'a>,
        #[serde(borrow)]
        thread_name: Field<'a>,
    }
    let lines = fs::read_to_string(path).unwrap_or_default();
    let names = lines.lines().filter_map(|line| serde_json::from_str::<Name<'_>>(line).ok());
    names.filter_map(|name| Some((text(name.id)?.into_owned(), text(name.thread_name)?.into_owned()))).collect()
}

//! The rollout files of a home folder, and which threads belong together.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use foldhash::{HashMap, HashSet};
use interlingua_schema::Timestamp;
use serde::Deserialize;

use super::line::{Line, Payload};
use crate::discovery::read_folder;
use crate::json::{Field, decode, text, time};
use crate::record_reader::{RecordReader, is_compressed};
use crate::{HistoryError, HistoryReport};

/// Folders that contain rollout files, below a home.
const SESSION_FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];
/// Maximum depth of folders below a home.
const MAX_DEPTH: usize = 6;
/// Maximum number of lines that are read to find the description of a thread.
const MAX_HEAD_LINES: usize = 200;
/// Length of the id of a thread.
const UUID_LENGTH: usize = 36;
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
    /// Length of the file.
    length: u64,
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
    /// The file of each thread. A thread may have several: archived or compressed copies.
    by_thread: HashMap<String, usize>,
    /// The threads that a thread started, except reviews.
    children: HashMap<String, Vec<usize>>,
    /// The thread that asked for each review.
    reviewing: OnceLock<HashMap<usize, String>>,
}

impl Home {
    /// Reads the first lines of all rollout files below a folder. What cannot be read is reported when the folder is
    /// searched, or the file is converted.
    pub(super) fn load(folder: &Path) -> Self {
        let mut files = Vec::new();
        let roots: Vec<PathBuf> =
            SESSION_FOLDERS.iter().map(|name| folder.join(name)).filter(|folder| folder.is_dir()).collect();
        if roots.is_empty() {
            list(folder, 0, &mut files);
        }
        for root in roots {
            list(&root, 0, &mut files);
        }
        let names = read_names(&folder.join(NAMES_FILE));
        let mut home = Self::default();
        for path in files {
            let Ok(Some(mut rollout)) = read_head(&path) else { continue };
            rollout.name = names.get(&rollout.thread_id).cloned();
            home.add(rollout);
        }
        home
    }

    fn add(&mut self, rollout: Rollout) {
        let index = self.rollouts.len();
        self.by_path.insert(rollout.path.clone(), index);
        let known = self.by_thread.get(&rollout.thread_id).map(|known| &self.rollouts[*known]);
        if known.is_none_or(|known| rollout.rank() > known.rank()) {
            self.by_thread.insert(rollout.thread_id.clone(), index);
        }
        if let Some(parent) = rollout.parent.clone()
            && matches!(rollout.kind, ThreadKind::SubAgent | ThreadKind::Internal)
        {
            self.children.entry(parent).or_default().push(index);
        }
        self.rollouts.push(rollout);
    }

    pub(super) fn rollout(&self, path: &Path) -> Option<&Rollout> {
        self.by_path.get(path).map(|index| &self.rollouts[*index])
    }

    pub(super) fn find(&self, thread_id: &str) -> Option<&Rollout> {
        self.by_thread.get(thread_id).map(|index| &self.rollouts[*index])
    }

    /// Whether another file has the same thread, and is read instead.
    pub(super) fn is_copy(&self, rollout: &Rollout) -> bool {
        self.find(&rollout.thread_id).is_some_and(|preferred| preferred.path != rollout.path)
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
        let mut seen = HashSet::default();
        seen.insert(root.thread_id.as_str());
        let mut next = vec![root.thread_id.as_str()];
        while let Some(parent) = next.pop() {
            let children = self.children.get(parent).into_iter().flatten().map(|index| &self.rollouts[*index]);
            let reviews = self.reviewing().iter().filter(|(_, reviewing)| *reviewing == parent);
            let mut found: Vec<&Rollout> = children.chain(reviews.map(|(index, _)| &self.rollouts[*index])).collect();
            found.sort_by(|a, b| (a.starts_at, &a.path).cmp(&(b.starts_at, &b.path)));
            for rollout in found {
                if self.is_copy(rollout) || !seen.insert(&rollout.thread_id) {
                    continue;
                }
                let role = match rollout.kind {
                    ThreadKind::SubAgent => ThreadRole::SubAgent(parent.to_owned()),
                    ThreadKind::Review => ThreadRole::Review(parent.to_owned()),
                    ThreadKind::Session | ThreadKind::Internal => ThreadRole::Internal,
                };
                members.push((rollout, role));
                next.push(&rollout.thread_id);
            }
        }
        members
    }

    fn reviewing_thread(&self, review: &Rollout) -> Option<&str> {
        let index = self.by_path.get(&review.path)?;
        self.reviewing().get(index).map(String::as_str)
    }

    /// The threads that asked for reviews. Older versions do not name them: each is the thread that was in a review when
    /// the review's thread started.
    fn reviewing(&self) -> &HashMap<usize, String> {
        self.reviewing.get_or_init(|| {
            let mut reviewing = HashMap::default();
            let mut unnamed = Vec::new();
            for (index, review) in self.rollouts.iter().enumerate().filter(|(_, rollout)| rollout.is_review()) {
                match review.parent.as_ref().filter(|parent| self.find(parent).is_some()) {
                    Some(parent) => _ = reviewing.insert(index, parent.clone()),
                    None => unnamed.push(index),
                }
            }
            for candidate in self.rollouts.iter().filter(|rollout| rollout.kind == ThreadKind::Session) {
                let reviews = unnamed.iter().copied().filter(|index| {
                    let review = &self.rollouts[*index];
                    review.cwd == candidate.cwd && candidate.starts_at <= review.starts_at
                });
                let reviews: Vec<usize> = reviews.collect();
                if reviews.is_empty() || self.is_copy(candidate) {
                    continue;
                }
                let periods = review_periods(&candidate.path);
                for index in reviews {
                    let started = self.rollouts[index].starts_at;
                    if periods.iter().any(|(from, to)| *from <= started && to.is_none_or(|to| started <= Some(to))) {
                        reviewing.insert(index, candidate.thread_id.clone());
                    }
                }
            }
            reviewing
        })
    }
}

impl Rollout {
    fn is_review(&self) -> bool {
        self.kind == ThreadKind::Review
    }

    /// Which of several files of a thread is read: one that is not compressed may still be written, and the longer one
    /// has more.
    fn rank(&self) -> (bool, u64) {
        (!is_compressed(&self.path), self.length)
    }
}

/// The times at which reviews started and ended in a thread.
fn review_periods(path: &Path) -> Vec<(Option<Timestamp>, Option<Timestamp>)> {
    let mut periods: Vec<(Option<Timestamp>, Option<Timestamp>)> = Vec::new();
    let Ok(mut reader) = RecordReader::open(path) else { return periods };
    let mut is_running = false;
    while let Some(record) = reader.next() {
        let Some(record) = record.text.ok().filter(|record| record.contains("eview")) else { continue };
        let Ok(line) = Line::parse(&record) else { continue };
        let payload: Payload<'_> = decode(line.payload);
        let item: Item<'_> = decode(payload.item);
        let kind = text(item.kind).or_else(|| text(payload.kind));
        match kind.as_deref() {
            Some("entered_review_mode" | "EnteredReviewMode") if !is_running => {
                periods.push((time(line.timestamp), None));
                is_running = true;
            }
            Some("exited_review_mode" | "ExitedReviewMode") => {
                if let Some((_, end)) = periods.last_mut().filter(|_| is_running) {
                    *end = time(line.timestamp);
                }
                is_running = false;
            }
            _ => {}
        }
    }
    periods
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

fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    // What cannot be read is reported when the folder is searched.
    for (path, kind) in read_folder(folder, &mut HistoryReport::default()) {
        if kind.is_dir() && depth < MAX_DEPTH {
            list(&path, depth + 1, files);
        } else if kind.is_file() && (is_rollout_file(&path) || (depth == 0 && is_lines_file(&path))) {
            files.push(path);
        }
    }
}

fn is_lines_file(path: &Path) -> bool {
    // Old threads are compressed.
    let name = if is_compressed(path) { path.with_extension("") } else { path.to_owned() };
    name.extension().is_some_and(|extension| extension == "jsonl")
}

/// Reads the description of a thread, which is the first line. If it is damaged or missing, the name of the file has the
/// id of the thread. `None` for a file that is no rollout.
fn read_head(path: &Path) -> Result<Option<Rollout>, HistoryError> {
    let named = thread_id_in_name(path);
    let mut rollout = Rollout { path: path.to_owned(), ..Rollout::default() };
    rollout.length = path.metadata().map(|metadata| metadata.len()).unwrap_or_default();
    let mut reader = RecordReader::open(path)?;
    for _ in 0..MAX_HEAD_LINES {
        let Some(record) = reader.next() else { break };
        let Ok(record) = record.text else { continue };
        let Ok(line) = Line::parse(&record) else { continue };
        rollout.starts_at = rollout.starts_at.or(time(line.timestamp));
        let payload: Payload<'_> = decode(line.payload);
        let owned = |field| text(field).map(std::borrow::Cow::into_owned);
        match text(line.kind).as_deref() {
            Some("session_meta") => {
                let Some(thread_id) = owned(payload.id) else { continue };
                // A fork of an older version has a copy of its parent's description.
                if named.as_ref().is_some_and(|named| *named != thread_id) {
                    continue;
                }
                let source: Source<'_> = decode(payload.source);
                rollout.thread_id = thread_id;
                rollout.parent = owned(payload.parent_thread_id).or_else(|| source.parent());
                rollout.forked_from = owned(payload.forked_from_id);
                rollout.version = owned(payload.cli_version);
                rollout.cwd = owned(payload.cwd);
                rollout.model_provider = owned(payload.model_provider);
                rollout.starts_at = time(line.timestamp);
                rollout.kind = source.kind();
                return Ok(Some(rollout));
            }
            Some("turn_context") if rollout.cwd.is_none() => rollout.cwd = owned(payload.cwd),
            _ => {}
        }
    }
    Ok(named.map(|thread_id| Rollout { thread_id, ..rollout }))
}

/// The id of the thread in the name of its file: `rollout-<time>-<thread>.jsonl`.
fn thread_id_in_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_prefix("rollout-")?.split('.').next()?;
    let id = stem.get(stem.len().checked_sub(UUID_LENGTH)?..)?;
    let is_uuid = id.bytes().enumerate().all(|(index, byte)| match index {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    is_uuid.then(|| id.to_owned())
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

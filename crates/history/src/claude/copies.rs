//! Lines that were copied from another session: when a session was forked, or resumed by a version before 2.0.
//!
//! A fork keeps the ids of the lines. Versions before 2.0 give the copies new ids; then the ids of the messages and the
//! texts show what was copied.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use foldhash::{HashMap, HashSet};
use interlingua_schema::Timestamp;

use super::line::{Line, LineKind};
use super::scan::{Entry, MAX_HEAD_LINES, Scan, scan_entries};
use super::sub_agents::{FlatAgents, is_agent_file};
use crate::HistoryError;
use crate::json::{hash, text, time};
use crate::record_reader::RecordReader;

/// Name of the folder with the project folders.
const PROJECTS_FOLDER: &str = "projects";

/// What a session file contains of other sessions.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Hashes of the ids of copied lines.
    pub(super) lines: HashSet<u64>,
    /// The session that they were copied from.
    pub(super) from: Option<String>,
}

/// A session file, by its beginning.
#[derive(Debug)]
struct IndexedFile {
    path: PathBuf,
    session_id: String,
    /// Hash of the id of the first line of the conversation, which forks share.
    first_line: u64,
    /// Time of the first line that is not part of the conversation. Such lines are not copied.
    created_at: Option<Timestamp>,
    /// A version before 2.1 wrote it, so another session may have been resumed from it under new ids.
    is_old: bool,
}

/// The session files of all project folders.
#[derive(Debug, Default)]
pub(super) struct SessionIndex {
    files: Vec<IndexedFile>,
    by_first_line: HashMap<u64, Vec<usize>>,
    by_session: HashMap<String, Vec<usize>>,
    /// The file with each line of old versions, by the hash of the line's id.
    lines: OnceLock<HashMap<u64, usize>>,
    /// The files of sub-agents beside the session files.
    agent_files: Vec<PathBuf>,
    agents: OnceLock<FlatAgents>,
}

/// The folder whose session files may have lines in common with a file: all project folders, or the folder of the file.
pub(super) fn index_root(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let projects = folder.parent().filter(|parent| parent.file_name().is_some_and(|name| name == PROJECTS_FOLDER));
    projects.unwrap_or(folder).to_owned()
}

impl SessionIndex {
    /// Reads the beginnings of the session files below [a root](index_root). A file that cannot be read is reported when
    /// it is converted.
    pub(super) fn load(root: &Path) -> Self {
        let mut paths = entries(root);
        if root.file_name().is_some_and(|name| name == PROJECTS_FOLDER) {
            let folders: Vec<PathBuf> = paths.iter().filter(|path| path.is_dir()).cloned().collect();
            paths.extend(folders.iter().flat_map(|folder| entries(folder)));
        }
        let mut index = Self::default();
        for file in paths.iter().filter(|path| is_session_file(path)).filter_map(|path| read_beginning(path)) {
            let position = index.files.len();
            index.by_first_line.entry(file.first_line).or_default().push(position);
            index.by_session.entry(file.session_id.clone()).or_default().push(position);
            index.files.push(file);
        }
        index.agent_files = paths.into_iter().filter(|path| is_agent_file(path)).collect();
        index
    }

    /// The sub-agents whose files are beside the session files.
    pub(super) fn flat_agents(&self) -> &FlatAgents {
        self.agents.get_or_init(|| FlatAgents::load(&self.agent_files))
    }

    /// Finds the lines of a session file that were copied from others.
    pub(super) fn find_copies(&self, session_id: &str, own: &Scan, path: &Path) -> Result<Copies, HistoryError> {
        let mut copies = Copies::default();
        let mut own_entries: Option<Vec<Entry>> = None;
        let mut most_copied = 0;
        for other in self.related(session_id, own) {
            let own_entries = match &mut own_entries {
                Some(entries) => entries,
                none => none.insert(scan_entries(path, session_id)?.entries),
            };
            let Ok(theirs) = scan_entries(&other.path, &other.session_id) else { continue };
            let is_named = own.named_sessions.contains(&other.session_id);
            let names_this = theirs.named_sessions.iter().any(|named| named == session_id);
            if !is_named && (names_this || !Self::is_older(other, &theirs.entries, session_id, own, own_entries)) {
                continue;
            }
            let ids: HashSet<u64> = theirs.entries.iter().map(|entry| entry.id).collect();
            let shared: Vec<u64> = own_entries.iter().map(|entry| entry.id).filter(|id| ids.contains(id)).collect();
            if shared.len() > most_copied {
                most_copied = shared.len();
                copies.from = Some(other.session_id.clone());
            }
            copies.lines.extend(shared);
        }
        // The last session that is named is the parent. It may be gone; then its lines are only here, and are shown.
        if let Some(parent) = own.named_sessions.last() {
            copies.from = Some(parent.clone());
        }
        if copies.from.is_none() {
            self.find_resumed(session_id, own, path, &mut copies)?;
        }
        Ok(copies)
    }

    /// The other files that begin with the same line, or whose sessions the file names.
    fn related(&self, session_id: &str, own: &Scan) -> Vec<&IndexedFile> {
        let same_start = own.first_entry.and_then(|first| self.by_first_line.get(&first));
        let named = own.named_sessions.iter().filter_map(|session| self.by_session.get(session));
        let mut positions: Vec<usize> = same_start.into_iter().chain(named).flatten().copied().collect();
        positions.sort_unstable();
        positions.dedup();
        let files = positions.into_iter().filter_map(|position| self.files.get(position));
        files.filter(|file| file.session_id != session_id).collect()
    }

    /// Whether another session is older than this one, with which it shares lines.
    fn is_older(other: &IndexedFile, theirs: &[Entry], session_id: &str, own: &Scan, own_entries: &[Entry]) -> bool {
        match (other.created_at, own.created_at) {
            (Some(other), Some(own)) if other != own => other < own,
            _ => has_older_line(theirs, own_entries).unwrap_or_else(|| other.session_id.as_str() < session_id),
        }
    }

    /// Finds the session that a version before 2.0 resumed: the file begins with the title of that session, which names
    /// its last message.
    fn find_resumed(&self, session_id: &str, own: &Scan, path: &Path, copies: &mut Copies) -> Result<(), HistoryError> {
        let is_old = own.version.as_deref().is_some_and(is_before_2_1);
        if own.summary_leaves.is_empty() || !is_old {
            return Ok(());
        }
        let lines = self.lines.get_or_init(|| self.index_lines());
        let parents = own.summary_leaves.iter().filter_map(|leaf| self.files.get(*lines.get(&hash(leaf.as_str()))?));
        let mut own_entries: Option<Vec<Entry>> = None;
        for parent in parents.filter(|parent| parent.session_id != session_id) {
            let own_entries = match &mut own_entries {
                Some(entries) => entries,
                none => none.insert(scan_entries(path, session_id)?.entries),
            };
            let theirs = scan_entries(&parent.path, &parent.session_id)?;
            let prefix = copied_prefix(&theirs.entries, own_entries);
            if !prefix.is_empty() {
                copies.lines.extend(prefix);
                copies.from = Some(parent.session_id.clone());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads the ids of all lines of old versions.
    fn index_lines(&self) -> HashMap<u64, usize> {
        let mut lines = HashMap::default();
        for (position, file) in self.files.iter().enumerate().filter(|(_, file)| file.is_old) {
            let Ok(mut reader) = RecordReader::open(&file.path) else { continue };
            while let Some(record) = reader.next() {
                if let Ok(record) = record.text
                    && let Ok(line) = Line::parse(&record)
                    && let Some(id) = line.id()
                {
                    lines.insert(id, position);
                }
            }
        }
        lines
    }
}

/// Whether a version writes old sessions again when it resumes them. The first release that does not is in 2.0.
fn is_before_2_1(version: &str) -> bool {
    version.starts_with("0.") || version.starts_with("1.") || version.starts_with("2.0.")
}

/// The first entries that repeat entries of the parent in the same order. Some entries of the parent may be missing.
fn copied_prefix(parent: &[Entry], own: &[Entry]) -> Vec<u64> {
    let mut position = 0;
    let mut copied = Vec::new();
    for entry in own {
        let rest = parent.get(position..).unwrap_or_default();
        let Some(found) = rest.iter().position(|candidate| candidate.content == entry.content) else { break };
        position += found;
        copied.push(entry.id);
    }
    copied
}

/// Whether the first line that only the other session has is older than the first that only this one has. A session
/// without such a line is older: it ended where the other was forked. `None` if neither has one, or at the same time.
fn has_older_line(theirs: &[Entry], own: &[Entry]) -> Option<bool> {
    let first_alone = |entries: &[Entry], shared: &[Entry]| -> Option<Option<Timestamp>> {
        let shared: HashSet<u64> = shared.iter().map(|entry| entry.id).collect();
        entries.iter().find(|entry| !shared.contains(&entry.id)).map(|entry| entry.time)
    };
    match (first_alone(theirs, own), first_alone(own, theirs)) {
        (None, Some(_)) => Some(true),
        (Some(_), None) => Some(false),
        (Some(theirs), Some(own)) if theirs != own => Some(theirs < own),
        _ => None,
    }
}

/// The entries of a folder, in the order of their names. None if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// Whether a path has the name of a session file.
pub(crate) fn is_session_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.extension().is_some_and(|extension| extension == "jsonl") && !name.starts_with("agent-")
}

/// The session that a file belongs to. Lines may name another one, in a fork.
pub(crate) fn session_id_of(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Reads a session file up to the first line of the conversation; `None` if it has none.
fn read_beginning(path: &Path) -> Option<IndexedFile> {
    let mut reader = RecordReader::open(path).ok()?;
    let mut created_at = None;
    for _ in 0..MAX_HEAD_LINES {
        let Some(record) = reader.next() else { break };
        let Ok(record) = record.text else { continue };
        let Ok(line) = Line::parse(&record) else { continue };
        if line.uuid.is_none() {
            created_at = created_at.or(time(line.timestamp));
        }
        if matches!(line.kind(), LineKind::User | LineKind::Assistant)
            && !line.is_side_chain()
            && let Some(first_line) = line.id()
        {
            let is_old = text(line.version).is_some_and(|version| is_before_2_1(&version));
            let session_id = session_id_of(path);
            return Some(IndexedFile { path: path.to_owned(), session_id, first_line, created_at, is_old });
        }
    }
    None
}

//! Lines that were copied from another session: when a session was forked, or resumed by a version before 2.0.
//!
//! A fork keeps the ids of the lines. Versions before 2.0 give the copies new ids; then the ids of the messages and the
//! texts show what was copied.

use std::fs;
use std::path::{Path, PathBuf};

use foldhash::HashSet;
use interlingua_schema::Timestamp;

use super::line::{Line, LineKind};
use super::scan::{Entry, Scan, scan};
use crate::HistoryError;
use crate::record_reader::RecordReader;

/// What a session file contains of other sessions.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Hashes of the ids of copied lines.
    pub(super) lines: HashSet<u64>,
    /// The session that they were copied from.
    pub(super) from: Option<String>,
}

/// A session file of a project folder.
#[derive(Debug)]
struct Sibling {
    path: PathBuf,
    session_id: String,
    /// Hash of the id of the first line of the conversation, which forks share.
    first_line: u64,
}

/// The session files of one project folder.
#[derive(Debug, Default)]
pub(super) struct Project {
    siblings: Vec<Sibling>,
}

impl Project {
    /// Reads the beginnings of the session files in a folder.
    pub(super) fn load(folder: &Path) -> Result<Self, HistoryError> {
        let mut siblings = Vec::new();
        for path in session_files(folder)? {
            // A file that cannot be read is reported when it is converted.
            if let Ok(Some(first_line)) = first_conversation_line(&path) {
                let session_id = session_id_of(&path);
                siblings.push(Sibling { path, session_id, first_line });
            }
        }
        Ok(Self { siblings })
    }

    /// Finds the lines of a session file that were copied from others.
    pub(super) fn find_copies(&self, path: &Path, session_id: &str, own: &Scan) -> Result<Copies, HistoryError> {
        let mut copies = Copies::default();
        let first_line = own.entries.first().map(|entry| entry.id);
        for sibling in self.siblings.iter().filter(|sibling| sibling.path != path) {
            let is_named = own.named_sessions.contains(&sibling.session_id);
            if !is_named && Some(sibling.first_line) != first_line {
                continue;
            }
            let other = scan(&sibling.path, &sibling.session_id)?;
            if is_named || is_older(&other.entries, &own.entries, &sibling.session_id, session_id) {
                let ids: HashSet<u64> = other.entries.iter().map(|entry| entry.id).collect();
                let shared = own.entries.iter().filter(|entry| ids.contains(&entry.id)).map(|entry| entry.id);
                let before = copies.lines.len();
                copies.lines.extend(shared);
                if is_named || copies.lines.len() > before {
                    copies.from = Some(sibling.session_id.clone());
                }
            }
        }
        // The parent may be gone. Then its lines are only here, and are shown.
        if copies.from.is_none() {
            copies.from = own.named_sessions.last().cloned();
        }
        if copies.from.is_none() {
            self.find_resumed(path, own, &mut copies)?;
        }
        Ok(copies)
    }

    /// Finds the session that a version before 2.0 resumed: the file begins with the title of that session, which names
    /// its last message.
    fn find_resumed(&self, path: &Path, own: &Scan, copies: &mut Copies) -> Result<(), HistoryError> {
        for leaf in &own.summary_leaves {
            let finder = memchr::memmem::Finder::new(leaf.as_bytes());
            for sibling in self.siblings.iter().filter(|sibling| sibling.path != path) {
                if !contains_as_id(&sibling.path, &finder)? {
                    continue;
                }
                let parent = scan(&sibling.path, &sibling.session_id)?;
                let prefix = copied_prefix(&parent.entries, &own.entries);
                if !prefix.is_empty() {
                    copies.lines.extend(prefix);
                    copies.from = Some(sibling.session_id.clone());
                    return Ok(());
                }
            }
        }
        Ok(())
    }
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

/// Whether a session is older than another one that shares lines with it: its first own line is, or it has none.
fn is_older(other: &[Entry], own: &[Entry], other_id: &str, own_id: &str) -> bool {
    let first_alone = |entries: &[Entry], shared: &[Entry]| -> Option<Option<Timestamp>> {
        let shared: HashSet<u64> = shared.iter().map(|entry| entry.id).collect();
        entries.iter().find(|entry| !shared.contains(&entry.id)).map(|entry| entry.time)
    };
    match (first_alone(other, own), first_alone(own, other)) {
        (None, Some(_)) => true,
        (Some(_), None) => false,
        (Some(other), Some(own)) if other != own => other < own,
        _ => other_id < own_id,
    }
}

/// The session files of a project folder. Files of sub-agents are not among them.
pub(super) fn session_files(folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(HistoryError::read(folder))? {
        let path = entry.map_err(HistoryError::read(folder))?.path();
        if is_session_file(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
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

fn first_conversation_line(path: &Path) -> Result<Option<u64>, HistoryError> {
    let mut reader = RecordReader::open(path)?;
    while let Some(record) = reader.next()? {
        if let Ok(record) = record.text
            && let Ok(line) = Line::parse(&record)
            && matches!(line.kind(), LineKind::User | LineKind::Assistant)
            && !line.is_side_chain()
            && let Some(id) = line.id()
        {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Whether a file contains the id of a line, other than in a title.
fn contains_as_id(path: &Path, finder: &memchr::memmem::Finder<'_>) -> Result<bool, HistoryError> {
    let mut reader = RecordReader::open(path)?;
    while let Some(record) = reader.next()? {
        if let Ok(record) = record.text
            && finder.find(record.as_bytes()).is_some()
            && Line::parse(&record).is_ok_and(|line| line.kind() != LineKind::Summary)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

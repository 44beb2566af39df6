//! Notices which sessions have changed while agents write them.
//!
//! Of each file of a session, the position after the last complete line is kept. A session has changed when one of its
//! files has a line break after that position, or is another file or a shorter one than before.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use interlingua_agents::Agent;

use crate::record_reader::is_compressed;
use crate::{HistoryFormat, HistoryReader, HistorySession};

/// A session is looked at again after this many times the time that it took to read it.
const PAUSE_FACTOR: u32 = 5;

/// Notices which sessions have changed since they were read.
#[derive(Debug, Default)]
pub struct Follower {
    sessions: HashMap<(Agent, String), Followed>,
}

/// A session as it was read.
#[derive(Debug)]
struct Followed {
    files: FollowedFiles,
    /// The end of the last turn was left out.
    is_open: bool,
    /// The session is not looked at before this time.
    next_look: Instant,
}

/// The files of a session, as they are at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowedFiles(Vec<(PathBuf, Option<FileStamp>)>);

/// What changes when a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    /// Position after the last complete line, or the length of a file that has no lines.
    position: u64,
    /// Time of modification of a file that has no lines.
    modified: Option<SystemTime>,
    /// Tells a file from another one with the same name.
    inode: u64,
}

impl Follower {
    /// A follower that knows no session.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The files of a session now, if it has to be read: it has changed, or the end of its last turn was left out.
    pub fn changed(&self, reader: &HistoryReader, session: &HistorySession) -> Option<FollowedFiles> {
        let known = self.sessions.get(&key(session));
        if known.is_some_and(|known| Instant::now() < known.next_look) {
            return None;
        }
        let files = FollowedFiles::read(reader, session, known.map(|known| &known.files));
        known.is_none_or(|known| known.is_open || known.files != files).then_some(files)
    }

    /// Notes that a session was read when its files were these. `is_open`: the end of its last turn was left out. `took`: how
    /// long it took.
    pub fn note(&mut self, session: &HistorySession, files: FollowedFiles, is_open: bool, took: Duration) {
        let next_look = Instant::now() + took * PAUSE_FACTOR;
        self.sessions.insert(key(session), Followed { files, is_open, next_look });
    }

    /// Whether the end of the last turn of a session was left out.
    #[must_use]
    pub fn is_open(&self, session: &HistorySession) -> bool {
        self.sessions.get(&key(session)).is_some_and(|known| known.is_open)
    }
}

fn key(session: &HistorySession) -> (Agent, String) {
    (session.agent(), session.native_session_id.clone())
}

impl FollowedFiles {
    fn read(reader: &HistoryReader, session: &HistorySession, known: Option<&Self>) -> Self {
        let has_lines = matches!(session.format, HistoryFormat::ClaudeLines | HistoryFormat::CodexRollout);
        let mut files = vec![session.path.clone()];
        for path in reader.side_files(session) {
            if path.is_dir() {
                files.extend(entries(&path));
            }
            files.push(path);
        }
        let stamp = |path: PathBuf| {
            let before = known.and_then(|known| known.0.iter().find(|(other, _)| *other == path)?.1);
            let stamp = FileStamp::read(&path, has_lines && !is_compressed(&path), before);
            (path, stamp)
        };
        Self(files.into_iter().map(stamp).collect())
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

impl FileStamp {
    /// `None` if the file does not exist.
    fn read(path: &Path, has_lines: bool, before: Option<Self>) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        let (length, inode) = (metadata.len(), inode(&metadata));
        if !has_lines || metadata.is_dir() {
            return Some(Self { position: length, modified: metadata.modified().ok(), inode });
        }
        // Of a file that has grown, only the new bytes are read.
        let start = before.filter(|before| before.inode == inode && before.position <= length);
        let start = start.map_or(0, |before| before.position);
        let position = last_line_end(path, start, length).unwrap_or(length);
        Some(Self { position, modified: None, inode })
    }
}

/// The position after the last line break after `start`, or `start` if there is none.
fn last_line_end(path: &Path, start: u64, length: u64) -> std::io::Result<u64> {
    const BLOCK_BYTES: u64 = 1 << 16;
    let mut file = File::open(path)?;
    let mut end = length;
    let mut block = Vec::new();
    while end > start {
        let begin = end.saturating_sub(BLOCK_BYTES).max(start);
        file.seek(SeekFrom::Start(begin))?;
        block.clear();
        (&mut file).take(end - begin).read_to_end(&mut block)?;
        if let Some(index) = memchr::memrchr(b'\n', &block) {
            return Ok(begin + index as u64 + 1);
        }
        end = begin;
    }
    Ok(start)
}

#[cfg(unix)]
fn inode(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &std::fs::Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_has_changed_when_it_has_another_complete_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let stamp = |before| FileStamp::read(&path, true, before);
        assert_eq!(stamp(None), None);
        fs::write(&path, "one\n").unwrap();
        let first = stamp(None);
        fs::write(&path, "one\ntw").unwrap();
        assert_eq!(stamp(first), first);
        fs::write(&path, "one\ntwo\n").unwrap();
        let second = stamp(first);
        assert_ne!(second, first);
        fs::write(&path, "one\n").unwrap();
        assert_ne!(stamp(second), second);
        fs::write(folder.path().join("other"), "one\ntwo\n").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        assert_ne!(stamp(second), second);
    }
}

//! Unpacking tar archives.

use std::io::{self, Read};
use std::time::{Duration, SystemTime};

use tar::{Archive, Entry, EntryType};

use super::beneath::Links;
use super::error::FileError;
use super::folder::Folder;
use super::relative_path::RelativePath;

/// Maximum number of paths in the answer.
const MAX_LISTED: usize = 1024;

/// How a file that is compressed with gzip begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Permissions that every unpacked file has: its owner can read and write it.
const OWNER_MODE: u32 = 0o600;

/// What was unpacked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unpacked {
    /// Paths relative to the directory of the archive.
    pub(super) paths: Vec<RelativePath>,
    /// Whether there are more.
    pub(super) is_truncated: bool,
}

/// Unpacks an archive into a directory. No entry is written through a symbolic link, whether it is in the archive or was
/// there before.
pub(super) fn unpack(folder: &Folder, directory: &RelativePath, mut archive: impl Read) -> Result<Unpacked, FileError> {
    let mut start = Vec::new();
    archive.by_ref().take(GZIP.len() as u64).read_to_end(&mut start).map_err(|error| invalid(&error))?;
    if start == GZIP {
        return Err(FileError::refused("the archive is compressed; send it as it is, without gzip"));
    }
    drop(folder.create_folders(directory, Links::Follow)?);
    let folder = folder.open_below(directory)?;
    let mut archive = Archive::new(start.as_slice().chain(archive));
    let mut unpacked = Unpacked::default();
    for entry in archive.entries().map_err(|error| invalid(&error))? {
        let mut entry = entry.map_err(|error| invalid(&error))?;
        if entry.header().entry_type() == EntryType::XGlobalHeader {
            continue;
        }
        let path = parse_path(&entry.path_bytes(), "the path of an entry")?;
        if path.is_empty() {
            continue;
        }
        unpack_entry(&folder, &path, &mut entry)?;
        if unpacked.paths.len() < MAX_LISTED {
            unpacked.paths.push(path);
        } else {
            unpacked.is_truncated = true;
        }
    }
    Ok(unpacked)
}

fn unpack_entry<R: Read>(folder: &Folder, path: &RelativePath, entry: &mut Entry<'_, R>) -> Result<(), FileError> {
    match entry.header().entry_type() {
        EntryType::Directory => folder.create_folders(path, Links::Refuse).map(drop),
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => unpack_file(folder, path, entry),
        EntryType::Symlink => {
            let target = link_target(entry)?;
            refuse_outside(path, &target)?;
            folder.create_link(path, &target, Links::Refuse)
        }
        EntryType::Link => {
            let target = parse_path(link_target(entry)?.as_bytes(), "the target of a hard link")?;
            folder.create_hard_link(path, &target, Links::Refuse)
        }
        kind => {
            let name = match kind {
                EntryType::Char | EntryType::Block => "a device",
                EntryType::Fifo => "a pipe",
                _ => "of an unknown type",
            };
            Err(FileError::refused(format!("cannot unpack {path}: it is {name}")))
        }
    }
}

fn unpack_file<R: Read>(folder: &Folder, path: &RelativePath, entry: &mut Entry<'_, R>) -> Result<(), FileError> {
    let failed = |error: io::Error| FileError::io(&format!("unpack {path}"), &error);
    let mode = entry.header().mode().map_err(|error| invalid(&error))?;
    let modified = entry.header().mtime().ok();
    let mut file = folder.create_file(path, Links::Refuse)?;
    io::copy(entry, file.file()).map_err(failed)?;
    file.set_permissions(mode | OWNER_MODE).map_err(failed)?;
    if let Some(time) = modified.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))) {
        // A time that the file system cannot store does not matter.
        let _ = file.file().set_modified(time);
    }
    file.commit()
}

fn link_target<R: Read>(entry: &Entry<'_, R>) -> Result<String, FileError> {
    let target = entry.link_name_bytes().ok_or_else(|| FileError::refused("a link of the archive has no target"))?;
    let target = std::str::from_utf8(&target).map_err(|_| FileError::refused("the target of a link is not UTF-8"))?;
    Ok(target.to_owned())
}

fn parse_path(path: &[u8], what: &str) -> Result<RelativePath, FileError> {
    let text = std::str::from_utf8(path).map_err(|_| FileError::refused(format!("{what} is not UTF-8")))?;
    RelativePath::parse(text)
}

/// Refuses a symbolic link whose target is not below the directory of the archive.
fn refuse_outside(path: &RelativePath, target: &str) -> Result<(), FileError> {
    let escape = || FileError::escape(format!("the link {path} leads out of the directory, to {target}"));
    if target.starts_with('/') {
        return Err(escape());
    }
    // Number of folders between the directory and the place to which the target leads so far.
    let mut depth = path.len() - 1;
    for component in target.split('/') {
        match component {
            "" | "." => {}
            ".." => depth = depth.checked_sub(1).ok_or_else(escape)?,
            _ => depth += 1,
        }
    }
    Ok(())
}

fn invalid(error: &io::Error) -> FileError {
    match error.raw_os_error() {
        Some(_) => FileError::io("read the archive", error),
        None => FileError::refused(format!("the body is not a tar archive: {error}")),
    }
}

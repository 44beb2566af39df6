//! Operations on the files below a folder. No path leads out of it.

use std::fs::{File, Permissions};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fchmod, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::beneath::{Links, Resolver, path_flag};
use super::error::FileError;
use super::relative_path::RelativePath;

/// Permissions of new folders, before the process's mask.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);

/// Permissions of new files, before the process's mask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// Permissions that a file may have. The bits that let a program run as another user are not among them.
const PERMISSIONS: Mode = Mode::from_raw_mode(0o777);

/// Maximum depth of folders that are deleted together. Each level needs an open file.
const MAX_DELETE_DEPTH: usize = 256;

/// An open folder that paths stay in.
#[derive(Debug)]
pub(super) struct Folder {
    folder: OwnedFd,
    resolver: Resolver,
}

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Directory,
    /// A link that leads to nothing, or out of the folder.
    Link,
    /// A device, pipe or socket.
    Other,
}

/// What is known about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    pub(super) kind: EntryKind,
    pub(super) size: u64,
    pub(super) modified: Option<SystemTime>,
}

impl Metadata {
    fn new(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Other,
        };
        #[allow(clippy::useless_conversion, reason = "the systems have different types")]
        let nanos = u64::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let modified = u64::try_from(stat.st_mtime)
            .ok()
            .map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(nanos));
        Self { kind, size: u64::try_from(stat.st_size).unwrap_or_default(), modified }
    }
}

impl Folder {
    /// Opens a folder. Its path may have links, because the server's operator or the creator of a session chose it.
    pub(super) fn open(path: &Path) -> Result<Self, FileError> {
        let flags = path_flag() | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty());
        let folder = folder.map_err(|error| FileError::io(&format!("open {}", path.display()), &error.into()))?;
        let folder = Self { folder, resolver: Resolver::detect() };
        refuse_system_files(&folder.folder, &path.display().to_string())?;
        Ok(folder)
    }

    /// Opens a folder in this one. Paths then stay in the inner one.
    pub(super) fn open_below(&self, path: &RelativePath) -> Result<Self, FileError> {
        let folder = self.open_folder(path, Links::Follow);
        let folder = folder.map_err(|error| FileError::io(&format!("open {path}"), &error))?;
        Ok(Self { folder, resolver: self.resolver })
    }

    #[cfg(test)]
    pub(super) fn with_resolver(self, resolver: Resolver) -> Self {
        Self { resolver, ..self }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    fn open_at(&self, path: &RelativePath, flags: OFlags, links: Links) -> io::Result<OwnedFd> {
        self.resolver.open(self.fd(), path, flags, Mode::empty(), links)
    }

    fn open_folder(&self, path: &RelativePath, links: Links) -> io::Result<OwnedFd> {
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY, links)
    }

    /// Opens the folder that contains an entry.
    fn open_parent<'a>(&self, path: &'a RelativePath, action: &str) -> Result<(OwnedFd, &'a str), FileError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(FileError::refused(format!("cannot {action} the directory itself")));
        };
        let parent = self.open_folder(&parent, Links::Follow);
        Ok((parent.map_err(|error| FileError::io(&format!("{action} {path}"), &error))?, name))
    }

    /// What an entry is. A link is followed, unless it leads out of the folder or to nothing.
    pub(super) fn metadata(&self, path: &RelativePath) -> Result<Metadata, FileError> {
        let action = format!("read {path}");
        if path.is_empty() {
            let stat = fstat(self.fd()).map_err(|error| FileError::io(&action, &error.into()))?;
            return Ok(Metadata::new(&stat));
        }
        let (parent, name) = self.open_parent(path, "read")?;
        let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|error| FileError::io(&action, &error.into()))?;
        Ok(self.follow(path, Metadata::new(&stat)))
    }

    /// What a link leads to; the entry itself if it is no link.
    fn follow(&self, path: &RelativePath, metadata: Metadata) -> Metadata {
        if metadata.kind != EntryKind::Link {
            return metadata;
        }
        let target = self.open_at(path, path_flag() | OFlags::RDONLY, Links::Follow);
        let stat = target.ok().and_then(|target| fstat(target).ok());
        stat.map_or(metadata, |stat| Metadata::new(&stat))
    }

    /// The entries of a folder, by name.
    pub(super) fn entries(&self, path: &RelativePath) -> Result<Vec<(String, Metadata)>, FileError> {
        let action = format!("list {path}");
        let failed = |error: io::Error| FileError::io(&action, &error);
        let folder = self.open_folder(path, Links::Follow).map_err(failed)?;
        refuse_system_files(&folder, &path.to_string())?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&folder).map_err(|error| failed(error.into()))? {
            let entry = entry.map_err(|error| failed(error.into()))?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            // An entry that is gone meanwhile is left out.
            let Ok(stat) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let name = name.to_string_lossy().into_owned();
            let metadata = self.follow(&path.join(&name), Metadata::new(&stat));
            entries.push((name, metadata));
        }
        entries.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        Ok(entries)
    }

    /// Opens a file for reading. Returns its size too.
    pub(super) fn read(&self, path: &RelativePath) -> Result<(File, u64), FileError> {
        // A device is not even opened, because that may change it.
        refuse_other_than_file(path, self.metadata(path)?.kind)?;
        let failed = |error: io::Error| FileError::io(&format!("read {path}"), &error);
        let file = self.open_at(path, OFlags::RDONLY, Links::Follow).map_err(failed)?;
        refuse_system_files(&file, &path.to_string())?;
        let stat = fstat(&file).map_err(|error| failed(error.into()))?;
        let metadata = Metadata::new(&stat);
        refuse_other_than_file(path, metadata.kind)?;
        Ok((File::from(file), metadata.size))
    }

    /// Creates a folder and those that contain it. Those that exist are kept.
    pub(super) fn create_folders(&self, path: &RelativePath, links: Links) -> Result<OwnedFd, FileError> {
        let failed = |error: io::Error| FileError::io(&format!("create the directory {path}"), &error);
        let mut current = self.open_folder(&RelativePath::default(), links).map_err(failed)?;
        for (index, name) in path.components().enumerate() {
            // Resolved from the outermost folder, because a link may lead to a folder beside it.
            let prefix = path.prefix(index + 1);
            current = match self.open_folder(&prefix, links) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match mkdirat(&current, name, FOLDER_MODE) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(failed(error.into())),
                    }
                    self.open_folder(&prefix, links).map_err(failed)?
                }
                opened => opened.map_err(failed)?,
            };
        }
        refuse_system_files(&current, &path.to_string())?;
        Ok(current)
    }

    /// Starts to write a file. Folders that contain it are created. The file appears, or replaces another one, when it is
    /// [committed](NewFile::commit).
    pub(super) fn create_file(&self, path: &RelativePath, links: Links) -> Result<NewFile, FileError> {
        let Some((parent, name)) = path.split_last() else {
            return Err(FileError::refused("expected the path of a file, found the directory itself"));
        };
        let folder = self.create_folders(&parent, links)?;
        let failed = |error: Errno| FileError::io(&format!("write {path}"), &error.into());
        let replaced = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(stat) = &replaced {
            match Metadata::new(stat).kind {
                EntryKind::Link => {
                    let detail =
                        format!("{path} is a symbolic link; write to the file that it leads to, or delete the link");
                    return Err(FileError::refused(detail));
                }
                kind => refuse_other_than_file(path, kind)?,
            }
        }
        let temporary = temporary_name().map_err(|error| FileError::io(&format!("write {path}"), &error))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&folder, &temporary, flags, FILE_MODE).map_err(failed)?;
        let new = NewFile { folder, temporary, name: name.to_owned(), file: File::from(file), is_committed: false };
        if let Some(stat) = replaced {
            fchmod(&new.file, Mode::from_raw_mode(stat.st_mode) & PERMISSIONS).map_err(failed)?;
        }
        Ok(new)
    }

    /// Deletes a file, a link or a folder. A folder that is not empty only if `recursive`.
    pub(super) fn delete(&self, path: &RelativePath, recursive: bool) -> Result<(), FileError> {
        let (parent, name) = self.open_parent(path, "delete")?;
        refuse_system_files(&parent, &path.to_string())?;
        let failed = |error: Errno| FileError::io(&format!("delete {path}"), &error.into());
        let stat = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let deleted = match Metadata::new(&stat).kind {
            EntryKind::Directory if recursive => delete_tree(parent.as_fd(), name.as_bytes(), 0),
            EntryKind::Directory => unlinkat(&parent, name, AtFlags::REMOVEDIR),
            _ => unlinkat(&parent, name, AtFlags::empty()),
        };
        deleted.map_err(failed)
    }

    /// Moves an entry. An existing file, or an empty folder, is replaced only if `overwrite`.
    pub(super) fn rename(&self, from: &RelativePath, to: &RelativePath, overwrite: bool) -> Result<(), FileError> {
        let (source, source_name) = self.open_parent(from, "move")?;
        let Some((parent, name)) = to.split_last() else {
            return Err(FileError::refused("cannot replace the directory itself"));
        };
        let failed = |error: Errno| match error {
            Errno::XDEV => {
                FileError::refused(format!("cannot move {from} to {to}: they are on different file systems"))
            }
            Errno::NOTEMPTY => FileError::refused(format!("cannot move {from} to {to}: that directory is not empty")),
            error => FileError::io(&format!("move {from} to {to}"), &error.into()),
        };
        // The error names the source if it is the source that is missing.
        statat(&source, source_name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| FileError::io(&format!("move {from}"), &error.into()))?;
        let target = self.create_folders(&parent, Links::Follow)?;
        refuse_system_files(&source, &from.to_string())?;
        if overwrite {
            return rustix::fs::renameat(&source, source_name, &target, name).map_err(failed);
        }
        rename_without_replacing(source.as_fd(), source_name, target.as_fd(), name).map_err(failed)
    }

    /// Creates a symbolic link to a target that is relative to the folder of the link.
    pub(super) fn create_link(&self, path: &RelativePath, target: &str, links: Links) -> Result<(), FileError> {
        let failed = |error: Errno| FileError::io(&format!("create the link {path}"), &error.into());
        let Some((parent, name)) = path.split_last() else {
            return Err(FileError::refused("cannot replace the directory itself by a link"));
        };
        let folder = self.create_folders(&parent, links)?;
        match rustix::fs::symlinkat(target, &folder, name) {
            Err(Errno::EXIST) => {
                // A folder is not replaced: `unlinkat` refuses it.
                unlinkat(&folder, name, AtFlags::empty()).map_err(failed)?;
                rustix::fs::symlinkat(target, &folder, name).map_err(failed)
            }
            result => result.map_err(failed),
        }
    }

    /// Gives a file a second name.
    pub(super) fn create_hard_link(
        &self,
        path: &RelativePath,
        target: &RelativePath,
        links: Links,
    ) -> Result<(), FileError> {
        let failed = |error: Errno| FileError::io(&format!("link {path} to {target}"), &error.into());
        let (Some((parent, name)), Some((target_parent, target_name))) = (path.split_last(), target.split_last())
        else {
            return Err(FileError::refused("cannot link the directory itself"));
        };
        let source = self.open_folder(&target_parent, links);
        let source = source.map_err(|error| FileError::io(&format!("link {path} to {target}"), &error))?;
        let stat = statat(&source, target_name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        refuse_other_than_file(target, Metadata::new(&stat).kind)?;
        let folder = self.create_folders(&parent, links)?;
        let link = || rustix::fs::linkat(&source, target_name, &folder, name, AtFlags::empty());
        match link() {
            Err(Errno::EXIST) => {
                unlinkat(&folder, name, AtFlags::empty()).map_err(failed)?;
                link().map_err(failed)
            }
            result => result.map_err(failed),
        }
    }
}

/// A file that is being written. It is removed when this is dropped before it was committed.
#[derive(Debug)]
pub(super) struct NewFile {
    folder: OwnedFd,
    temporary: String,
    name: String,
    file: File,
    is_committed: bool,
}

impl NewFile {
    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Sets the permissions, without those that let a program run as another user.
    pub(super) fn set_permissions(&self, mode: u32) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(mode & 0o777))
    }

    /// Gives the file its name. An existing file is replaced in one step; a link is replaced itself.
    pub(super) fn commit(mut self) -> Result<(), FileError> {
        let renamed = rustix::fs::renameat(&self.folder, &self.temporary, &self.folder, &self.name);
        renamed.map_err(|error| FileError::io(&format!("write {}", self.name), &error.into()))?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_committed
            && let Err(error) = unlinkat(&self.folder, &self.temporary, AtFlags::empty())
        {
            tracing::warn!(%error, file = self.temporary, "cannot remove a file that was not written completely");
        }
    }
}

/// Name of a file that is being written. It cannot be guessed.
fn temporary_name() -> io::Result<String> {
    let mut random = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(format!(".{:016x}.part", u64::from_ne_bytes(random)))
}

/// Deletes a folder with everything in it. Links are deleted and not followed.
fn delete_tree(parent: BorrowedFd<'_>, name: &[u8], depth: usize) -> Result<(), Errno> {
    if depth > MAX_DELETE_DEPTH {
        return Err(Errno::NAMETOOLONG);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(parent, name, flags, Mode::empty())?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let entry_name = entry.file_name().to_bytes();
        if matches!(entry_name, b"." | b"..") {
            continue;
        }
        match unlinkat(&folder, entry_name, AtFlags::empty()) {
            // The systems differ in how they refuse to unlink a folder.
            Err(Errno::ISDIR | Errno::PERM) => delete_tree(folder.as_fd(), entry_name, depth + 1)?,
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Moves an entry unless the target exists.
fn rename_without_replacing(
    source: BorrowedFd<'_>,
    source_name: &str,
    target: BorrowedFd<'_>,
    name: &str,
) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(source, source_name, target, name, RenameFlags::NOREPLACE) {
            // The file system does not support the flag.
            Err(Errno::INVAL | Errno::NOSYS) => {}
            result => return result,
        }
    }
    match statat(target, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => rustix::fs::renameat(source, source_name, target, name),
        Err(error) => Err(error),
    }
}

fn refuse_other_than_file(path: &RelativePath, kind: EntryKind) -> Result<(), FileError> {
    let found = match kind {
        EntryKind::File => return Ok(()),
        EntryKind::Directory => "a directory",
        EntryKind::Link => "a symbolic link that leads out of the directory or to nothing",
        EntryKind::Other => "a device, pipe or socket",
    };
    Err(FileError::refused(format!("expected a file, but {path} is {found}")))
}

/// Refuses files of `/proc` and `/sys`. They are no files of a project, and show the environment and the memory of
/// processes.
fn refuse_system_files(file: impl AsFd, path: &str) -> Result<(), FileError> {
    #[cfg(target_os = "linux")]
    {
        /// `SYSFS_MAGIC` of the kernel.
        const SYSFS_MAGIC: rustix::fs::FsWord = 0x6265_6572;
        let kind = rustix::fs::fstatfs(file).map_err(|error| FileError::io(&format!("open {path}"), &error.into()))?;
        if [rustix::fs::PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&kind.f_type) {
            return Err(FileError::escape(format!("{path} is part of /proc or /sys, which are not served")));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, path);
    Ok(())
}

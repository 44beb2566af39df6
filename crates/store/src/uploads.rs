//! Files that clients have uploaded to attach them to messages. They are beside the database, in one folder per session,
//! under the names that the clients gave them, because agents show the names.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{SessionKey, StoreError};

/// Name of the folder in a data directory with a database.
pub(crate) const FOLDER_NAME: &str = "uploads";
/// Maximum length of a file name. Most file systems allow 255 bytes; the rest is for a number.
const MAX_NAME_BYTES: usize = 200;
/// Number of files of one name that a session may have.
pub(crate) const MAX_FILES_PER_NAME: u32 = 1000;

/// The uploaded files of a store. Cloning it copies a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Uploads(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    /// Size of all files, with those that are being written.
    bytes: AtomicU64,
}

/// Space for a file. It is given back unless the file is written.
#[derive(Debug)]
pub(crate) struct UploadSpace {
    uploads: Uploads,
    bytes: u64,
}

impl UploadSpace {
    /// The file is written, and has the space until it is removed.
    fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for UploadSpace {
    fn drop(&mut self) {
        self.uploads.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Uploads {
    /// The files in a folder.
    pub(crate) fn open(folder: PathBuf) -> Self {
        let uploads = Self(Arc::new(Shared { folder, bytes: AtomicU64::new(0) }));
        let bytes = uploads.sessions().unwrap_or_default().into_iter().map(|session| uploads.session_bytes(session));
        uploads.0.bytes.store(bytes.sum(), Ordering::Relaxed);
        uploads
    }

    /// Size of all files.
    pub(crate) fn byte_len(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Size of the files of a session.
    pub(crate) fn session_bytes(&self, session: SessionKey) -> u64 {
        let files = fs::read_dir(self.session_folder(session)).into_iter().flatten().flatten();
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    }

    /// Counts a file that is about to be written, before the limits are checked.
    pub(crate) fn take_space(&self, bytes: u64) -> UploadSpace {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        UploadSpace { uploads: self.clone(), bytes }
    }

    fn session_folder(&self, session: SessionKey) -> PathBuf {
        self.0.folder.join(session.0.to_string())
    }

    /// Sessions that have files.
    pub(crate) fn sessions(&self) -> io::Result<Vec<SessionKey>> {
        let entries = match fs::read_dir(&self.0.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        Ok(names.map(SessionKey).collect())
    }

    /// Writes a file, and returns its path. The second file of a name gets a number.
    pub(crate) fn save(
        &self,
        session: SessionKey,
        name: &str,
        content: &[u8],
        space: UploadSpace,
    ) -> Result<PathBuf, StoreError> {
        check_name(name)?;
        let path = self
            .folder_for_writing(session)
            .and_then(|folder| write_new(&folder, name, content))
            .map_err(|error| upload_error(name, &error))?;
        space.keep();
        Ok(path)
    }

    /// Writes a file under exactly this name, in place of the one that is there.
    pub(crate) fn write(&self, session: SessionKey, name: &str, content: &[u8]) -> Result<PathBuf, StoreError> {
        check_name(name)?;
        let write = || {
            let folder = self.folder_for_writing(session)?;
            let path = folder.join(name);
            // Under another name until it is complete, so that no agent reads a part of it.
            let mut partial = tempfile::Builder::new().prefix(".partial-").tempfile_in(&folder)?;
            partial.write_all(content)?;
            partial.persist(&path)?;
            Ok(path)
        };
        write().map_err(|error| upload_error(name, &error))
    }

    /// The path of a file.
    pub(crate) fn path(&self, session: SessionKey, name: &str) -> PathBuf {
        let path = self.session_folder(session).join(name);
        std::path::absolute(&path).unwrap_or(path)
    }

    /// The name of an uploaded file of the session, if the path is that of one, in whatever data directory.
    pub(crate) fn name_in(&self, session: SessionKey, path: &Path) -> Option<String> {
        let name = path.file_name()?.to_str()?.to_owned();
        let folder = path.parent()?;
        let is_upload = folder.file_name()?.to_str()? == session.0.to_string()
            && folder.parent()?.file_name()? == self.0.folder.file_name()?;
        (is_upload && check_name(&name).is_ok()).then_some(name)
    }

    fn folder_for_writing(&self, session: SessionKey) -> io::Result<PathBuf> {
        let folder = std::path::absolute(self.session_folder(session))?;
        // Other users cannot read it, whatever the permissions of the data directory are.
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(folder)
    }

    /// Whether a session has files.
    pub(crate) fn has_files(&self, session: SessionKey) -> bool {
        self.session_folder(session).exists()
    }

    /// Removes the files of a session.
    pub(crate) fn remove(&self, session: SessionKey) -> io::Result<()> {
        let bytes = self.session_bytes(session);
        match fs::remove_dir_all(self.session_folder(session)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A file that two threads remove is counted twice.
        let subtract = |all: u64| Some(all.saturating_sub(bytes));
        let _ = self.0.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, subtract);
        Ok(())
    }
}

fn upload_error(name: &str, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull(error.to_string()),
        _ => StoreError::Upload { name: name.to_owned(), reason: error.to_string() },
    }
}

/// Refuses what is not the name of a file in a folder.
pub(crate) fn check_name(name: &str) -> Result<(), StoreError> {
    let is_name = !["", ".", ".."].contains(&name) && !name.contains(['/', '\\']) && !name.contains(char::is_control);
    if is_name && name.len() <= MAX_NAME_BYTES { Ok(()) } else { Err(StoreError::InvalidFileName) }
}

/// Writes a file under the first name that is free: `shot.png`, `shot-2.png`, and so on.
fn write_new(folder: &Path, name: &str, content: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=MAX_FILES_PER_NAME {
        let path = folder.join(numbered(name, number));
        let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        if let Err(error) = file.write_all(content).and_then(|()| file.sync_all()) {
            // A part of the file is of no use.
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        return Ok(path);
    }
    Err(io::Error::other("the session has too many files of this name"))
}

/// The name of the n-th file of a name.
pub(crate) fn numbered(name: &str, number: u32) -> String {
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        _ if number == 1 => name.to_owned(),
        Some((stem, extension)) => format!("{stem}-{number}.{extension}"),
        None => format!("{name}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const SESSION: SessionKey = SessionKey(7);

    fn save(uploads: &Uploads, name: &str) -> Result<PathBuf, StoreError> {
        uploads.save(SESSION, name, name.as_bytes(), uploads.take_space(name.len() as u64))
    }

    #[test]
    fn files_of_one_name_are_kept_beside_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::open(dir.path().join(FOLDER_NAME));
        for (name, expected) in [
            ("a.b.png", "a.b.png"),
            ("a.b.png", "a.b-2.png"),
            ("notes", "notes"),
            ("notes", "notes-2"),
            (".env", ".env"),
            (".env", ".env-2"),
        ] {
            let path = save(&uploads, name).unwrap();
            assert_eq!(path.file_name().unwrap(), expected);
            assert_eq!(fs::read(&path).unwrap(), name.as_bytes());
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            let folder = path.parent().unwrap();
            assert_eq!((mode(&path), mode(folder), mode(folder.parent().unwrap())), (0o600, 0o700, 0o700));
        }
        assert_eq!((uploads.byte_len(), uploads.session_bytes(SESSION)), (32, 32));
        assert_eq!(Uploads::open(dir.path().join(FOLDER_NAME)).byte_len(), 32);
        assert_eq!(uploads.sessions().unwrap(), [SESSION]);
        uploads.remove(SESSION).unwrap();
        assert_eq!(fs::read_dir(dir.path().join(FOLDER_NAME)).unwrap().count(), 0);
        uploads.remove(SESSION).unwrap();
        assert_eq!((uploads.byte_len(), uploads.sessions().unwrap()), (0, Vec::new()));
    }

    #[test]
    fn an_uploaded_file_of_another_server_is_known_by_its_path() {
        let uploads = Uploads::open("/data/uploads".into());
        let name = |path: &str| uploads.name_in(SESSION, Path::new(path));
        assert_eq!(name("/var/lib/other/uploads/7/a.png").as_deref(), Some("a.png"));
        for path in ["/data/uploads/8/a.png", "/data/7/a.png", "/uploads/7", "a.png", "/data/uploads/7/.."] {
            assert_eq!(name(path), None, "{path}");
        }
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::open(dir.path().join(FOLDER_NAME));
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", "a\nb", &long] {
            assert!(matches!(save(&uploads, name), Err(StoreError::InvalidFileName)), "{name:?}");
        }
        assert!(!dir.path().join(FOLDER_NAME).exists() && uploads.byte_len() == 0);
    }
}

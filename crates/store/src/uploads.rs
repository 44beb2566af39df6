//! Files that clients have uploaded to attach them to messages. They are beside the database, in one folder per session,
//! under the names that the clients gave them, because agents show the names.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::{SessionKey, StoreError};

/// Name of the folder in the data directory.
const FOLDER_NAME: &str = "uploads";
/// Maximum length of a file name. Most file systems allow 255 bytes; the rest is for a number.
const MAX_NAME_BYTES: usize = 200;
/// Number of files of one name that a session may have.
const MAX_FILES_PER_NAME: u32 = 1000;

/// The uploaded files of a store.
#[derive(Debug)]
pub(crate) struct Uploads {
    folder: PathBuf,
}

impl Uploads {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER_NAME) }
    }

    fn session_folder(&self, session: SessionKey) -> PathBuf {
        self.folder.join(session.0.to_string())
    }

    /// Writes a file, and returns its path. The second file of a name gets a number.
    pub(crate) fn save(&self, session: SessionKey, name: &str, content: &[u8]) -> Result<PathBuf, StoreError> {
        check_name(name)?;
        let write = || {
            let folder = std::path::absolute(self.session_folder(session))?;
            fs::create_dir_all(&folder)?;
            write_new(&folder, name, content)
        };
        write().map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull => StoreError::DiskFull(error.to_string()),
            _ => StoreError::Upload { name: name.to_owned(), reason: error.to_string() },
        })
    }

    /// Removes the files of a session.
    pub(crate) fn remove(&self, session: SessionKey) {
        let folder = self.session_folder(session);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(folder = %folder.display(), %error, "cannot remove the uploaded files of a deleted session; remove the folder");
            }
            _ => {}
        }
    }
}

/// Refuses what is not the name of a file in a folder.
fn check_name(name: &str) -> Result<(), StoreError> {
    let is_name = !["", ".", ".."].contains(&name) && !name.contains(['/', '\\']) && !name.contains(char::is_control);
    if is_name && name.len() <= MAX_NAME_BYTES { Ok(()) } else { Err(StoreError::InvalidFileName) }
}

/// Writes a file under the first name that is free: `shot.png`, `shot-2.png`, and so on.
fn write_new(folder: &Path, name: &str, content: &[u8]) -> io::Result<PathBuf> {
    for number in 1..=MAX_FILES_PER_NAME {
        let path = folder.join(numbered(name, number));
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
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

fn numbered(name: &str, number: u32) -> String {
    match name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        _ if number == 1 => name.to_owned(),
        Some((stem, extension)) => format!("{stem}-{number}.{extension}"),
        None => format!("{name}-{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionKey = SessionKey(7);

    #[test]
    fn files_of_one_name_are_kept_beside_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(dir.path());
        for (name, expected) in [
            ("a.b.png", "a.b.png"),
            ("a.b.png", "a.b-2.png"),
            ("notes", "notes"),
            ("notes", "notes-2"),
            (".env", ".env"),
            (".env", ".env-2"),
        ] {
            let path = uploads.save(SESSION, name, name.as_bytes()).unwrap();
            assert_eq!(path.file_name().unwrap(), expected);
            assert_eq!(fs::read(path).unwrap(), name.as_bytes());
        }
        uploads.remove(SESSION);
        assert_eq!(fs::read_dir(dir.path().join(FOLDER_NAME)).unwrap().count(), 0);
        uploads.remove(SESSION);
    }

    #[test]
    fn a_name_cannot_leave_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let uploads = Uploads::new(dir.path());
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", "a\nb", &long] {
            assert!(matches!(uploads.save(SESSION, name, b"x"), Err(StoreError::InvalidFileName)), "{name:?}");
        }
        assert!(!dir.path().join(FOLDER_NAME).exists());
    }
}

//! Files that an agent reads and writes through the host. Only files below the session's directory are served.

use std::io;
use std::path::{Component, Path, PathBuf};

use interlingua_protocol::acp::{INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND};

/// Maximum size of a file that is read.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// Why a file is not served: the code of the error, and the message.
pub(super) type FileError = (i64, String);

/// Reads a text file: the whole file, or `limit` lines from line `first` on, which counts from 1.
pub(super) fn read(root: &Path, path: &str, first: Option<u64>, limit: Option<u64>) -> Result<String, FileError> {
    let path = resolve(root, path)?;
    let metadata = std::fs::metadata(&path).map_err(|error| io_error(&path, &error))?;
    if !metadata.is_file() {
        return Err((INVALID_PARAMS, format!("{} is not a file", path.display())));
    }
    if metadata.len() > MAX_FILE_BYTES {
        let message = format!("{} has {} bytes: expected at most {MAX_FILE_BYTES}", path.display(), metadata.len());
        return Err((INVALID_PARAMS, message));
    }
    let bytes = std::fs::read(&path).map_err(|error| io_error(&path, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| (INVALID_PARAMS, format!("{} is not UTF-8", path.display())))?;
    if first.is_none() && limit.is_none() {
        return Ok(text);
    }
    let skipped = usize::try_from(first.unwrap_or(1).saturating_sub(1)).unwrap_or(usize::MAX);
    let count = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(text.split_inclusive('\n').skip(skipped).take(count).collect())
}

/// Writes a text file, and the folders that it is in.
pub(super) fn write(root: &Path, path: &str, content: &str) -> Result<(), FileError> {
    let path = resolve(root, path)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| io_error(folder, &error))?;
    }
    // A folder that was a link when it was created is checked again.
    let path = resolve(root, &path.to_string_lossy())?;
    std::fs::write(&path, content).map_err(|error| io_error(&path, &error))
}

/// The path without links. Refuses a path outside of `root`.
fn resolve(root: &Path, path: &str) -> Result<PathBuf, FileError> {
    let root = root.canonicalize().map_err(|error| io_error(root, &error))?;
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err((INVALID_PARAMS, format!("expected an absolute path, found {}", path.display())));
    }
    let outside = || {
        let message = format!("{} is outside of the session's directory {}", path.display(), root.display());
        (INVALID_PARAMS, message)
    };
    if path.components().any(|component| component == Component::ParentDir) {
        return Err(outside());
    }
    // The part that exists is resolved; the rest has no links.
    let mut existing = path;
    let mut missing = Vec::new();
    let resolved = loop {
        match existing.canonicalize() {
            Ok(resolved) => break resolved,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link to a file that does not exist may point anywhere.
                if existing.symlink_metadata().is_ok() {
                    return Err(outside());
                }
                let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
                    return Err(outside());
                };
                missing.push(name);
                existing = parent;
            }
            Err(error) => return Err(io_error(existing, &error)),
        }
    };
    let resolved = missing.into_iter().rev().fold(resolved, |path, name| path.join(name));
    if resolved.starts_with(&root) { Ok(resolved) } else { Err(outside()) }
}

fn io_error(path: &Path, error: &io::Error) -> FileError {
    let code = if error.kind() == io::ErrorKind::NotFound { RESOURCE_NOT_FOUND } else { INTERNAL_ERROR };
    (code, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_directory_are_read_and_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/a.txt");
        let path = path.to_str().unwrap();
        assert_eq!(read(folder.path(), path, None, None).unwrap_err().0, RESOURCE_NOT_FOUND);
        write(folder.path(), path, "one\ntwo\nthree\n").unwrap();
        assert_eq!(read(folder.path(), path, None, None).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(read(folder.path(), path, Some(2), Some(1)).unwrap(), "two\n");
        assert_eq!(read(folder.path(), path, Some(9), None).unwrap(), "");
    }

    #[test]
    fn paths_outside_of_the_directory_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.join("later"), root.join("dangling")).unwrap();
        let inside = |name: &str| root.join(name).to_str().unwrap().to_owned();
        for path in [
            inside("link/secret"),
            inside("../outside/secret"),
            inside("dangling"),
            "/etc/passwd".to_owned(),
            "a".to_owned(),
        ] {
            assert_eq!(read(&root, &path, None, None).unwrap_err().0, INVALID_PARAMS, "{path}");
            assert_eq!(write(&root, &path, "y").unwrap_err().0, INVALID_PARAMS, "{path}");
        }
        assert_eq!(write(&root, &inside("link/new"), "y").unwrap_err().0, INVALID_PARAMS);
        assert!(!outside.join("later").exists() && !outside.join("new").exists());
    }
}

//! Replaces files atomically.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use tempfile::NamedTempFile;

/// Replaces the content of each file. A reader, or a crash during the write, finds the old or the new content, never a
/// part. No file is replaced before all new contents are on disk.
///
/// Each text is first written to a temporary file in the same folder, hence on the same file system, so that the rename
/// is atomic.
pub(crate) fn write_files<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Result<()> {
    let temporary_files = files.into_iter().map(|(path, text)| Ok((path, write_temporary(path, text)?)));
    for (path, temporary) in temporary_files.collect::<Result<Vec<_>>>()? {
        temporary
            .persist(path)
            // Drops the temporary file, which the error contains.
            .map_err(|failed| failed.error)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn write_temporary(path: &Path, text: &str) -> Result<NamedTempFile> {
    let context = || format!("cannot write {}", path.display());
    let folder = path.parent().context("the path has no parent folder").with_context(context)?;
    std::fs::create_dir_all(folder).with_context(context)?;
    let mut temporary = tempfile::Builder::new().prefix(".tmp-").tempfile_in(folder).with_context(context)?;
    temporary.write_all(text.as_bytes()).with_context(context)?;
    make_readable(temporary.as_file()).with_context(context)?;
    temporary.as_file().sync_all().with_context(context)?;
    Ok(temporary)
}

/// Temporary files are readable only by their owner. Committed files should have the usual permissions.
#[cfg(unix)]
fn make_readable(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write_files;

    #[test]
    fn a_file_is_replaced_and_no_temporary_file_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/schema.json");
        write_files([(path.as_path(), "old")]).unwrap();
        write_files([(path.as_path(), "new")]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn if_one_file_cannot_be_written_none_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let good = folder.path().join("schema.json");
        std::fs::write(&good, "old").unwrap();
        let bad = good.join("source.toml");
        let error = write_files([(good.as_path(), "new"), (bad.as_path(), "new")]).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write"), "{error:#}");
        assert_eq!(std::fs::read_to_string(&good).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_target_that_cannot_be_replaced_is_kept_and_no_temporary_file_remains() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("schema.json");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("kept"), "kept").unwrap();
        assert!(write_files([(path.as_path(), "new")]).is_err());
        assert!(path.join("kept").is_file());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

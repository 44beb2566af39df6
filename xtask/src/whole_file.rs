//! Files that are written whole or not at all.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use tempfile::NamedTempFile;

/// Replaces each of the files by its text: a reader, or a crash half way, sees an old file or a new one, never a
/// piece. Nothing is replaced before everything is on disk.
///
/// A text goes to a temporary file in the same folder (the same file system, so that the rename is one step).
pub(crate) fn write<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Result<()> {
    let drafts = files.into_iter().map(|(path, text)| Ok((path, draft(path, text)?)));
    for (path, draft) in drafts.collect::<Result<Vec<_>>>()? {
        draft
            .persist(path)
            // The error would keep the draft alive as long as it lives itself.
            .map_err(|failed| failed.error)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn draft(path: &Path, text: &str) -> Result<NamedTempFile> {
    let place = || format!("cannot write {}", path.display());
    let folder = path.parent().context("a file needs a folder").with_context(place)?;
    std::fs::create_dir_all(folder).with_context(place)?;
    let mut draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder).with_context(place)?;
    draft.write_all(text.as_bytes()).with_context(place)?;
    allow_reading(draft.as_file()).with_context(place)?;
    draft.as_file().sync_all().with_context(place)?;
    Ok(draft)
}

/// Temporary files are private to their owner; what is committed should be readable like any other file.
#[cfg(unix)]
fn allow_reading(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn allow_reading(_file: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn a_file_is_replaced_and_no_draft_stays_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/schema.json");
        write([(path.as_path(), "old")]).unwrap();
        write([(path.as_path(), "new")]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }

    #[test]
    fn when_one_file_cannot_be_written_none_is() {
        let folder = tempfile::tempdir().unwrap();
        let good = folder.path().join("schema.json");
        std::fs::write(&good, "old").unwrap();
        let bad = good.join("source.toml");
        let error = write([(good.as_path(), "new"), (bad.as_path(), "new")]).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot write"), "{error:#}");
        assert_eq!(std::fs::read_to_string(&good).unwrap(), "old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_target_that_cannot_be_replaced_is_kept_and_no_draft_stays_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("schema.json");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("kept"), "kept").unwrap();
        assert!(write([(path.as_path(), "new")]).is_err());
        assert!(path.join("kept").is_file());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

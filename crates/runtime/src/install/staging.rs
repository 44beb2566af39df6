//! The folder of an installation in progress.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A folder for an installation in progress. It is removed when dropped, unless it was
/// [published](StagingFolder::publish) as the folder of a version.
pub(super) struct StagingFolder(PathBuf);

impl StagingFolder {
    pub(super) fn create(parent: &Path) -> Result<Self, String> {
        let folder = parent.join(format!(".fresh-{}", std::process::id()));
        // A process that died may have left one.
        let _ = std::fs::remove_dir_all(&folder);
        // The first installation also creates the data directory, in which sessions are private.
        let created = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        created.map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Moves the content to its final folder in one step, and replaces what is there.
    pub(super) fn publish(self, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot write {}: {error}", folder.display());
        let old = self.0.with_extension("old");
        // The old version may be in use, which does no harm: open files stay readable.
        let had_old = folder.exists();
        if had_old {
            let _ = std::fs::remove_dir_all(&old);
            std::fs::rename(folder, &old).map_err(failed)?;
        }
        std::fs::rename(&self.0, folder).map_err(failed)?;
        if had_old && let Err(error) = std::fs::remove_dir_all(&old) {
            let folder = old.display();
            tracing::warn!(%folder, %error, "cannot remove the folder of the replaced version; remove it by hand");
        }
        Ok(())
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        // After `publish`, the folder does not exist any more.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

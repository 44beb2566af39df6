//! Paths in this repository.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// Name of the folder that contains one folder of schemas per agent.
pub(crate) const SCHEMAS_FOLDER: &str = "agent-schemas";

/// The repository that contains the current directory.
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Searches the current directory and its parents for a folder with a `Cargo.toml` and `agent-schemas/`.
    pub(crate) fn find() -> Result<Self> {
        let start = std::env::current_dir().context("cannot determine the current directory")?;
        match Self::containing(&start) {
            Some(repository) => Ok(repository),
            None => bail!(
                "neither {} nor a folder above it contains Cargo.toml and {SCHEMAS_FOLDER}/: run this inside the repository",
                start.display()
            ),
        }
    }

    /// The repository that contains `start`, if any.
    pub(crate) fn containing(start: &Path) -> Option<Self> {
        start
            .ancestors()
            .find(|folder| folder.join(SCHEMAS_FOLDER).is_dir() && folder.join("Cargo.toml").is_file())
            .map(|root| Self { root: root.to_owned() })
    }

    /// The root folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder with the schemas of one agent.
    pub(crate) fn agent_schemas(&self, agent: &str) -> PathBuf {
        self.root.join(SCHEMAS_FOLDER).join(agent)
    }

    /// `path` relative to the root, for messages.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

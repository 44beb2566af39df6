//! Where things are in this repository.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The folder that holds one folder per agent.
pub(crate) const SCHEMAS: &str = "agent-schemas";

/// The top of the repository that the current directory is in.
pub(crate) struct Repository {
    root: PathBuf,
}

impl Repository {
    /// Walks up from the current directory to the first folder that has both a `Cargo.toml` and `agent-schemas/`.
    pub(crate) fn find() -> Result<Self> {
        let start = std::env::current_dir().context("cannot tell the current directory")?;
        match Self::above(&start) {
            Some(repository) => Ok(repository),
            None => bail!(
                "no {SCHEMAS}/ beside a Cargo.toml in {} or above it: run this inside the repository",
                start.display()
            ),
        }
    }

    /// The repository that `start` lies in, if any.
    pub(crate) fn above(start: &Path) -> Option<Self> {
        start
            .ancestors()
            .find(|folder| folder.join(SCHEMAS).is_dir() && folder.join("Cargo.toml").is_file())
            .map(|root| Self { root: root.to_owned() })
    }

    /// Its top folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder with one agent's schema.
    pub(crate) fn schemas_of(&self, agent: &str) -> PathBuf {
        self.root.join(SCHEMAS).join(agent)
    }

    /// The folder with the converters' source.
    pub(crate) fn converters(&self) -> PathBuf {
        self.root.join("crates/convert/src")
    }

    /// The folders with the source of what is sent to agents.
    pub(crate) fn senders(&self) -> [PathBuf; 2] {
        ["crates/protocol/src", "crates/runtime/src/drivers"].map(|folder| self.root.join(folder))
    }

    /// `path` as a person in the repository would type it.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

//! Where an agent lives while it is played with.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use interlingua_scripted_model::Scenario;

/// A fresh home and a fresh workspace, where [`crate::isolation`] made room for them.
#[derive(Debug)]
pub struct Place {
    /// Its home.
    pub home: PathBuf,
    /// Where it works.
    pub workspace: PathBuf,
    /// Where the agent finds programs.
    path: String,
}

impl Place {
    /// Clears the place and puts the files there that the scenario wants. `tools` is a folder with more programs.
    ///
    /// # Errors
    /// When the place cannot be cleared or written to.
    pub fn make(scenario: &Scenario, tools: Option<&Path>) -> Result<Self> {
        let (home, workspace) = (PathBuf::from("/home/agent"), PathBuf::from("/workspace"));
        for folder in [&home, &workspace] {
            clear(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        std::fs::create_dir(home.join("tmp")).context("cannot make a temporary folder")?;
        for (name, content) in &scenario.setup.files {
            let file = workspace.join(name);
            let folder = file.parent().unwrap_or(&workspace);
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            std::fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))?;
        }
        let mut path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        if let Some(tools) = tools {
            path = format!("{}:{path}", tools.display());
        }
        Ok(Self { home, workspace, path })
    }

    /// The whole environment of the agent, apart from what is its own.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        [
            ("HOME", self.home.display().to_string()),
            ("TMPDIR", self.home.join("tmp").display().to_string()),
            ("PATH", self.path.clone()),
            ("SHELL", "/bin/bash".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("USER", "agent".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// Removes what is in a folder, but not the folder.
fn clear(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

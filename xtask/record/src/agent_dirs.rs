//! The directories of an agent during a run.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use interlingua_scripted_model::Scenario;

/// A fresh home and a fresh workspace, at the paths that [`crate::isolation`] has created.
#[derive(Debug)]
pub struct AgentDirs {
    /// Home directory.
    pub home: PathBuf,
    /// Working directory.
    pub workspace: PathBuf,
    /// `PATH` of the agent.
    path: String,
}

impl AgentDirs {
    /// Clears both directories and writes the files of the scenario. `tools` is a folder with additional programs.
    ///
    /// # Errors
    /// When a directory cannot be cleared or written to.
    pub fn prepare(scenario: &Scenario, tools: Option<&Path>) -> Result<Self> {
        let (home, workspace) = (PathBuf::from("/home/agent"), PathBuf::from("/workspace"));
        for folder in [&home, &workspace] {
            clear(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        std::fs::create_dir(home.join("tmp")).context("cannot create a temporary folder")?;
        for (name, content) in &scenario.setup.files {
            let file = workspace.join(name);
            let folder = file.parent().unwrap_or(&workspace);
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            std::fs::write(&file, content).with_context(|| format!("cannot write {}", file.display()))?;
        }
        let mut path = "/usr/local/bin:/usr/bin:/bin".to_owned();
        if let Some(tools) = tools {
            path = format!("{}:{path}", tools.display());
        }
        Ok(Self { home, workspace, path })
    }

    /// Environment variables that are the same for all agents.
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

/// Removes the content of a folder, but not the folder.
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

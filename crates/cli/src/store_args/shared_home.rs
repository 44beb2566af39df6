//! A home directory of agents that servers share.
//!
//! A file in the directory has a random id, so that servers know whether they share the same directory, whatever its
//! path is on their machines.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use interlingua_server::generate_token;

/// Name of the file with the id.
const ID_FILE: &str = ".interlingua-home";
/// Number of letters of the token that are the id.
const ID_LETTERS: usize = 16;

/// The shared directory that has the home of the agents.
#[derive(Debug)]
pub(crate) struct SharedHome {
    pub(crate) directory: PathBuf,
    pub(crate) id: String,
}

impl SharedHome {
    /// Finds the directory that has the home of the agents, which is that of this process. `None` without directories.
    pub(crate) fn find(directories: &[PathBuf]) -> anyhow::Result<Option<Self>> {
        if directories.is_empty() {
            return Ok(None);
        }
        let home =
            std::env::home_dir().context("HOME is not set, so the files of agents cannot be in --resume-home")?;
        Self::find_for(&home, directories).map(Some)
    }

    fn find_for(home: &Path, directories: &[PathBuf]) -> anyhow::Result<Self> {
        let resolve = |path: &Path| {
            fs::canonicalize(path).with_context(|| format!("cannot use the directory {}", path.display()))
        };
        let resolved = resolve(home)?;
        for directory in directories {
            let directory = resolve(directory)?;
            if resolved.starts_with(&directory) {
                warn_about_other_folders(&directory);
                let id = load_id(&directory)
                    .with_context(|| format!("cannot use {} as --resume-home", directory.display()))?;
                return Ok(Self { directory, id });
            }
        }
        bail!(
            "agents keep the files of their sessions in {}, which is in no --resume-home; set HOME to a directory in it",
            home.display()
        )
    }
}

/// Variables that move the files of an agent's sessions out of its home.
const FOLDER_VARIABLES: [(&str, &str); 3] =
    [("CLAUDE_CONFIG_DIR", "Claude Code"), ("CODEX_HOME", "Codex"), ("XDG_DATA_HOME", "OpenCode")];

/// Warns about agents whose files are not in the shared directory, although their home is.
fn warn_about_other_folders(directory: &Path) {
    for (variable, agent) in FOLDER_VARIABLES {
        let folder = std::env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        if let Some(folder) = folder.filter(|folder| !folder.starts_with(directory)) {
            tracing::warn!(
                variable,
                agent,
                folder = %folder.display(),
                "the agent keeps the files of its sessions outside of --resume-home; other servers cannot resume them"
            );
        }
    }
}

/// The id of a directory. The first server that uses it makes one.
fn load_id(directory: &Path) -> anyhow::Result<String> {
    let file = directory.join(ID_FILE);
    if !file.exists() {
        let id: String = generate_token()?.chars().take(ID_LETTERS).collect();
        // Complete before it has its name: another server may be reading it.
        let new = directory.join(format!("{ID_FILE}-{id}"));
        fs::write(&new, &id)?;
        let linked = fs::hard_link(&new, &file);
        fs::remove_file(&new)?;
        match linked {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
    }
    let id = fs::read_to_string(&file)?.trim().to_owned();
    if id.is_empty() {
        bail!("{} is empty; remove it", file.display());
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_the_same_directory_have_the_same_id() {
        let (shared, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = shared.path().join("agents");
        fs::create_dir(&home).unwrap();
        let directories = [other.path().to_owned(), shared.path().to_owned()];
        let first = SharedHome::find_for(&home, &directories).unwrap();
        let second = SharedHome::find_for(shared.path(), &directories).unwrap();
        assert_eq!(first.id, second.id);
        assert_eq!(first.id.len(), ID_LETTERS);
        let elsewhere = SharedHome::find_for(other.path(), &directories).unwrap();
        assert_ne!(first.id, elsewhere.id);
    }

    #[test]
    fn a_home_that_is_not_shared_is_refused() {
        let (shared, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let error = SharedHome::find_for(home.path(), &[shared.path().to_owned()]).unwrap_err().to_string();
        assert!(error.contains("in no --resume-home"), "{error}");
        let missing = SharedHome::find_for(home.path(), &[shared.path().join("missing")]).unwrap_err();
        assert!(format!("{missing:#}").contains("missing"), "{missing:#}");
    }
}

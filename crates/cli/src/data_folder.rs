//! Where sessions are kept, and agents.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use interlingua_runtime::{LaunchConfig, Supervisor};

/// The folder that was asked for, or else `$XDG_DATA_HOME/interlingua`, or else `~/.local/share/interlingua`.
pub(crate) fn data_folder(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given);
    }
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("interlingua"))
        .context("neither XDG_DATA_HOME nor HOME is set: say where to keep sessions with --data-dir")
}

/// This machine, with agents in that folder. They are supervised by this program.
pub(crate) fn machine(folder: &Path) -> anyhow::Result<LaunchConfig> {
    let supervisor = Supervisor::current_exe([crate::SUPERVISE]).context("cannot tell which program this is")?;
    Ok(LaunchConfig::new(supervisor, folder))
}

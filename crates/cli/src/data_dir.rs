//! The data directory, where sessions and agents are stored.

use std::path::{Path, PathBuf};
use std::{env, io};

use anyhow::Context as _;
use interlingua_runtime::{LaunchConfig, Supervisor};

use crate::acp_agents;

/// The given directory, or else `$XDG_DATA_HOME/interlingua`, or else `~/.local/share/interlingua`. The path is absolute,
/// because programs that are started in other directories get paths below it.
pub(crate) fn resolve_data_dir(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let data_dir = given
        .or_else(default_data_dir)
        .context("neither XDG_DATA_HOME nor HOME is set; choose a data directory with --data-dir")?;
    std::path::absolute(&data_dir).with_context(|| format!("invalid data directory {}", data_dir.display()))
}

fn default_data_dir() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("XDG_DATA_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("interlingua"))
}

/// How agents are started: those installed or configured in this data directory or in the default one, supervised by this
/// program.
pub(crate) fn launch_config(data_dir: &Path) -> anyhow::Result<LaunchConfig> {
    launch_config_with(data_dir, &[])
}

/// As [`launch_config`], with agents of the command line: `NAME=COMMAND`.
pub(crate) fn launch_config_with(data_dir: &Path, named: &[String]) -> anyhow::Result<LaunchConfig> {
    let supervisor =
        Supervisor::current_exe([crate::SUPERVISE]).context("cannot determine the path of this program")?;
    let fallback = default_data_dir().filter(|default| default != data_dir);
    let mut launch = LaunchConfig::new(supervisor, data_dir);
    let mut agents = match fallback.as_deref().map(acp_agents::configured).transpose() {
        Ok(agents) => agents.unwrap_or_default(),
        // The home directory may be that of another user.
        Err(error) if is_forbidden(&error) => Vec::new(),
        Err(error) => return Err(error),
    };
    let named = named.iter().map(|argument| acp_agents::parse(argument));
    for agent in acp_agents::configured(data_dir)?.into_iter().map(Ok).chain(named) {
        let agent = agent?;
        agents.retain(|known| known.descriptor.id != agent.descriptor.id);
        agents.push(agent);
    }
    if is_replayed() {
        launch = launch.ignore_installed();
    } else if let Some(fallback) = fallback {
        launch = launch.fallback_data_folder(fallback);
    }
    Ok(launch.acp_agents(agents))
}

fn is_forbidden(error: &anyhow::Error) -> bool {
    let is_forbidden = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(is_forbidden)
}

/// Whether the agents are stand-ins on the `PATH` that replay a recording (docs/replay.md).
pub(crate) fn is_replayed() -> bool {
    env::var_os("INTERLINGUA_REPLAY").is_some()
}

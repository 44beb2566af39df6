//! The data directory, where sessions and agents are stored.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use interlingua_runtime::{LaunchConfig, Supervisor};

use crate::acp_agents;

/// The given directory, or else `$XDG_DATA_HOME/interlingua`, or else `~/.local/share/interlingua`.
pub(crate) fn resolve_data_dir(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(given) = given {
        return Ok(given);
    }
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("XDG_DATA_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("interlingua"))
        .context("neither XDG_DATA_HOME nor HOME is set; choose a data directory with --data-dir")
}

/// How agents are started: those installed in this data directory, supervised by this program.
pub(crate) fn launch_config(data_dir: &Path) -> anyhow::Result<LaunchConfig> {
    let supervisor =
        Supervisor::current_exe([crate::SUPERVISE]).context("cannot determine the path of this program")?;
    Ok(LaunchConfig::new(supervisor, data_dir).acp_agents(acp_agents::configured(data_dir)?))
}

/// As [`launch_config`], with agents of the command line: `NAME=COMMAND`.
pub(crate) fn launch_config_with(data_dir: &Path, named: &[String]) -> anyhow::Result<LaunchConfig> {
    let mut agents = acp_agents::configured(data_dir)?;
    for argument in named {
        let agent = acp_agents::parse(argument)?;
        agents.retain(|known| known.descriptor.id != agent.descriptor.id);
        agents.push(agent);
    }
    Ok(launch_config(data_dir)?.acp_agents(agents))
}

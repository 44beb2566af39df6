//! Where agents are installed, and how they are started.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use interlingua_agents::AcpProfile;

use crate::process::Supervisor;

/// Name of the folder with the agents in a data folder.
const AGENTS: &str = "agents";

/// Where agents are installed, and how they are started.
#[derive(Clone, Debug)]
pub struct LaunchConfig {
    supervisor: Supervisor,
    data_folder: PathBuf,
    fallback_data_folder: Option<PathBuf>,
    ignores_installed: bool,
    path: Option<OsString>,
    acp_agents: Vec<&'static AcpProfile>,
}

impl LaunchConfig {
    /// Agents are started by this supervisor, installed below this folder, and otherwise found on the `PATH` of this
    /// process.
    pub fn new(supervisor: Supervisor, data_folder: impl Into<PathBuf>) -> Self {
        Self {
            supervisor,
            data_folder: data_folder.into(),
            fallback_data_folder: None,
            ignores_installed: false,
            path: std::env::var_os("PATH"),
            acp_agents: Vec::new(),
        }
    }

    /// Also finds the agents that are installed below another data folder. Nothing is written there.
    #[must_use]
    pub fn fallback_data_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.fallback_data_folder = Some(folder.into());
        self
    }

    /// Finds agents only on the `PATH`, for example stand-ins that replay recordings.
    #[must_use]
    pub fn ignore_installed(mut self) -> Self {
        self.ignores_installed = true;
        self
    }

    /// Adds agents of the user that speak the Agent Client Protocol, beside the [known ones](AcpProfile::ALL).
    #[must_use]
    pub fn acp_agents(mut self, agents: Vec<&'static AcpProfile>) -> Self {
        self.acp_agents = agents;
        self
    }

    /// All agents that speak the Agent Client Protocol. One of the user replaces a known one of the same name.
    pub(crate) fn acp_profiles(&self) -> impl Iterator<Item = &'static AcpProfile> {
        let is_replaced = |id: &str| self.acp_agents.iter().any(|own| own.descriptor.id == id);
        let known = AcpProfile::ALL.iter().copied().filter(move |known| !is_replaced(known.descriptor.id));
        known.chain(self.acp_agents.iter().copied())
    }

    /// Sets another `PATH` on which agents are found that are not installed.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The `PATH` on which agents are found that are not installed, and npm.
    pub(super) fn search_path(&self) -> Option<&OsStr> {
        self.path.as_deref()
    }

    /// The supervisor that starts agents.
    pub(crate) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Folder for files that are needed only while agents run.
    pub(crate) fn runtime_folder(&self) -> PathBuf {
        self.data_folder.join("run")
    }

    /// Folder into which the versions of an agent are installed.
    pub(super) fn agent_folder(&self, id: &str) -> PathBuf {
        self.data_folder.join(AGENTS).join(id)
    }

    /// Folders in which the versions of an agent may be installed, the preferred one first.
    pub(super) fn agent_folders(&self, id: &'static str) -> impl Iterator<Item = PathBuf> + use<'_> {
        let folders = [Some(&self.data_folder), self.fallback_data_folder.as_ref()];
        folders
            .into_iter()
            .flatten()
            .filter(|_| !self.ignores_installed)
            .map(move |folder| folder.join(AGENTS).join(id))
    }
}

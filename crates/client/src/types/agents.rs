//! Agents and their installation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The server's agents.
#[derive(Debug, Deserialize)]
pub(crate) struct AgentList {
    pub(crate) agents: Vec<AgentInfo>,
}

/// An agent and its installation on the server's machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentInfo {
    /// Agent id: `claude`, `codex`, `opencode`, `amp`, `mock`.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Whether its program is installed.
    pub installed: bool,
    /// Whether the server's environment has credentials for the agent, or it needs none.
    pub credentials_available: bool,
    /// Installed version; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Path of the program; `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Capabilities: `planMode`, `permissions`, `questions` and so on.
    pub capabilities: BTreeMap<String, bool>,
    /// The process that its sessions share; `None` for agents with a process per session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_status: Option<SharedProcess>,
}

/// A process that the sessions of an agent share.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SharedProcess {
    /// Whether it runs.
    pub status: SharedProcessState,
    /// Address that it listens on; `None` if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Time since it started; `None` if it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_ms: Option<u64>,
    /// Number of restarts.
    pub restart_count: u64,
    /// Why it last failed; `None` if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// State of a [`SharedProcess`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SharedProcessState {
    /// It runs.
    Running,
    /// It was not needed yet, or was stopped.
    Stopped,
    /// It failed and could not be restarted.
    Error,
    /// A state that this version does not know.
    #[serde(untagged)]
    Unknown(String),
}

/// What to install. The default is the version that the server supports, unless the agent is installed already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstallRequest {
    /// Whether to install the agent again if it is installed already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reinstall: bool,
    /// Version to install; `None` for the version that the server supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The last installation of an agent since the server was started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct InstallStatus {
    /// How far it is.
    pub state: InstallState,
    /// How far a running installation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<InstallProgress>,
    /// Why it failed; `None` if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// State of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InstallState {
    /// There was none.
    None,
    /// It runs.
    Running,
    /// It has finished.
    Done,
    /// It has failed.
    Failed,
    /// A state that this version does not know.
    #[serde(untagged)]
    Unknown(String),
}

/// How far an installation is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct InstallProgress {
    /// Number of bytes on disk so far.
    pub bytes: u64,
}

/// The modes of an agent.
#[derive(Debug, Deserialize)]
pub(crate) struct ModeList {
    pub(crate) modes: Vec<ModeInfo>,
}

/// A mode that a session can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ModeInfo {
    /// Value for [`CreateSessionRequest::agent_mode`](super::CreateSessionRequest::agent_mode).
    pub id: String,
    /// Name for people.
    pub name: String,
    /// What the mode does.
    pub description: String,
}

/// The models that an agent's sessions can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentModels {
    /// The models.
    pub models: Vec<ModelInfo>,
    /// Model that is used when none is given; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Whether the agent is not installed and could not be asked: it may have other models.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
}

/// A model that a session can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelInfo {
    /// Value for [`CreateSessionRequest::model`](super::CreateSessionRequest::model).
    pub id: String,
    /// Name for people; `None` if it is the same as the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Values for [`CreateSessionRequest::variant`](super::CreateSessionRequest::variant).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// Variant that is used when none is given; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_variant: Option<String>,
}

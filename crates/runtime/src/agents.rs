//! What is known of an agent apart from any session.

use std::path::PathBuf;

use serde::Serialize;

/// An agent, as it is installed here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentStatus {
    /// Its name.
    pub id: &'static str,
    /// Whether it can be started.
    pub installed: bool,
    /// Its version, if known.
    pub version: Option<String>,
    /// Its program, if it has one.
    pub path: Option<PathBuf>,
    /// Which credentials were found, by name: `ANTHROPIC_API_KEY`, or the name of a login. Never a value.
    pub credentials: Vec<String>,
    /// Whether it works without credentials.
    pub needs_no_credentials: bool,
    /// The version that our types were made for; `None` if there is only one.
    pub pinned_version: Option<String>,
    /// How the version that is installed stands to that.
    pub version_fit: Option<VersionFit>,
    /// The process that its sessions share; `None` for an agent that has a process per session.
    pub server: Option<ServerStatus>,
}

impl AgentStatus {
    /// An agent of which nothing else is known.
    #[must_use]
    pub fn new(id: &'static str, installed: bool) -> Self {
        Self { id, installed, ..Self::default() }
    }

    /// Whether a session can hope for an answer.
    #[must_use]
    pub fn credentials_available(&self) -> bool {
        self.needs_no_credentials || !self.credentials.is_empty()
    }
}

/// How the installed version stands to the one our types were made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionFit {
    /// The same.
    Same,
    /// Older than that.
    Older,
    /// Newer than that.
    Newer,
}

/// The state of a process that sessions share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// What it does.
    pub state: ServerState,
    /// Where it listens, if it does.
    pub base_url: Option<String>,
    /// How long it has been running.
    pub uptime_ms: Option<u64>,
    /// How often it was started again.
    pub restart_count: u64,
    /// Why it last went down.
    pub last_error: Option<String>,
}

/// What a shared process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// It runs.
    Running,
    /// It was not needed yet, or was ended.
    Stopped,
    /// It fell and could not be started.
    Error,
}

/// A mode that a session can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mode {
    /// What clients give.
    pub id: String,
    /// What people read.
    pub name: String,
    /// What it does.
    pub description: String,
}

impl Mode {
    /// A mode.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), description: description.into() }
    }
}

/// A model that a session can be created with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Model {
    /// What clients give.
    pub id: String,
    /// What people read; left out when it is the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its variants; left out when it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// The variant that is used when none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_variant: Option<String>,
}

/// The models of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Models {
    /// All of them.
    pub models: Vec<Model>,
    /// The one that is used when none is given; left out when nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
}

/// What is to be installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallOptions {
    /// Even if it is installed.
    pub reinstall: bool,
    /// This version; the one our types were made for when absent.
    pub version: Option<String>,
}

impl InstallOptions {
    /// This version, or without one the version that our types were made for.
    #[must_use]
    pub fn new(version: Option<String>, reinstall: bool) -> Self {
        Self { reinstall, version }
    }
}

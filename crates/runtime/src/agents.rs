//! What is known about an agent independently of any session: its status, modes and models.

use std::fmt;
use std::path::PathBuf;

use interlingua_agents::Agent;
use serde::Serialize;

/// The state of an agent on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentStatus {
    /// The agent's name in the API.
    pub id: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Whether the agent can be started.
    pub installed: bool,
    /// The installed version, if known.
    pub version: Option<String>,
    /// The agent's program, if it has one.
    pub path: Option<PathBuf>,
    /// Names of the credentials that were found: `ANTHROPIC_API_KEY`, or the name of a login. Never a value.
    pub credentials: Vec<String>,
    /// Whether the agent works without credentials.
    pub needs_no_credentials: bool,
    /// The version that our types were generated for; `None` for an agent without versions.
    pub pinned_version: Option<String>,
    /// How the installed version compares to `pinned_version`.
    pub version_fit: Option<VersionFit>,
    /// The process that sessions share; `None` for an agent with a process per session.
    pub server: Option<ServerStatus>,
    /// How to install an agent that this program cannot install; `None` for the others.
    pub install_instructions: Option<String>,
}

impl AgentStatus {
    /// The status of an agent about which nothing else is known.
    #[must_use]
    pub fn new(id: &'static str, installed: bool) -> Self {
        Self { id, name: id, installed, ..Self::default() }
    }

    /// Whether the agent has the credentials that it needs.
    #[must_use]
    pub fn credentials_available(&self) -> bool {
        self.needs_no_credentials || !self.credentials.is_empty()
    }

    /// How to get the agent, or this version of it, if it is not installed.
    #[must_use]
    pub fn install_remedy(&self, version: Option<&str>) -> InstallRemedy {
        InstallRemedy::new(self.id, self.install_instructions.clone(), version)
    }
}

/// What to do about an agent that is not installed. Displayed as the end of a sentence about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InstallRemedy {
    /// This command installs it.
    Command(String),
    /// No command of this program installs it. This says what does.
    Instructions(String),
}

impl InstallRemedy {
    /// The instructions, or the command for an agent without instructions.
    pub(crate) fn new(agent: &str, instructions: Option<String>, version: Option<&str>) -> Self {
        match (instructions, version) {
            (Some(instructions), _) => Self::Instructions(instructions),
            (None, Some(version)) => Self::Command(format!("interlingua agents install {agent}@{version}")),
            (None, None) => Self::Command(format!("interlingua agents install {agent}")),
        }
    }
}

impl fmt::Display for InstallRemedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => write!(f, "run `{command}`"),
            Self::Instructions(instructions) => f.write_str(instructions),
        }
    }
}

/// How the installed version compares to the one that our types were generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionFit {
    /// The same version.
    Same,
    /// An older version.
    Older,
    /// A newer version.
    Newer,
}

/// The status of a process that sessions share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerStatus {
    /// Whether it runs.
    pub state: ServerState,
    /// The URL where it listens, if it does.
    pub base_url: Option<String>,
    /// How long it has been running.
    pub uptime_ms: Option<u64>,
    /// How often it was restarted.
    pub restart_count: u64,
    /// Why it last failed.
    pub last_error: Option<String>,
}

/// Whether a shared process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// It runs.
    Running,
    /// It was not needed yet, or is not needed any more.
    Stopped,
    /// It crashed, or could not be started.
    Error,
}

/// A mode that a session can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Mode {
    /// The mode's name in the API.
    pub id: String,
    /// The mode's name for people.
    pub name: String,
    /// What the agent does in this mode.
    pub description: String,
}

impl Mode {
    /// Creates a mode.
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
    /// The model's name in the API.
    pub id: String,
    /// The model's name for people; `None` if it is the same as the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The model's variants; empty if it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// The variant that is used if none is given; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_variant: Option<String>,
}

/// Name of the model that some agents choose themselves.
const DEFAULT_MODEL: &str = "default";

/// The models of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Models {
    /// All models.
    pub models: Vec<Model>,
    /// The model that is used if none is given; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Whether the agent was not asked because it is not installed: it may have other models.
    pub fallback: bool,
}

impl Models {
    /// The models of an agent that is not installed, as far as they are known without asking it.
    #[must_use]
    pub fn fallback(agent: &str) -> Self {
        let known = Agent::from_id(agent).map(|agent| agent.descriptor().fallback_models).unwrap_or_default();
        let models = known.iter().map(|id| Model { id: (*id).to_owned(), ..Model::default() }).collect();
        Self { models, default_model: known.contains(&DEFAULT_MODEL).then(|| DEFAULT_MODEL.to_owned()), fallback: true }
    }
}

/// What to install.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstallOptions {
    /// Installs even if the version is installed already.
    pub reinstall: bool,
    /// The version; `None` for the one that our types were generated for.
    pub version: Option<String>,
}

impl InstallOptions {
    /// Options for a version. `None` stands for the version that our types were generated for.
    #[must_use]
    pub fn new(version: Option<String>, reinstall: bool) -> Self {
        Self { reinstall, version }
    }
}

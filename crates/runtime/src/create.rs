//! What a session is created with, and what of it is stored.
//!
//! Every field is honoured or refused. What a restarted server needs is stored with the session. Values that may be
//! secret (`env`, the environment and headers of MCP servers) are not stored, only their names are. So a session
//! without its secrets can report them as missing instead of running without them ([`crate::secrets`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use interlingua_schema::{RawJson, SessionId};
use interlingua_store::{NewSession, Session};
use serde::{Deserialize, Serialize};

use crate::driver::{Driver, SessionSpec};
use crate::environment::Environment;
use crate::error::{Refusal, RuntimeError};
use crate::mcp::{McpServer, McpServerConfig, McpServers};
use crate::permission_mode::PermissionMode;
use crate::secrets::{SecretName, Secrets};

/// The parameters of a new session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateSession {
    /// The agent: `claude`, `codex`, `opencode`, `amp`, `mock`.
    pub agent: String,
    /// The agent's mode: `build`, `plan`, `custom`; `None` for the agent's default.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; `None` for `default`.
    pub permission_mode: Option<String>,
    /// The model; `None` for the agent's default.
    pub model: Option<String>,
    /// The model's variant; `None` for its default.
    pub variant: Option<String>,
    /// The agent's version; `None` for the installed one.
    pub agent_version: Option<String>,
    /// The agent's working directory, which must exist; `None` for the server's.
    pub directory: Option<String>,
    /// The session's title, for people.
    pub title: Option<String>,
    /// Labels, by name, for programs that manage many sessions.
    pub labels: BTreeMap<String, String>,
    /// Environment variables for the agent's process.
    pub env: Environment,
    /// MCP servers for the agent.
    pub mcp: McpServers,
    /// Milliseconds that a permission request or question waits for an answer before it is denied or rejected; `None` for
    /// the runtime's timeout.
    pub request_timeout_ms: Option<u64>,
}

/// What the store keeps about the parameters of a session, besides its columns.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct StoredConfig {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_version: Option<String>,
    /// Names of the session's environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    env: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    mcp: BTreeMap<String, McpServerConfig>,
    /// Names of the values that may be secret, for each MCP server that has any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    mcp_secrets: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_timeout_ms: Option<u64>,
}

impl StoredConfig {
    /// Decodes the configuration of a stored session.
    pub(crate) fn decode(session: &Session) -> Self {
        session.config.as_ref().and_then(|config| serde_json::from_str(config.as_str()).ok()).unwrap_or_default()
    }

    /// How long a request of the agent waits for an answer.
    pub(crate) fn request_timeout(&self) -> Option<Duration> {
        self.request_timeout_ms.map(Duration::from_millis)
    }

    /// The names of the values that may be secret.
    pub(crate) fn secret_names(&self) -> BTreeSet<SecretName> {
        let mut names: BTreeSet<SecretName> = self.env.iter().cloned().map(SecretName::Env).collect();
        for (server, secrets) in &self.mcp_secrets {
            let is_remote = self.mcp.get(server).is_some_and(McpServerConfig::is_remote);
            names.extend(secrets.iter().cloned().map(|name| {
                let server = server.clone();
                if is_remote { SecretName::McpHeader { server, name } } else { SecretName::McpEnv { server, name } }
            }));
        }
        names
    }

    /// The MCP servers, with the values that are not stored.
    fn mcp_servers(&self, secrets: &Secrets) -> McpServers {
        let servers = self.mcp.iter().filter_map(|(name, config)| {
            let mut server = config.clone().into_server().ok()?;
            match &mut server {
                McpServer::Local { env, .. } => *env = secrets.mcp_env(name),
                McpServer::Remote { headers, .. } => *headers = secrets.mcp_headers(name),
            }
            Some((name.clone(), server))
        });
        servers.collect()
    }
}

impl CreateSession {
    /// A session with an agent and its defaults.
    #[must_use]
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), ..Self::default() }
    }

    interlingua_schema::setters! {
        pub agent_mode: Option<String>,
        pub permission_mode: Option<String>,
        pub model: Option<String>,
        pub variant: Option<String>,
        pub agent_version: Option<String>,
        pub directory: Option<String>,
        pub title: Option<String>,
        pub labels: BTreeMap<String, String>,
        pub env: Environment,
        pub mcp: McpServers,
        pub request_timeout_ms: Option<u64>,
    }

    /// Checks the parameters and turns them into a spec for the driver.
    pub(crate) fn into_spec(self, id: SessionId, driver: &dyn Driver) -> Result<SessionSpec, RuntimeError> {
        let permission_mode = match &self.permission_mode {
            None => PermissionMode::Default,
            Some(name) => PermissionMode::from_name(name).ok_or_else(|| {
                let known = PermissionMode::ALL.map(PermissionMode::name);
                Refusal::mode("permissionMode", name.as_str(), &known).into_runtime_error(driver.id())
            })?,
        };
        if let Some(name) = self.env.names().find(|name| !is_variable_name(name)) {
            let detail = format!("`env` has an invalid variable name {name:?}: expected a name without `=` and NUL");
            return Err(RuntimeError::field("env", detail));
        }
        if let Some((name, _)) = self.env.iter().find(|(_, value)| value.contains('\0')) {
            let detail = format!("the value of `env` variable {name:?} contains a NUL character");
            return Err(RuntimeError::field("env", detail));
        }
        if self.request_timeout_ms == Some(0) {
            let detail = "`requestTimeoutMs` is 0, which would deny every request at once; expected at least 1";
            return Err(RuntimeError::field("requestTimeoutMs", detail));
        }
        let spec = SessionSpec {
            native_session_id: driver.choose_native_session_id(&id),
            session_id: id,
            directory: resolve_directory(self.directory.as_deref())?,
            agent_mode: self.agent_mode,
            permission_mode,
            model: self.model,
            variant: self.variant,
            agent_version: self.agent_version,
            title: self.title,
            env: self.env,
            mcp: self.mcp,
        };
        driver.check(&spec).map_err(|refusal| refusal.into_runtime_error(driver.id()))?;
        Ok(spec)
    }
}

/// Makes the path of a directory absolute. Refuses a path that is not a directory.
fn resolve_directory(given: Option<&str>) -> Result<PathBuf, RuntimeError> {
    let refuse = |detail: String| RuntimeError::field("directory", detail);
    let Some(given) = given else {
        return std::env::current_dir()
            .map_err(|error| refuse(format!("no directory was given, and the server's does not exist: {error}")));
    };
    let path = std::path::absolute(given).map_err(|error| refuse(format!("invalid directory {given:?}: {error}")))?;
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Ok(path),
        Ok(_) => Err(refuse(format!("expected a directory, found a file: {}", path.display()))),
        Err(error) => Err(refuse(format!("cannot use directory {}: {error}", path.display()))),
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

impl SessionSpec {
    /// The session as it is stored.
    pub(crate) fn to_new_session(
        &self,
        agent: &'static str,
        labels: BTreeMap<String, String>,
        request_timeout_ms: Option<u64>,
    ) -> NewSession {
        let config = StoredConfig {
            agent_version: self.agent_version.clone(),
            env: self.env.names().map(str::to_owned).collect(),
            mcp: self.mcp.iter().map(|(name, server)| (name.to_owned(), server.without_secrets())).collect(),
            mcp_secrets: self
                .mcp
                .iter()
                .filter(|(_, server)| !server.secrets().is_empty())
                .map(|(name, server)| (name.to_owned(), server.secrets().names().map(str::to_owned).collect()))
                .collect(),
            request_timeout_ms,
        };
        let mut session = NewSession::new(self.session_id.clone(), agent);
        session.agent_mode.clone_from(&self.agent_mode);
        session.permission_mode = Some(self.permission_mode.name().to_owned());
        session.model.clone_from(&self.model);
        session.variant.clone_from(&self.variant);
        session.native_session_id.clone_from(&self.native_session_id);
        session.directory = Some(self.directory.to_string_lossy().into_owned());
        session.title.clone_from(&self.title);
        session.labels = labels;
        session.has_secrets = !config.env.is_empty() || !config.mcp_secrets.is_empty();
        session.config = serde_json::to_string(&config).ok().map(|config| RawJson::from_payload(&config));
        session
    }

    /// The values that may be secret. They are kept in memory only.
    pub(crate) fn secrets(&self) -> Secrets {
        Secrets::new(&self.env, &self.mcp)
    }

    /// The spec of a stored session, with the values that are not stored.
    pub(crate) fn from_stored(session: &Session, config: &StoredConfig, secrets: &Secrets) -> Self {
        Self {
            session_id: session.id.clone(),
            native_session_id: session.native_session_id.clone(),
            directory: session.directory.as_deref().map_or(Path::new("."), Path::new).to_owned(),
            agent_mode: session.agent_mode.clone(),
            permission_mode: session.permission_mode.as_deref().and_then(PermissionMode::from_name).unwrap_or_default(),
            model: session.model.clone(),
            variant: session.variant.clone(),
            agent_version: config.agent_version.clone(),
            title: session.title.clone(),
            env: secrets.env(),
            mcp: config.mcp_servers(secrets),
        }
    }
}

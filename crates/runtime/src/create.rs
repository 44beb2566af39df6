//! What a session is created with, and what of it is kept.
//!
//! Everything given is honoured or refused. What has to be there after a restart of the server is stored with the
//! session; values that may be secret (`env`, the environment and headers of MCP servers) are not. Of those only the
//! names are stored, so that a session which misses them later can say so instead of running without.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use interlingua_schema::{RawJson, SessionId};
use interlingua_store::{NewSession, Session, StoredState};
use serde::{Deserialize, Serialize};

use crate::driver::{Driver, SessionSpec};
use crate::environment::Environment;
use crate::error::{Refusal, RuntimeError};
use crate::mcp::{McpServer, McpServers, Written};
use crate::modes::PermissionMode;

/// A session that a client wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateSession {
    /// The agent: `claude`, `codex`, `opencode`, `amp`, `mock`.
    pub agent: String,
    /// The agent's mode: `build`, `plan`, `custom`; the agent's default when absent.
    pub agent_mode: Option<String>,
    /// What it may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; `default` when absent.
    pub permission_mode: Option<String>,
    /// The model; the agent's default when absent.
    pub model: Option<String>,
    /// The model's variant; its default when absent.
    pub variant: Option<String>,
    /// The agent's version; the installed one when absent.
    pub agent_version: Option<String>,
    /// The agent's working directory, which must exist; the server's own when absent.
    pub directory: Option<String>,
    /// What a person calls the session.
    pub title: Option<String>,
    /// Environment variables for the agent's process.
    pub env: Environment,
    /// MCP servers for the agent.
    pub mcp: McpServers,
}

/// What the store keeps of a session for the runtime.
#[derive(Default, Serialize, Deserialize)]
struct Config {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_version: Option<String>,
    /// Names of the variables that were given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    env: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    mcp: BTreeMap<String, Written>,
    /// Names of what may be secret, of each MCP server that has any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    mcp_secrets: BTreeMap<String, Vec<String>>,
}

impl CreateSession {
    /// A session of this agent, with the agent's defaults.
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
        pub env: Environment,
        pub mcp: McpServers,
    }

    /// Looks the request over and makes of it what a driver needs.
    pub(crate) fn into_spec(self, id: SessionId, driver: &dyn Driver) -> Result<SessionSpec, RuntimeError> {
        let permission_mode = match &self.permission_mode {
            None => PermissionMode::Default,
            Some(name) => PermissionMode::from_name(name).ok_or_else(|| {
                let known = PermissionMode::ALL.map(PermissionMode::name);
                Refusal::mode("permissionMode", name.as_str(), &known).by(driver.id())
            })?,
        };
        if let Some(name) = self.env.names().find(|name| !is_variable_name(name)) {
            let detail = format!("`env` has a variable with the name {name:?}, which no process can have");
            return Err(RuntimeError::field("env", detail));
        }
        if let Some((name, _)) = self.env.iter().find(|(_, value)| value.contains('\0')) {
            let detail = format!("the value of `env` variable {name:?} holds a null character");
            return Err(RuntimeError::field("env", detail));
        }
        let spec = SessionSpec {
            native_session_id: driver.choose_native_session_id(&id),
            session_id: id,
            directory: directory(self.directory.as_deref())?,
            agent_mode: self.agent_mode,
            permission_mode,
            model: self.model,
            variant: self.variant,
            agent_version: self.agent_version,
            title: self.title,
            env: self.env,
            mcp: self.mcp,
        };
        driver.check(&spec).map_err(|refusal| refusal.by(driver.id()))?;
        Ok(spec)
    }
}

/// An absolute path to a directory that is there.
fn directory(given: Option<&str>) -> Result<PathBuf, RuntimeError> {
    let refused = |detail: String| RuntimeError::field("directory", detail);
    let Some(given) = given else {
        return std::env::current_dir()
            .map_err(|error| refused(format!("no directory was given and the server's own is gone: {error}")));
    };
    let path = std::path::absolute(given).map_err(|error| refused(format!("directory {given:?}: {error}")))?;
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Ok(path),
        Ok(_) => Err(refused(format!("expected a directory, found a file: {}", path.display()))),
        Err(error) => Err(refused(format!("the directory {} cannot be used: {error}", path.display()))),
    }
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

impl SessionSpec {
    /// The session as it is stored.
    pub(crate) fn to_store(&self, agent: &'static str) -> NewSession {
        let config = Config {
            agent_version: self.agent_version.clone(),
            env: self.env.names().map(str::to_owned).collect(),
            mcp: self.mcp.iter().map(|(name, server)| (name.to_owned(), server.without_secrets())).collect(),
            mcp_secrets: self
                .mcp
                .iter()
                .filter(|(_, server)| !server.secrets().is_empty())
                .map(|(name, server)| (name.to_owned(), server.secrets().names().map(str::to_owned).collect()))
                .collect(),
        };
        let mut session = NewSession::new(self.session_id.clone(), agent);
        session.agent_mode.clone_from(&self.agent_mode);
        session.permission_mode = Some(self.permission_mode.name().to_owned());
        session.model.clone_from(&self.model);
        session.variant.clone_from(&self.variant);
        session.native_session_id.clone_from(&self.native_session_id);
        session.directory = Some(self.directory.to_string_lossy().into_owned());
        session.title.clone_from(&self.title);
        session.config = serde_json::to_string(&config).ok().map(|config| RawJson::from_payload(&config));
        session
    }

    /// What may be secret, and is therefore kept in memory only.
    pub(crate) fn secrets(&self) -> Option<Secrets> {
        let has_secrets = !self.env.is_empty() || self.mcp.iter().any(|(_, server)| !server.secrets().is_empty());
        has_secrets.then(|| Secrets { env: self.env.clone(), mcp: self.mcp.clone() })
    }

    /// The session as it was created. What is not in `secrets` any more is looked for in the server's own
    /// environment, by name.
    pub(crate) fn of_stored(session: &Session, kept: &StoredState, secrets: Option<Secrets>) -> Result<Self, Missing> {
        let config: Config =
            kept.config.as_ref().and_then(|config| serde_json::from_str(config.as_str()).ok()).unwrap_or_default();
        let (env, mcp) = match secrets {
            Some(secrets) => (secrets.env, secrets.mcp),
            None => (found(&config.env)?, servers(config.mcp, &config.mcp_secrets)?),
        };
        Ok(Self {
            session_id: session.id.clone(),
            native_session_id: session.native_session_id.clone(),
            directory: session.directory.as_deref().map_or(Path::new("."), Path::new).to_owned(),
            agent_mode: session.agent_mode.clone(),
            permission_mode: session.permission_mode.as_deref().and_then(PermissionMode::from_name).unwrap_or_default(),
            model: session.model.clone(),
            variant: session.variant.clone(),
            agent_version: config.agent_version,
            title: session.title.clone(),
            env,
            mcp,
        })
    }
}

/// Values that may be secret. They are never written down.
#[derive(Clone, Debug)]
pub(crate) struct Secrets {
    env: Environment,
    mcp: McpServers,
}

/// The secrets of the sessions, for as long as the process lives.
pub(crate) type AllSecrets = HashMap<SessionId, Secrets>;

/// A session was given values that the server, restarted since, no longer has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this session was created with values for {}, which are kept in memory only and were lost when the server was \
     restarted; start the server with them in its environment, or create a new session", names.join(", ")
)]
pub(crate) struct Missing {
    names: Vec<String>,
}

/// The variables of these names from the server's own environment.
fn found(names: &[String]) -> Result<Environment, Missing> {
    let known = |name: &String| std::env::var(name).ok().map(|value| (name.clone(), value));
    let missing: Vec<String> = names.iter().filter(|name| known(name).is_none()).cloned().collect();
    if missing.is_empty() {
        return Ok(names.iter().filter_map(known).collect());
    }
    Err(Missing { names: missing })
}

fn servers(written: BTreeMap<String, Written>, secrets: &BTreeMap<String, Vec<String>>) -> Result<McpServers, Missing> {
    let mut servers = Vec::new();
    for (name, written) in written {
        let Ok(mut server) = written.read() else { continue };
        if let Some(names) = secrets.get(&name) {
            match &mut server {
                McpServer::Local { env, .. } => *env = found(names)?,
                // A header's name is not that of a variable.
                McpServer::Remote { .. } => {
                    let names = names.iter().map(|header| format!("{header} of MCP server {name}")).collect();
                    return Err(Missing { names });
                }
            }
        }
        servers.push((name, server));
    }
    Ok(servers.into_iter().collect())
}

//! What a session is created with, and what of it is stored.
//!
//! Every field is honoured or refused. What a restarted server needs is stored with the session. Values that may be
//! secret (`env`, the environment and headers of MCP servers) are not stored, only their names are. So a session
//! without its secrets can report them as missing instead of running without them ([`crate::secrets`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use interlingua_schema::{RawJson, SessionId};
use interlingua_store::{NewSession, Session, StoreError};
use serde::{Deserialize, Serialize};

use crate::agents::{AgentStatus, InstallOptions, InstallRemedy};
use crate::driver::{Driver, SessionSpec};
use crate::environment::Environment;
use crate::error::{Refusal, RuntimeError};
use crate::mcp::{McpServer, McpServerConfig, McpServers};
use crate::permission_mode::PermissionMode;
use crate::runtime::{CreatedSession, Runtime};
use crate::secrets::{SecretName, Secrets};
use crate::session::SessionRequest;
use crate::session_id::check_session_id;
use crate::skills::{SkillLink, Skills};
use crate::update::check_labels;

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
    /// Where the agent can run, if servers share the store: `any`, or the name of a server; `None` for where its files are.
    pub placement: Option<String>,
    /// Environment variables for the agent's process.
    pub env: Environment,
    /// MCP servers for the agent.
    pub mcp: McpServers,
    /// Skills that are linked into the agent's folder.
    pub skills: Skills,
    /// Milliseconds that a permission request or question waits for an answer before it is denied or rejected; `None` for
    /// the runtime's timeout.
    pub request_timeout_ms: Option<u64>,
}

/// A session that the agent can serve.
pub(crate) struct CheckedSession {
    pub(crate) spec: SessionSpec,
    /// What is stored with the session.
    pub(crate) config: StoredConfig,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) secrets: Secrets,
    pub(crate) skills: Skills,
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
    /// The links in the agent's folder for skills.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) skills: Vec<SkillLink>,
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
        let servers: McpServers = servers.collect();
        // A session without its variables is not started.
        servers.resolve(&secrets.env()).unwrap_or(servers)
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
        pub placement: Option<String>,
        pub env: Environment,
        pub mcp: McpServers,
        pub skills: Skills,
        pub request_timeout_ms: Option<u64>,
    }

    /// Checks the parameters.
    pub(crate) fn check(self, id: SessionId, driver: &dyn Driver) -> Result<CheckedSession, RuntimeError> {
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
        check_labels(&self.labels)?;
        let config = self.to_stored_config();
        let secrets = Secrets::new(&self.env, &self.mcp);
        let mcp = self.mcp.resolve(&self.env).map_err(|refusal| refusal.into_runtime_error(driver.id()))?;
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
            mcp,
        };
        driver.check(&spec).map_err(|refusal| refusal.into_runtime_error(driver.id()))?;
        Ok(CheckedSession { spec, config, labels: self.labels, secrets, skills: self.skills })
    }

    fn to_stored_config(&self) -> StoredConfig {
        let with_secrets = self.mcp.iter().filter(|(_, server)| !server.secrets().is_empty());
        StoredConfig {
            agent_version: self.agent_version.clone(),
            env: self.env.names().map(str::to_owned).collect(),
            mcp: self.mcp.iter().map(|(name, server)| (name.to_owned(), server.without_secrets())).collect(),
            mcp_secrets: with_secrets
                .map(|(name, server)| (name.to_owned(), server.secrets().names().map(str::to_owned).collect()))
                .collect(),
            request_timeout_ms: self.request_timeout_ms,
            skills: Vec::new(),
        }
    }
}

impl Runtime {
    /// Creates a session. The first message starts its agent.
    ///
    /// # Errors
    /// If a field cannot be honoured, or a session with this id exists.
    pub async fn create(&self, id: SessionId, create: CreateSession) -> Result<CreatedSession, RuntimeError> {
        check_session_id(&id)?;
        let driver = self.driver(&create.agent)?;
        if self.shared.store.session(&id).await?.is_some() {
            return Err(RuntimeError::SessionAlreadyExists(id));
        }
        let status = driver.status();
        if !status.installed {
            self.install_missing(&status, create.agent_version.clone()).await?;
        }
        Arc::clone(&driver).refresh_status().await;
        let placement = self.place(create.placement.clone(), &*driver)?;
        let mut checked = create.check(id, &*driver)?;
        let skills_guard = self.link_skills(&mut checked, &*driver).await?;
        let mut new = checked.to_new_session(driver.id());
        (new.placement, new.home) = (placement.server, placement.home);
        let session = match self.shared.store.create(new).await {
            Ok(session) => session,
            Err(error) => {
                drop(skills_guard);
                self.unlink_skills(checked.spec.directory.to_str(), &checked.config.skills).await;
                return Err(match error {
                    StoreError::SessionAlreadyExists(id) => RuntimeError::SessionAlreadyExists(id),
                    error => error.into(),
                });
            }
        };
        drop(skills_guard);
        let CheckedSession { spec, secrets, .. } = checked;
        if secrets.is_empty() {
            self.dispatch(&session, SessionRequest::Wake).await?;
        } else {
            self.mark_secrets_complete(session.key);
            self.secrets().insert(session.key, secrets);
            self.announce_secrets(&session).await?;
        }
        Ok(CreatedSession { native_session_id: spec.native_session_id })
    }

    /// Installs an agent for a session, if that is allowed and possible.
    async fn install_missing(&self, agent: &AgentStatus, version: Option<String>) -> Result<(), RuntimeError> {
        let remedy = agent.install_remedy(version.as_deref());
        if !self.shared.options.auto_install || matches!(remedy, InstallRemedy::Instructions(_)) {
            return Err(RuntimeError::AgentNotInstalled { agent: agent.id, remedy });
        }
        self.install(agent.id, InstallOptions { reinstall: false, version }).await
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

impl CheckedSession {
    /// The session as it is stored.
    pub(crate) fn to_new_session(&self, agent: &'static str) -> NewSession {
        let Self { spec, config, .. } = self;
        let mut session = NewSession::new(spec.session_id.clone(), agent);
        session.agent_mode.clone_from(&spec.agent_mode);
        session.permission_mode = Some(spec.permission_mode.name().to_owned());
        session.model.clone_from(&spec.model);
        session.variant.clone_from(&spec.variant);
        session.native_session_id.clone_from(&spec.native_session_id);
        session.directory = Some(spec.directory.to_string_lossy().into_owned());
        session.title.clone_from(&spec.title);
        session.labels.clone_from(&self.labels);
        session.has_secrets = !config.env.is_empty() || !config.mcp_secrets.is_empty();
        session.config = serde_json::to_string(config).ok().map(|config| RawJson::from_payload(&config));
        session
    }
}

impl SessionSpec {
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

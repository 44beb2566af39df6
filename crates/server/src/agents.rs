//! Agents: list, install, modes and models.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use interlingua_runtime::{
    AgentStatus, InstallOptions, InstallState, InstallStatus, Models, RuntimeError, ServerState,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::OptionalJsonBody;
use crate::capabilities::Capabilities;
use crate::compat::translate_models;
use crate::path::AgentPath;
use crate::problem::Problem;
use crate::query::NoQuery;

/// The agents.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentList {
    agents: Vec<AgentInfo>,
}

/// An agent and its installation on the server's machine.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentInfo {
    /// Agent id: `claude`, `codex`, `opencode`, `amp`, `mock`.
    id: &'static str,
    /// Name for people.
    #[schema(example = "Claude Code")]
    name: &'static str,
    /// Whether its program is installed.
    installed: bool,
    /// Whether the server's environment has credentials for the agent, or it needs none.
    credentials_available: bool,
    /// Installed version; omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    version: Option<String>,
    /// Path of the program; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    path: Option<String>,
    capabilities: Capabilities,
    /// The process that its sessions share; omitted for agents with a process per session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    server_status: Option<ServerInfo>,
}

/// The process that the sessions of an agent share.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerInfo {
    status: ServerInfoStatus,
    /// Address that it listens on; omitted if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    base_url: Option<String>,
    /// Time since it started; omitted if it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    uptime_ms: Option<u64>,
    /// Number of restarts.
    restart_count: u64,
    /// Why it last failed; omitted if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_error: Option<String>,
}

/// State of a shared process.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ServerInfoStatus {
    /// It runs.
    Running,
    /// It was not needed yet, or was stopped.
    Stopped,
    /// It failed and could not be restarted.
    Error,
}

impl From<AgentStatus> for AgentInfo {
    fn from(status: AgentStatus) -> Self {
        Self {
            id: status.id,
            name: status.name,
            installed: status.installed,
            credentials_available: status.credentials_available(),
            version: status.version,
            path: status.path.map(|path| path.to_string_lossy().into_owned()),
            capabilities: Capabilities::for_agent(status.id),
            server_status: status.server.map(|server| ServerInfo {
                status: match server.state {
                    ServerState::Running => ServerInfoStatus::Running,
                    ServerState::Stopped => ServerInfoStatus::Stopped,
                    ServerState::Error => ServerInfoStatus::Error,
                },
                base_url: server.base_url,
                uptime_ms: server.uptime_ms,
                restart_count: server.restart_count,
                last_error: server.last_error,
            }),
        }
    }
}

/// Lists the agents. Starts none of them.
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "agents",
    operation_id = "listAgents",
    responses((status = 200, description = "All agents", body = AgentList))
)]
pub(crate) async fn list(State(app): State<App>, _: NoQuery) -> Json<AgentList> {
    Json(AgentList { agents: app.runtime().agents().into_iter().map(AgentInfo::from).collect() })
}

/// What to install.
#[derive(Deserialize, ToSchema)]
pub(crate) struct InstallRequest {
    /// Whether to install the agent again if it is installed already; false if absent.
    reinstall: Option<bool>,
    /// Version to install; the version that this server supports if absent.
    version: Option<String>,
}

/// Installs an agent. Answers when it is installed, or with `Prefer: respond-async` at once. The installation goes on when
/// the client leaves. A second request joins it, unless it names another version.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/install",
    tag = "agents",
    operation_id = "installAgent",
    params(
        ("agent" = String, Path, description = "Agent id"),
        ("Prefer" = Option<String>, Header, description = "`respond-async`: do not wait for the installation"),
    ),
    request_body(content = Option<InstallRequest>),
    responses(
        (status = 204, description = "The agent is installed"),
        (status = 202, description = "The installation runs; asked for with `Prefer: respond-async`", body = InstallInfo),
    )
)]
pub(crate) async fn install(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    headers: HeaderMap,
    OptionalJsonBody(request): OptionalJsonBody<InstallRequest>,
) -> Result<Response, Problem> {
    let install = InstallOptions::new(request.version, request.reinstall.unwrap_or_default());
    if prefers_async(&headers) {
        app.runtime().start_install(&agent, install)?;
        let info = InstallInfo::from(app.runtime().install_status(&agent)?);
        let applied = [(HeaderName::from_static("preference-applied"), "respond-async")];
        return Ok((StatusCode::ACCEPTED, applied, Json(info)).into_response());
    }
    app.runtime().install(&agent, install).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Whether a request has the preference `respond-async` (RFC 7240).
pub(crate) fn prefers_async(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").into_iter().filter_map(|value| value.to_str().ok());
    let mut preferences = values.flat_map(|value| value.split(','));
    preferences.any(|preference| {
        let name = preference.split([';', '=']).next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("respond-async")
    })
}

/// The last installation of an agent since the server was started.
#[derive(Serialize, ToSchema)]
pub(crate) struct InstallInfo {
    /// State of the installation.
    #[schema(value_type = InstallStateSchema)]
    state: InstallState,
    /// How far a running installation is; omitted in other states.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    progress: Option<InstallProgressInfo>,
    /// Why the installation failed; omitted in other states.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<String>,
}

/// State of the last installation of an agent since the server was started.
#[derive(ToSchema)]
#[schema(as = InstallState, rename_all = "lowercase")]
#[allow(dead_code, reason = "describes `InstallState` of the runtime")]
pub(crate) enum InstallStateSchema {
    /// There was none.
    None,
    /// It runs.
    Running,
    /// It has finished.
    Done,
    /// It has failed.
    Failed,
}

/// How far an installation is. Its total size is not known.
#[derive(Serialize, ToSchema)]
pub(crate) struct InstallProgressInfo {
    /// Number of bytes on disk so far.
    bytes: u64,
}

impl From<InstallStatus> for InstallInfo {
    fn from(status: InstallStatus) -> Self {
        let is_running = status.state == InstallState::Running;
        Self {
            state: status.state,
            progress: is_running.then_some(InstallProgressInfo { bytes: status.bytes }),
            message: status.failure,
        }
    }
}

/// Reads how far the last installation of an agent is.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/install",
    tag = "agents",
    operation_id = "getInstall",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "The last installation since the server was started", body = InstallInfo))
)]
pub(crate) async fn install_status(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
) -> Result<Json<InstallInfo>, Problem> {
    Ok(Json(app.runtime().install_status(&agent)?.into()))
}

/// The modes of an agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModeList {
    modes: Vec<ModeInfo>,
}

/// A mode that a session can be created with.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModeInfo {
    /// Value for `agentMode`.
    id: String,
    /// Name for people.
    name: String,
    /// What the mode does.
    description: String,
}

/// Lists the modes that a session of the agent can be created with.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/modes",
    tag = "agents",
    operation_id = "listModes",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "The modes of the agent", body = ModeList))
)]
pub(crate) async fn modes(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    _: NoQuery,
) -> Result<Json<ModeList>, Problem> {
    let modes = app.runtime().modes(&agent).await?;
    let info =
        |mode: interlingua_runtime::Mode| ModeInfo { id: mode.id, name: mode.name, description: mode.description };
    Ok(Json(ModeList { modes: modes.into_iter().map(info).collect() }))
}

/// The models of an agent.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelList {
    models: Vec<ModelInfo>,
    /// Model that is used when none is given; omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    default_model: Option<String>,
    /// True if the agent is not installed, so that it could not be asked: it may have other models. Otherwise omitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fallback: bool,
}

/// A model that a session can be created with.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelInfo {
    /// Value for `model`.
    id: String,
    /// Name for people; omitted if it is the same as the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name: Option<String>,
    /// Values for `variant`; omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variants: Vec<String>,
    /// Variant that is used when none is given; omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    default_variant: Option<String>,
}

/// Lists the models that a session of the agent can be created with.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/models",
    tag = "agents",
    operation_id = "listModels",
    params(("agent" = String, Path, description = "Agent id")),
    responses((status = 200, description = "The models of the agent", body = ModelList))
)]
pub(crate) async fn models(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    _: NoQuery,
) -> Result<Json<ModelList>, Problem> {
    let compat = app.config().compat;
    let models = match app.runtime().models(&agent).await {
        Err(RuntimeError::AgentProcessExited { .. } | RuntimeError::Timeout(_)) if compat.is_some() => {
            Models::fallback(&agent)
        }
        models => models?,
    };
    let models = if compat.is_some() { translate_models(&agent, models) } else { models };
    let info = |model: interlingua_runtime::Model| ModelInfo {
        id: model.id,
        name: model.name,
        variants: model.variants,
        default_variant: model.default_variant,
    };
    Ok(Json(ModelList {
        models: models.models.into_iter().map(info).collect(),
        default_model: models.default_model,
        fallback: models.fallback,
    }))
}

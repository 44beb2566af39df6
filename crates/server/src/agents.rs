//! The agents: which there are, what they can do, how they are installed.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use interlingua_runtime::{AgentStatus, InstallOptions, ServerState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::OptionalJsonBody;
use crate::capabilities::Capabilities;
use crate::path::AgentPath;
use crate::problem::Problem;

/// The agents there are.
#[derive(Serialize, ToSchema)]
pub(crate) struct AgentList {
    agents: Vec<AgentInfo>,
}

/// An agent, as it is installed here.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentInfo {
    /// Its name: `claude`, `codex`, `opencode`, `amp`, `mock`.
    id: &'static str,
    /// Whether its program is there.
    installed: bool,
    /// Whether credentials for it were found in the server's environment, or it needs none.
    credentials_available: bool,
    /// Its version; left out when it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// Its program; left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    capabilities: Capabilities,
    /// The process that its sessions share; left out for agents with a process per session.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_status: Option<ServerInfo>,
}

/// The process that the sessions of an agent share.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerInfo {
    status: ServerInfoStatus,
    /// Where it listens; left out when it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    base_url: Option<String>,
    /// How long it has been running; left out when it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime_ms: Option<u64>,
    /// How often it was started again.
    restart_count: u64,
    /// Why it last went down; left out when it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<String>,
}

/// What a shared process does.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ServerInfoStatus {
    /// It runs.
    Running,
    /// It was not needed yet, or was ended.
    Stopped,
    /// It fell and could not be started.
    Error,
}

impl From<AgentStatus> for AgentInfo {
    fn from(status: AgentStatus) -> Self {
        Self {
            id: status.id,
            installed: status.installed,
            credentials_available: status.credentials_available(),
            version: status.version,
            path: status.path.map(|path| path.to_string_lossy().into_owned()),
            capabilities: Capabilities::of(status.id),
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

/// Which agents there are. Starts none of them.
#[utoipa::path(
    get,
    path = "/v1/agents",
    tag = "agents",
    operation_id = "listAgents",
    responses((status = 200, description = "All agents", body = AgentList))
)]
pub(crate) async fn list(State(app): State<App>) -> Json<AgentList> {
    Json(AgentList { agents: app.runtime().agents().into_iter().map(AgentInfo::from).collect() })
}

/// What is to be installed.
#[derive(Deserialize, ToSchema)]
pub(crate) struct InstallRequest {
    /// Even if it is installed; no when absent.
    reinstall: Option<bool>,
    /// This version; the one this server was made for when absent.
    version: Option<String>,
}

/// Installs an agent.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/install",
    tag = "agents",
    operation_id = "installAgent",
    params(("agent" = String, Path, description = "The agent's name")),
    request_body(content = Option<InstallRequest>),
    responses((status = 204, description = "It is installed"))
)]
pub(crate) async fn install(
    State(app): State<App>,
    AgentPath(agent): AgentPath,
    OptionalJsonBody(request): OptionalJsonBody<InstallRequest>,
) -> Result<StatusCode, Problem> {
    let install = InstallOptions::new(request.version, request.reinstall.unwrap_or_default());
    app.runtime().install(&agent, install).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The modes of an agent.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModeList {
    modes: Vec<ModeInfo>,
}

/// A mode that a session can be created with.
#[derive(Serialize, ToSchema)]
pub(crate) struct ModeInfo {
    /// What to give as `agentMode`.
    id: String,
    /// What people read.
    name: String,
    /// What it does.
    description: String,
}

/// The modes that an agent's sessions can be created with.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/modes",
    tag = "agents",
    operation_id = "listModes",
    params(("agent" = String, Path, description = "The agent's name")),
    responses((status = 200, description = "Its modes", body = ModeList))
)]
pub(crate) async fn modes(State(app): State<App>, AgentPath(agent): AgentPath) -> Result<Json<ModeList>, Problem> {
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
    /// The one that is used when none is given; left out when nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_model: Option<String>,
}

/// A model that a session can be created with.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelInfo {
    /// What to give as `model`.
    id: String,
    /// What people read; left out when it is the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What can be given as `variant`; left out when there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variants: Vec<String>,
    /// The variant that is used when none is given; left out when nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    default_variant: Option<String>,
}

/// The models that an agent's sessions can be created with.
#[utoipa::path(
    get,
    path = "/v1/agents/{agent}/models",
    tag = "agents",
    operation_id = "listModels",
    params(("agent" = String, Path, description = "The agent's name")),
    responses((status = 200, description = "Its models", body = ModelList))
)]
pub(crate) async fn models(State(app): State<App>, AgentPath(agent): AgentPath) -> Result<Json<ModelList>, Problem> {
    let models = app.runtime().models(&agent).await?;
    let info = |model: interlingua_runtime::Model| ModelInfo {
        id: model.id,
        name: model.name,
        variants: model.variants,
        default_variant: model.default_variant,
    };
    Ok(Json(ModelList { models: models.models.into_iter().map(info).collect(), default_model: models.default_model }))
}

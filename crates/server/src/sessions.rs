//! Sessions: create, list, interrupt, terminate, delete.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use interlingua_runtime::{Environment, McpServer, McpServers, Runtime, SessionState};
use interlingua_store::{Session, SessionKey};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::StrictJsonBody;
use crate::object::Object;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::query::Query;

/// Number of sessions of a page if the client gives no limit.
const DEFAULT_PAGE_SESSIONS: usize = 1000;
/// Maximum number of sessions of a page.
const MAX_PAGE_SESSIONS: usize = 10_000;

/// A session to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateSession {
    /// Agent id: `claude`, `codex`, `opencode`, `amp`, `mock`.
    agent: String,
    /// The agent's mode: `build`, `plan`, `custom`, or one that `/modes` lists; the agent's default if absent.
    agent_mode: Option<String>,
    /// What the agent may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; `default` if absent.
    permission_mode: Option<String>,
    /// The model; the agent's default if absent.
    model: Option<String>,
    /// Variant of the model; the model's default if absent.
    variant: Option<String>,
    /// The agent's version; the installed one if absent.
    agent_version: Option<String>,
    /// The agent's working directory, which must exist; the server's working directory if absent.
    directory: Option<String>,
    /// Title for people.
    title: Option<String>,
    /// Environment variables for the agent's process. They are kept in memory only.
    env: Option<BTreeMap<String, String>>,
    /// MCP servers for the agent, by name: `{"command", "args", "env"}` or `{"type", "url", "headers"}`.
    #[schema(value_type = Option<BTreeMap<String, Object>>)]
    mcp: Option<BTreeMap<String, Object<McpServer>>>,
}

impl From<CreateSession> for interlingua_runtime::CreateSession {
    fn from(create: CreateSession) -> Self {
        Self::new(create.agent)
            .agent_mode(create.agent_mode)
            .permission_mode(create.permission_mode)
            .model(create.model)
            .variant(create.variant)
            .agent_version(create.agent_version)
            .directory(create.directory)
            .title(create.title)
            .env(create.env.unwrap_or_default().into_iter().collect::<Environment>())
            .mcp(
                create
                    .mcp
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(name, server)| (name, server.0))
                    .collect::<McpServers>(),
            )
    }
}

/// The session was created.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Created {
    /// Always true.
    healthy: bool,
    /// The agent's own id of the session; omitted until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_session_id: Option<String>,
}

/// Creates a session. Fails with 409 if the id is taken.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}",
    tag = "sessions",
    operation_id = "createSession",
    params(("id" = String, Path, description = "Session id: 1 to 256 bytes without control characters")),
    request_body = CreateSession,
    responses((status = 200, description = "The session was created", body = Created))
)]
pub(crate) async fn create(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    StrictJsonBody(create): StrictJsonBody<CreateSession>,
) -> Result<Json<Created>, Problem> {
    let created = app.runtime().create(id, create.into()).await?;
    let native_session_id = created.native_session_id.map(|native| native.as_str().to_owned());
    Ok(Json(Created { healthy: true, native_session_id }))
}

/// A session. Fields without a value are null.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    /// Session id.
    session_id: String,
    /// Agent id.
    agent: String,
    /// The agent's mode, if one was chosen.
    agent_mode: Option<String>,
    /// What the agent may do without asking.
    permission_mode: Option<String>,
    /// The model, if one was chosen.
    model: Option<String>,
    /// Variant of the model, if one was chosen.
    variant: Option<String>,
    /// The agent's own id of the session; null until it is known.
    native_session_id: Option<String>,
    /// What the session is doing: `idle`, `running`, `needs_secrets` or `ended`.
    #[schema(value_type = String, example = "idle")]
    state: SessionState,
    /// Names of the values that the session waits for in the state `needs_secrets`; omitted in other states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    secrets_missing: Vec<String>,
    /// Whether the session has ended.
    ended: bool,
    /// Number of events, which is also the `sequence` of the last one.
    event_count: u64,
    /// Time of creation in milliseconds since 1970.
    created_at: i64,
    /// Time of the last change in milliseconds since 1970.
    updated_at: i64,
    /// The agent's working directory.
    directory: Option<String>,
    /// Title for people.
    title: Option<String>,
}

impl SessionInfo {
    fn new(session: Session, runtime: &Runtime) -> Self {
        let status = runtime.status(&session);
        Self {
            session_id: session.id.as_str().to_owned(),
            agent: session.agent,
            agent_mode: session.agent_mode,
            permission_mode: session.permission_mode,
            model: session.model,
            variant: session.variant,
            native_session_id: session.native_session_id.map(|native| native.as_str().to_owned()),
            state: status.state,
            secrets_missing: status.secrets_missing,
            ended: session.ended,
            event_count: session.event_count,
            created_at: session.created_at.as_millis(),
            updated_at: session.updated_at.as_millis(),
            directory: session.directory,
            title: session.title,
        }
    }
}

/// A page of sessions, newest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionList {
    sessions: Vec<SessionInfo>,
    /// Value for `cursor` to get the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Lists the sessions, newest first.
#[utoipa::path(
    get,
    path = "/v1/sessions",
    tag = "sessions",
    operation_id = "listSessions",
    params(
        ("limit" = Option<usize>, Query, description = "Maximum number of sessions: 1000 if absent, 10000 at most"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page"),
    ),
    responses((status = 200, description = "A page of sessions", body = SessionList))
)]
pub(crate) async fn list(State(app): State<App>, query: Query) -> Result<Json<SessionList>, Problem> {
    query.expect_only(&["limit", "cursor"])?;
    let limit = query.number("limit")?.unwrap_or(DEFAULT_PAGE_SESSIONS).min(MAX_PAGE_SESSIONS);
    let from = query.number("cursor")?.map(SessionKey::from_number);
    let page = app.store().sessions(limit, from).await?;
    Ok(Json(SessionList {
        sessions: page.sessions.into_iter().map(|session| SessionInfo::new(session, app.runtime())).collect(),
        next_cursor: page.next.map(|key| key.to_number().to_string()),
    }))
}

/// Reads a session.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}",
    tag = "sessions",
    operation_id = "getSession",
    params(("id" = String, Path, description = "Session id")),
    responses((status = 200, description = "The session", body = SessionInfo))
)]
pub(crate) async fn get(State(app): State<App>, SessionPath(id): SessionPath) -> Result<Json<SessionInfo>, Problem> {
    Ok(Json(SessionInfo::new(app.session(&id).await?, app.runtime())))
}

/// Stops a session's agent, and deletes the session with all its events.
#[utoipa::path(
    delete,
    path = "/v1/sessions/{id}",
    tag = "sessions",
    operation_id = "deleteSession",
    params(("id" = String, Path, description = "Session id")),
    responses((status = 204, description = "The session was deleted"))
)]
pub(crate) async fn delete(State(app): State<App>, SessionPath(id): SessionPath) -> Result<StatusCode, Problem> {
    app.runtime().delete(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Interrupts the running turn, if there is one: it ends as `interrupted`. The session stays open, and queued messages
/// stay queued.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/interrupt",
    tag = "sessions",
    operation_id = "interruptSession",
    params(("id" = String, Path, description = "Session id")),
    responses((status = 204, description = "The turn that was running has ended"), (status = 409, description = "The session has ended"))
)]
pub(crate) async fn interrupt(State(app): State<App>, SessionPath(id): SessionPath) -> Result<StatusCode, Problem> {
    app.runtime().interrupt(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a session and stops its agent. Its events can still be read. Does nothing if the session has ended.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/terminate",
    tag = "sessions",
    operation_id = "terminateSession",
    params(("id" = String, Path, description = "Session id")),
    responses((status = 204, description = "The session has ended"))
)]
pub(crate) async fn terminate(State(app): State<App>, SessionPath(id): SessionPath) -> Result<StatusCode, Problem> {
    app.runtime().terminate(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Sessions: created, listed, interrupted, ended, removed.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use interlingua_runtime::{Environment, McpServers};
use interlingua_store::{Session, SessionKey};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::JsonBody;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::query::Query;

/// A page has so many sessions when the client does not say, and at most.
const PAGE: usize = 1000;
const LONGEST_PAGE: usize = 10_000;

/// A session that a client wants.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateSession {
    /// The agent: `claude`, `codex`, `opencode`, `amp`, `mock`.
    agent: String,
    /// The agent's mode: `build`, `plan`, `custom`, or one that `/modes` lists; the agent's default when absent.
    agent_mode: Option<String>,
    /// What it may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; `default` when absent.
    permission_mode: Option<String>,
    /// The model; the agent's default when absent.
    model: Option<String>,
    /// The model's variant; its default when absent.
    variant: Option<String>,
    /// The agent's version; the installed one when absent.
    agent_version: Option<String>,
    /// The agent's working directory, which must exist; the server's own when absent.
    directory: Option<String>,
    /// What a person calls the session.
    title: Option<String>,
    /// Environment variables for the agent's process. Kept in memory only.
    env: Option<BTreeMap<String, String>>,
    /// MCP servers for the agent, by name: `{"command", "args", "env"}` or `{"type", "url", "headers"}`.
    #[schema(value_type = Option<BTreeMap<String, Object>>)]
    mcp: Option<McpServers>,
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
            .mcp(create.mcp.unwrap_or_default())
    }
}

/// A session was created.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Created {
    /// Always true.
    healthy: bool,
    /// The agent's own name of the session; left out while it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    native_session_id: Option<String>,
}

/// Creates a session. Of two that are created with one id, one is, and the other gets 409.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}",
    tag = "sessions",
    operation_id = "createSession",
    params(("id" = String, Path, description = "The session's name: 1 to 256 bytes without control characters")),
    request_body = CreateSession,
    responses((status = 200, description = "It is created", body = Created))
)]
pub(crate) async fn create(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    JsonBody(create): JsonBody<CreateSession>,
) -> Result<Json<Created>, Problem> {
    let created = app.runtime().create(id, create.into()).await?;
    let native_session_id = created.native_session_id.map(|native| native.as_str().to_owned());
    Ok(Json(Created { healthy: true, native_session_id }))
}

/// What is known of a session. What has no value is null.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionInfo {
    /// Its name.
    session_id: String,
    /// The agent it talks to.
    agent: String,
    /// The agent's mode, if one was chosen.
    agent_mode: Option<String>,
    /// What the agent may do without asking.
    permission_mode: Option<String>,
    /// The model, if one was chosen.
    model: Option<String>,
    /// The model's variant, if one was chosen.
    variant: Option<String>,
    /// The agent's own name of the session, once it is known.
    native_session_id: Option<String>,
    /// Whether it is over.
    ended: bool,
    /// How many events it has, which is the `sequence` of the last.
    event_count: u64,
    /// When it was created, in milliseconds since 1970.
    created_at: i64,
    /// When something last happened in it, in milliseconds since 1970.
    updated_at: i64,
    /// The agent's working directory.
    directory: Option<String>,
    /// What a person calls it.
    title: Option<String>,
}

impl From<Session> for SessionInfo {
    fn from(session: Session) -> Self {
        Self {
            session_id: session.id.as_str().to_owned(),
            agent: session.agent,
            agent_mode: session.agent_mode,
            permission_mode: session.permission_mode,
            model: session.model,
            variant: session.variant,
            native_session_id: session.native_session_id.map(|native| native.as_str().to_owned()),
            ended: session.ended,
            event_count: session.event_count,
            created_at: session.created_at.as_millis(),
            updated_at: session.updated_at.as_millis(),
            directory: session.directory,
            title: session.title,
        }
    }
}

/// Some of the sessions, newest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionList {
    sessions: Vec<SessionInfo>,
    /// What to give as `cursor` for the next page; left out when this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The sessions, newest first.
#[utoipa::path(
    get,
    path = "/v1/sessions",
    tag = "sessions",
    operation_id = "listSessions",
    params(
        ("limit" = Option<usize>, Query, description = "At most so many; 1000 when absent, never more than 10000"),
        ("cursor" = Option<String>, Query, description = "The `nextCursor` of the page before"),
    ),
    responses((status = 200, description = "A page of sessions", body = SessionList))
)]
pub(crate) async fn list(State(app): State<App>, query: Query) -> Result<Json<SessionList>, Problem> {
    let limit = query.number("limit")?.unwrap_or(PAGE).min(LONGEST_PAGE);
    let from = query.number("cursor")?.map(SessionKey::from_number);
    let page = app.store().sessions(limit, from).await?;
    Ok(Json(SessionList {
        sessions: page.sessions.into_iter().map(SessionInfo::from).collect(),
        next_cursor: page.next.map(|key| key.to_number().to_string()),
    }))
}

/// What is known of a session.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}",
    tag = "sessions",
    operation_id = "getSession",
    params(("id" = String, Path, description = "The session's name")),
    responses((status = 200, description = "The session", body = SessionInfo))
)]
pub(crate) async fn get(State(app): State<App>, SessionPath(id): SessionPath) -> Result<Json<SessionInfo>, Problem> {
    Ok(Json(app.session(&id).await?.into()))
}

/// Ends a session's agent, and removes the session with all its events.
#[utoipa::path(
    delete,
    path = "/v1/sessions/{id}",
    tag = "sessions",
    operation_id = "deleteSession",
    params(("id" = String, Path, description = "The session's name")),
    responses((status = 204, description = "It is gone"))
)]
pub(crate) async fn delete(State(app): State<App>, SessionPath(id): SessionPath) -> Result<StatusCode, Problem> {
    app.runtime().delete(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends the running turn as `interrupted`, if there is one. The session lives on, and so do messages that wait.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/interrupt",
    tag = "sessions",
    operation_id = "interruptSession",
    params(("id" = String, Path, description = "The session's name")),
    responses((status = 204, description = "No turn runs that ran before"), (status = 409, description = "The session has ended"))
)]
pub(crate) async fn interrupt(State(app): State<App>, SessionPath(id): SessionPath) -> Result<StatusCode, Problem> {
    app.runtime().interrupt(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a session and its agent. Its events can still be read. One that has ended stays so.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/terminate",
    tag = "sessions",
    operation_id = "terminateSession",
    params(("id" = String, Path, description = "The session's name")),
    responses((status = 204, description = "It has ended"))
)]
pub(crate) async fn terminate(State(app): State<App>, SessionPath(id): SessionPath) -> Result<StatusCode, Problem> {
    app.runtime().terminate(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

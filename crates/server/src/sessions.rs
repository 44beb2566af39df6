//! Sessions: create, read, change, interrupt, terminate, delete.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use interlingua_runtime::{Environment, McpServer, McpServers, Skills, UpdateSession as Update};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::StrictJsonBody;
use crate::compat::translate_create;
use crate::object::Object;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::session_info::SessionInfo;

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
    /// Labels, by name, for programs that manage many sessions.
    labels: Option<BTreeMap<String, String>>,
    /// Environment variables for the agent's process. They are kept in memory only.
    env: Option<BTreeMap<String, String>>,
    /// MCP servers for the agent, by name: `{"command", "args", "env"}` or `{"type", "url", "headers"}`.
    #[schema(value_type = Option<BTreeMap<String, Object>>)]
    mcp: Option<BTreeMap<String, Object<McpServer>>>,
    /// Milliseconds that a permission request or question waits for an answer before it is denied or rejected; the
    /// server's `--request-timeout` if absent.
    #[schema(minimum = 1)]
    request_timeout_ms: Option<u64>,
    /// Where the agent can run, if servers share the store: `any`, or the name of a server; where its files will be if
    /// absent.
    #[schema(min_length = 1, max_length = 128)]
    placement: Option<String>,
    /// Skills for the agent. They are linked into its folder until the session ends.
    #[schema(value_type = Option<SkillsSchema>)]
    skills: Option<Object<Skills>>,
}

/// Skills for an agent.
#[derive(ToSchema)]
#[schema(as = Skills)]
#[allow(dead_code, reason = "describes `Skills` of the runtime")]
struct SkillsSchema {
    /// Where the skills are.
    sources: Vec<SkillSourceSchema>,
}

/// Where skills are: in the folder itself, in its folder `skills`, or in its folders. A skill is a folder with a `SKILL.md`.
#[derive(ToSchema)]
#[schema(as = SkillSource)]
#[allow(dead_code, reason = "describes `SkillSource` of the runtime")]
struct SkillSourceSchema {
    /// What `source` is.
    #[schema(rename = "type")]
    kind: SkillSourceKindSchema,
    /// An absolute path, the address of a git repository, or `OWNER/REPOSITORY` on GitHub.
    source: String,
    /// Names of the skills; all if absent.
    skills: Option<Vec<String>>,
    /// Branch, tag or commit of a repository; its default branch if absent.
    #[schema(rename = "ref")]
    reference: Option<String>,
    /// Folder of the repository that has the skills.
    subpath: Option<String>,
}

/// What a source of skills is.
#[derive(ToSchema)]
#[schema(as = SkillSourceKind, rename_all = "lowercase")]
#[allow(dead_code, reason = "describes `SkillSourceKind` of the runtime")]
enum SkillSourceKindSchema {
    /// A folder on the server's machine.
    Local,
    /// A git repository.
    Git,
    /// A repository on GitHub.
    Github,
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
            .labels(create.labels.unwrap_or_default())
            .env(create.env.unwrap_or_default().into_iter().collect::<Environment>())
            .mcp(
                create
                    .mcp
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(name, server)| (name, server.0))
                    .collect::<McpServers>(),
            )
            .request_timeout_ms(create.request_timeout_ms)
            .skills(create.skills.map(|skills| skills.0).unwrap_or_default())
            .placement(create.placement)
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
    #[schema(nullable = false)]
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
    let create: interlingua_runtime::CreateSession = create.into();
    let create = if app.config().compat.is_some() { translate_create(create) } else { create };
    let created = app.runtime().create(id, create).await?;
    let native_session_id = created.native_session_id.map(|native| native.as_str().to_owned());
    Ok(Json(Created { healthy: true, native_session_id }))
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

/// Changes of a session. A field that is absent does not change; null goes back to the default.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::option_option, reason = "null is not the same as an absent field")]
pub(crate) struct UpdateSession {
    /// Title for people; null removes it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    title: Option<Option<String>>,
    /// Labels to set, by name; null removes a label. Other labels stay.
    #[serde(default)]
    labels: BTreeMap<String, Option<String>>,
    /// The model; null for the agent's default.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    model: Option<Option<String>>,
    /// What the agent may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; null for `default`.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    permission_mode: Option<Option<String>>,
}

/// Tells null from an absent field.
#[expect(clippy::option_option, reason = "null is not the same as an absent field")]
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl From<UpdateSession> for Update {
    fn from(update: UpdateSession) -> Self {
        Self::default()
            .title(update.title)
            .labels(update.labels)
            .model(update.model)
            .permission_mode(update.permission_mode)
    }
}

/// Changes a session. The agent gets a new model or permission mode with the next message.
#[utoipa::path(
    patch,
    path = "/v1/sessions/{id}",
    tag = "sessions",
    operation_id = "updateSession",
    params(("id" = String, Path, description = "Session id")),
    request_body = UpdateSession,
    responses(
        (status = 200, description = "The changed session", body = SessionInfo),
        (status = 409, description = "The agent cannot change this now or at all; `detail` says why. Nothing was changed"),
    )
)]
pub(crate) async fn update(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    StrictJsonBody(update): StrictJsonBody<UpdateSession>,
) -> Result<Json<SessionInfo>, Problem> {
    app.runtime().update(&id, update.into()).await?;
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

//! Sessions that agents keep on disk: which there are, and their import into the store.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use interlingua_agents::Agent;
use interlingua_history::{HistoryFormat, HistorySession};
use interlingua_schema::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::agents::prefers_async;
use crate::app::App;
use crate::body::StrictJsonBody;
use crate::history_jobs::{ImportResult, ImportSelection, ImportState, ImportStatus, ListedSession};
use crate::openapi::Usage;
use crate::problem::{Problem, ProblemKind};
use crate::query::Query;
use crate::session_list::parse_time;

/// Maximum number of sessions of a page.
const MAX_PAGE_SESSIONS: usize = 10_000;

/// Sessions on the disk of the server's machine, newest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryList {
    sessions: Vec<HistorySessionInfo>,
    /// Value for `cursor` to get the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<String>,
    /// Number of sessions that pass the filters, on all pages.
    total: usize,
    /// Files and folders that cannot be read.
    problems: Vec<String>,
}

/// A session that an agent keeps on disk.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistorySessionInfo {
    /// Agent id.
    agent: &'static str,
    /// The agent's own id of the session.
    native_session_id: String,
    /// Id of the session in the store, if it is there: because it was imported, or because the server ran it. Otherwise
    /// omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    session_id: Option<String>,
    /// Format in which the agent keeps it: `claude-jsonl`, `codex-rollout`, `opencode-sqlite` or `opencode-json`.
    format: &'static str,
    /// The file, the database, or the folder of files.
    path: String,
    /// Title, or the first prompt; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    title: Option<String>,
    /// The agent's working directory; omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    directory: Option<String>,
    /// Version of the agent that started the session; omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent_version: Option<String>,
    /// Time of the first record in milliseconds since 1970; omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    started_at: Option<i64>,
    /// Time of the last record in milliseconds since 1970; omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_activity: Option<i64>,
    /// Total usage without that of sub-agents, as far as the end of the file or the database has it; otherwise omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Usage>)]
    usage: Option<interlingua_schema::Usage>,
}

impl From<&ListedSession> for HistorySessionInfo {
    fn from(listed: &ListedSession) -> Self {
        let HistorySession { native_session_id, title, directory, agent_version, usage, .. } = &listed.session;
        Self {
            agent: listed.session.agent().id(),
            native_session_id: native_session_id.clone(),
            session_id: listed.stored.as_ref().map(ToString::to_string),
            format: listed.session.format.name(),
            path: listed.session.path.to_string_lossy().into_owned(),
            title: title.clone(),
            directory: directory.clone(),
            agent_version: agent_version.clone(),
            started_at: listed.session.started_at.map(Timestamp::as_millis),
            last_activity: listed.session.last_activity.map(Timestamp::as_millis),
            usage: usage.clone(),
        }
    }
}

/// Lists the sessions that Claude Code, Codex and OpenCode keep on the disk of the server's machine, newest first: all of
/// them, or a page if `limit` is given. The folders are those of the user that runs the server.
#[utoipa::path(
    get,
    path = "/v1/history",
    tag = "history",
    operation_id = "listHistory",
    params(
        ("agent" = Option<String>, Query, description = "Only sessions of this agent"),
        ("directory" = Option<String>, Query, description = "Only sessions whose agent worked in this directory"),
        ("since" = Option<String>, Query, description = "Only sessions that have changed since: milliseconds since 1970, or a time such as `2026-01-31T08:00:00Z`"),
        ("limit" = Option<usize>, Query, description = "Maximum number of sessions, 10000 at most; all if absent"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page"),
    ),
    responses((status = 200, description = "Sessions on disk", body = HistoryList))
)]
pub(crate) async fn list(State(app): State<App>, query: Query) -> Result<Json<HistoryList>, Problem> {
    query.expect_only(&["agent", "directory", "since", "limit", "cursor"])?;
    let limit = query.number("limit")?.map_or(usize::MAX, |limit: usize| limit.min(MAX_PAGE_SESSIONS));
    let start = query.number("cursor")?.unwrap_or(0);
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let selection = ImportSelection {
        agent: query.text("agent")?.map(parse_agent).transpose()?,
        directory: owned(query.text("directory")?),
        since: query.text("since")?.map(parse_time).transpose()?,
        sessions: Vec::new(),
    };
    let listed = app.history().list().await?;
    let passing: Vec<&ListedSession> =
        listed.sessions.iter().filter(|listed| selection.includes(&listed.session)).collect();
    let page = passing.iter().skip(start).take(limit);
    let end = start.saturating_add(limit);
    Ok(Json(HistoryList {
        sessions: page.map(|listed| HistorySessionInfo::from(*listed)).collect(),
        next_cursor: (end < passing.len()).then(|| end.to_string()),
        total: passing.len(),
        problems: listed.problems.clone(),
    }))
}

fn parse_agent(name: &str) -> Result<Agent, Problem> {
    let agents = HistoryFormat::ALL.map(HistoryFormat::agent);
    agents.into_iter().find(|agent| agent.id() == name).ok_or_else(|| {
        let detail =
            format!("expected `agent` to be claude, codex or opencode, which keep sessions on disk, found {name:?}");
        Problem::invalid(detail).field("agent")
    })
}

/// Which sessions to import. At least one field is needed.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImportRequest {
    /// Whether to import all sessions.
    all: Option<bool>,
    /// Only sessions of this agent.
    agent: Option<String>,
    /// Only sessions whose agent worked in this directory.
    directory: Option<String>,
    /// Only sessions that have changed since this time in milliseconds since 1970.
    since: Option<i64>,
    /// Only sessions with these native ids.
    native_session_ids: Option<Vec<String>>,
}

impl ImportRequest {
    fn into_selection(self) -> Result<ImportSelection, Problem> {
        let Self { all, agent, directory, since, native_session_ids } = self;
        let is_empty = agent.is_none() && directory.is_none() && since.is_none() && native_session_ids.is_none();
        if is_empty && all != Some(true) {
            let detail = "expected `all`, `agent`, `directory`, `since` or `nativeSessionIds`, to say which sessions to \
                          import";
            return Err(Problem::invalid(detail).field("all"));
        }
        if native_session_ids.as_ref().is_some_and(Vec::is_empty) {
            return Err(Problem::invalid("expected `nativeSessionIds` to have an id").field("nativeSessionIds"));
        }
        Ok(ImportSelection {
            agent: agent.as_deref().map(parse_agent).transpose()?,
            directory,
            since: since.map(Timestamp::from_millis),
            sessions: native_session_ids.unwrap_or_default(),
        })
    }
}

/// Imports sessions from disk into the store, where they can be read, searched and continued. Importing again adds only what
/// is new. Answers when the import is done, or with `Prefer: respond-async` at once. The import goes on when the client
/// leaves. A second request for the same sessions joins the first one; others run one after the other.
#[utoipa::path(
    post,
    path = "/v1/history/import",
    tag = "history",
    operation_id = "importHistory",
    params(("Prefer" = Option<String>, Header, description = "`respond-async`: do not wait for the import")),
    request_body(content = ImportRequest),
    responses(
        (status = 200, description = "The import is done", body = ImportInfo),
        (status = 202, description = "The import runs; asked for with `Prefer: respond-async`", body = ImportInfo),
    )
)]
pub(crate) async fn import(
    State(app): State<App>,
    headers: HeaderMap,
    StrictJsonBody(request): StrictJsonBody<ImportRequest>,
) -> Result<Response, Problem> {
    let selection = request.into_selection()?;
    let job = app.history().start_import(selection);
    if prefers_async(&headers) {
        let applied = [(HeaderName::from_static("preference-applied"), "respond-async")];
        return Ok((StatusCode::ACCEPTED, applied, Json(ImportInfo::from(job.status()))).into_response());
    }
    let status = job.wait().await;
    if let Some(failure) = &status.failure {
        return Err(Problem::new(failure.kind, failure.reason.clone()));
    }
    Ok(Json(ImportInfo::from(status)).into_response())
}

/// How far an import is.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImportInfo {
    /// Number of the import since the server was started; 0 if there was none.
    id: u64,
    /// `none`, `running`, `done` or `failed`.
    #[schema(value_type = String, example = "running")]
    state: ImportState,
    /// How far a running import is; omitted in other states.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    progress: Option<ImportProgressInfo>,
    /// What a finished import has done; omitted in other states.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    result: Option<ImportResultInfo>,
    /// Why the import failed; omitted in other states.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    message: Option<String>,
}

/// How far an import is.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImportProgressInfo {
    /// Number of sessions to import; 0 while they are searched.
    sessions: u64,
    /// Number of sessions that were looked at.
    done: u64,
    /// Number of bytes that were read.
    bytes: u64,
}

/// What an import has done.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImportResultInfo {
    /// Number of sessions that were looked at.
    sessions: u64,
    /// Number of sessions that are new in the store.
    imported: u64,
    /// Number of sessions that have new events.
    extended: u64,
    /// Number of sessions whose agent had changed what it had written. They were stored anew.
    replaced: u64,
    /// Number of sessions of which the store had all.
    unchanged: u64,
    /// Number of sessions that have nothing to show.
    empty: u64,
    /// Number of sessions that were continued in the store. Their files are not read any more.
    continued: u64,
    /// Number of sessions that could not be imported.
    failed: u64,
    /// Number of events that were added to the store.
    new_events: u64,
    /// Number of records that were read, and of their bytes.
    records: u64,
    bytes: u64,
    /// Number of records of unknown types, which are `agent.unparsed` events.
    unparsed: u64,
    /// Number of problems, such as damaged records.
    damaged: u64,
    /// The first problems, each with its file.
    problems: Vec<String>,
}

impl From<ImportResult> for ImportResultInfo {
    fn from(result: ImportResult) -> Self {
        let ImportResult { sessions, imported, extended, replaced, unchanged, empty, continued, failed, .. } = result;
        Self {
            sessions,
            imported,
            extended,
            replaced,
            unchanged,
            empty,
            continued,
            failed,
            new_events: result.new_events,
            records: result.report.records,
            bytes: result.report.bytes,
            unparsed: result.report.unparsed,
            damaged: result.report.damaged,
            problems: result.problems,
        }
    }
}

impl From<ImportStatus> for ImportInfo {
    fn from(status: ImportStatus) -> Self {
        let ImportStatus { id, state, sessions, result, failure } = status;
        let progress = (state == ImportState::Running).then_some(ImportProgressInfo {
            sessions,
            done: result.sessions,
            bytes: result.report.bytes,
        });
        let result = (state == ImportState::Done).then(|| result.into());
        Self { id, state, progress, result, message: failure.map(|failure| failure.reason) }
    }
}

/// Reads how far an import is: the last one, or one of the last 32.
#[utoipa::path(
    get,
    path = "/v1/history/import",
    tag = "history",
    operation_id = "getImport",
    params(("id" = Option<u64>, Query, description = "`id` of the import; the last one if absent")),
    responses((status = 200, description = "How far the import is", body = ImportInfo))
)]
pub(crate) async fn import_status(State(app): State<App>, query: Query) -> Result<Json<ImportInfo>, Problem> {
    query.expect_only(&["id"])?;
    let id = query.number("id")?;
    let status = app.history().import_status(id).ok_or_else(|| {
        let detail = format!("there is no import {}, or it was too long ago", id.unwrap_or_default());
        Problem::new(ProblemKind::NotFound, detail)
    })?;
    Ok(Json(status.into()))
}

/// The folders to read: those of the configuration, or else those of the agents.
pub(crate) fn folders(configured: Option<&Vec<PathBuf>>) -> Arc<[PathBuf]> {
    match configured {
        Some(folders) => folders.as_slice().into(),
        None => interlingua_history::default_folders().into_iter().map(|(_, folder)| folder).collect(),
    }
}

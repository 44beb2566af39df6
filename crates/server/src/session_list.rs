//! The list of sessions, filtered, in pages or as a whole.

use std::io::Write as _;

use axum::extract::State;
use axum::response::Response;
use interlingua_runtime::SessionState;
use interlingua_schema::Timestamp;
use interlingua_store::{SessionFilter, SessionKey, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::json_answer::{AnswerState, AnswerWriter, Piece};
use crate::problem::Problem;
use crate::query::Query;
use crate::session_info::SessionInfo;

/// Maximum number of sessions of a page.
const MAX_PAGE_SESSIONS: usize = 10_000;
/// Number of sessions that are read at once.
const PIECE_SESSIONS: usize = 256;

/// Sessions, newest first.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "describes what `ListWriter` writes")]
pub(crate) struct SessionList {
    sessions: Vec<SessionInfo>,
    /// Value for `cursor` to get the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<String>,
    /// Number of sessions that pass the filters, on all pages.
    total: u64,
}

/// Lists the sessions, newest first: all of them, or a page if `limit` is given.
#[utoipa::path(
    get,
    path = "/v1/sessions",
    tag = "sessions",
    operation_id = "listSessions",
    params(
        ("agent" = Option<String>, Query, description = "Only sessions with this agent"),
        ("state" = Option<String>, Query, description = "Only sessions in this state: `idle`, `running`, `waiting`, `needs_secrets` or `ended`"),
        ("label" = Option<Vec<String>>, Query, description = "Only sessions with this label: `NAME=VALUE`, or `NAME` for any value. Can be repeated; all must match", style = Form, explode),
        ("directory" = Option<String>, Query, description = "Only sessions whose agent works in this directory"),
        ("since" = Option<String>, Query, description = "Only sessions that have changed since: milliseconds since 1970, or a time such as `2026-01-31T08:00:00Z`"),
        ("q" = Option<String>, Query, description = "Only sessions whose id, title or directory contains this text, in upper or lower case"),
        ("limit" = Option<usize>, Query, description = "Maximum number of sessions, 10000 at most; all if absent"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the previous page"),
    ),
    responses((status = 200, description = "Sessions", body = SessionList))
)]
pub(crate) async fn list(State(app): State<App>, query: Query) -> Result<Response, Problem> {
    query.expect_only(&["agent", "state", "label", "directory", "since", "q", "limit", "cursor"])?;
    let remaining = query.number("limit")?.map_or(usize::MAX, |limit: usize| limit.min(MAX_PAGE_SESSIONS));
    let from = query.number("cursor")?.map(SessionKey::from_number);
    let filter = parse_filter(&app, &query)?;
    let total = app.store().count_sessions(&filter).await?;
    ListWriter { app, filter, total, from, remaining, state: AnswerState::Start }.into_answer().await
}

fn parse_filter(app: &App, query: &Query) -> Result<SessionFilter, Problem> {
    let state = match query.text("state")? {
        None => None,
        Some(name) => {
            let state = SessionState::ALL.into_iter().find(|state| state.name() == name).ok_or_else(|| {
                let known = SessionState::ALL.map(SessionState::name).join(", ");
                let detail = format!("expected the query parameter `state` to be one of {known}, found {name:?}");
                Problem::invalid(detail).field("state")
            })?;
            Some(app.runtime().state_filter(state))
        }
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let directory = query.text("directory")?.map(|path| match path.trim_end_matches('/') {
        "" => "/".to_owned(),
        path => path.to_owned(),
    });
    Ok(SessionFilter::default()
        .agent(owned(query.text("agent")?))
        .state(state)
        .labels(parse_labels(query))
        .directory(directory)
        .since(query.text("since")?.map(parse_time).transpose()?)
        .text(owned(query.text("q")?)))
}

/// Parses the labels of a filter: `NAME=VALUE`, or `NAME` for any value. An empty one counts as absent.
pub(crate) fn parse_labels(query: &Query) -> Vec<(String, Option<String>)> {
    let labels = query.texts("label").filter(|label| !label.is_empty());
    let parse = |label: &str| match label.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (label.to_owned(), None),
    };
    labels.map(parse).collect()
}

/// Parses milliseconds since 1970 or a time of RFC 3339.
pub(crate) fn parse_time(text: &str) -> Result<Timestamp, Problem> {
    let time = match text.parse() {
        Ok(millis) => Some(Timestamp::from_millis(millis)),
        Err(_) => text.parse().ok(),
    };
    time.ok_or_else(|| {
        let detail = format!(
            "expected the query parameter `since` to be milliseconds since 1970, or a time such as \
             `2026-01-31T08:00:00Z`, found {text:?}"
        );
        Problem::invalid(detail).field("since")
    })
}

/// Writes a list of sessions.
struct ListWriter {
    app: App,
    filter: SessionFilter,
    total: u64,
    /// Where the next piece starts.
    from: Option<SessionKey>,
    /// Number of sessions that the list can still hold.
    remaining: usize,
    state: AnswerState,
}

impl AnswerWriter for ListWriter {
    const NAME: &'static str = "a list of sessions";

    fn state(&self) -> AnswerState {
        self.state
    }

    async fn next_piece(&mut self) -> Piece {
        let limit = self.remaining.min(PIECE_SESSIONS);
        let page = self.app.store().sessions(&self.filter, limit, self.from).await?;
        let mut piece = Vec::with_capacity(page.sessions.len() * 512 + 64);
        if self.state == AnswerState::Start {
            piece.extend_from_slice(br#"{"sessions":["#);
        }
        let mut is_first = self.state == AnswerState::Start;
        self.remaining -= page.sessions.len();
        for session in page.sessions {
            if !std::mem::take(&mut is_first) {
                piece.push(b',');
            }
            let info = SessionInfo::new(session, self.app.runtime());
            serde_json::to_writer(&mut piece, &info).map_err(|error| StoreError::Database(error.to_string()))?;
        }
        self.state = AnswerState::Middle;
        self.from = page.next;
        if page.next.is_none() || self.remaining == 0 {
            self.state = AnswerState::Done;
            piece.extend_from_slice(b"]");
            if let Some(next) = page.next {
                // Writing to a `Vec` does not fail.
                let _ = write!(piece, r#","nextCursor":"{}""#, next.to_number());
            }
            let _ = write!(piece, r#","total":{}}}"#, self.total);
        }
        Ok(piece)
    }
}

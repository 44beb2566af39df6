//! Reading a session's events: in pages, or as a stream.

use std::io::Write;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use interlingua_store::{RawPayloads, ReadLimits, Session, SessionKey, Store};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::compat::{Compat, translate_event};
use crate::json_answer::{AnswerState, AnswerWriter, Piece};
use crate::openapi::UniversalEvent;
use crate::path::SessionPath;
use crate::problem::{Problem, ProblemKind};
use crate::query::Query;
use crate::sse;

/// Maximum number of events of a page.
const MAX_PAGE_EVENTS: usize = 10_000;

/// Approximate size of the pieces in which a page is sent.
const PIECE_BYTES: usize = 256 * 1024;

/// A page of a session's events.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventPage {
    events: Vec<UniversalEvent>,
    /// Whether the session had more events at the time of the request.
    has_more: bool,
}

/// Reads the session's events with a sequence higher than `offset`: all of them, or a page if `limit` is given.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/events",
    tag = "events",
    operation_id = "listEvents",
    params(
        ("id" = String, Path, description = "Session id"),
        ("offset" = Option<u64>, Query, description = "Last `sequence` that the client has; 0 or absent: from the start"),
        ("limit" = Option<usize>, Query, description = "Maximum number of events, 10000 at most; all if absent"),
        ("include_raw" = Option<bool>, Query, description = "Whether events include their native payload"),
    ),
    responses((status = 200, description = "A page of events", body = EventPage))
)]
pub(crate) async fn list(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
) -> Result<Response, Problem> {
    query.expect_only(&["offset", "limit", "include_raw"])?;
    let after = query.number("offset")?.unwrap_or_default();
    let remaining = query.number("limit")?.map_or(usize::MAX, |limit: usize| limit.min(MAX_PAGE_EVENTS));
    let raw = query.raw_payloads()?;
    let session = app.session(&id).await?;
    check_cursor(&session, after)?;
    let page = PageWriter {
        store: app.store().clone(),
        compat: app.config().compat,
        session: session.key,
        after,
        remaining,
        raw,
        last: session.event_count,
        state: AnswerState::Start,
    };
    page.into_answer().await
}

/// Writes a page of events, piece by piece.
struct PageWriter {
    store: Store,
    compat: Option<Compat>,
    session: SessionKey,
    after: u64,
    /// Number of events that the page can still hold.
    remaining: usize,
    raw: RawPayloads,
    /// Sequence of the session's last event at the time of the request.
    last: u64,
    state: AnswerState,
}

impl AnswerWriter for PageWriter {
    const NAME: &'static str = "a page of events";

    fn state(&self) -> AnswerState {
        self.state
    }

    async fn next_piece(&mut self) -> Piece {
        let limits = ReadLimits { max_events: self.remaining, max_bytes: PIECE_BYTES };
        let batch = match self.remaining {
            0 => interlingua_store::Batch::default(),
            _ => self.store.read(self.session, self.after, limits, self.raw).await?,
        };
        let mut piece = Vec::with_capacity(batch.byte_len() + batch.len() + 64);
        if self.state == AnswerState::Start {
            piece.extend_from_slice(br#"{"events":["#);
        }
        let mut is_first = self.state == AnswerState::Start;
        for (_, json) in batch.iter() {
            if !std::mem::take(&mut is_first) {
                piece.push(b',');
            }
            piece.extend_from_slice(translate_event(self.compat, json).as_bytes());
        }
        self.state = AnswerState::Middle;
        self.remaining -= batch.len();
        self.after = batch.last_sequence().unwrap_or(self.after);
        if batch.byte_len() < PIECE_BYTES || self.remaining == 0 {
            self.state = AnswerState::Done;
            // Writing to a `Vec` does not fail.
            let _ = write!(piece, r#"],"hasMore":{}}}"#, self.after < self.last);
        }
        Ok(piece)
    }
}

/// Streams a session's events. `Last-Event-ID` resumes the stream and takes precedence over `offset`. The stream closes
/// after `session.ended`.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/events/sse",
    tag = "events",
    operation_id = "streamEvents",
    params(
        ("id" = String, Path, description = "Session id"),
        ("offset" = Option<u64>, Query, description = "Last `sequence` that the client has; 0 or absent: from the start"),
        ("include_raw" = Option<bool>, Query, description = "Whether events include their native payload"),
        ("Last-Event-ID" = Option<u64>, Header, description = "Last `sequence` that the client has; browsers send it when they reconnect"),
    ),
    responses(
        (status = 200, description = "Events, as `id: <sequence>` and `data: <event>`", body = String, content_type = "text/event-stream"),
        (status = 204, description = "The session has ended and there are no more events: do not connect again"),
    )
)]
pub(crate) async fn follow(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    query.expect_only(&["offset", "include_raw"])?;
    let offset = query.number("offset")?.unwrap_or_default();
    let after = parse_last_event_id(&headers)?.unwrap_or(offset);
    let raw = query.raw_payloads()?;
    let session = app.session(&id).await?;
    check_cursor(&session, after)?;
    // An `EventSource` connects again when a stream closes, unless the answer is 204. Clients of sandbox-agent cannot read
    // that, so they get a stream without events.
    if session.ended && after == session.event_count && app.config().compat.is_none() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(sse::stream_session(&app, session.key, after, raw))
}

/// Refuses a position beyond the session's last event: the client has events of another session, such as one that was
/// deleted and created again, and would silently miss those of this one.
fn check_cursor(session: &Session, after: u64) -> Result<(), Problem> {
    let last = session.event_count;
    if after <= last {
        return Ok(());
    }
    let detail = format!(
        "offset {after} is beyond the session's last event {last}; the session may have been deleted and created \
         again; read it from the start"
    );
    Err(Problem::new(ProblemKind::CursorGone, detail).session(&session.id).details(json!({ "lastSequence": last })))
}

fn parse_last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(id) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        let found = String::from_utf8_lossy(id.as_bytes());
        Problem::invalid(format!("expected the header `Last-Event-ID` to be the sequence of an event, found {found:?}"))
            .field("Last-Event-ID")
    })
}

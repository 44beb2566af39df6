//! Reading a session's events: a page at a time, or as they come.

use std::io::Write;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use interlingua_store::{RawPayloads, ReadLimits, SessionKey, Store};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::openapi::UniversalEvent;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::query::Query;
use crate::sse;

/// A page has so many events when the client does not say, and at most.
const PAGE: usize = 1000;
const LONGEST_PAGE: usize = 10_000;

/// A page is sent in pieces of about so many bytes, so that a long one is never in memory as a whole.
const PIECE: usize = 256 * 1024;

/// Some of a session's events. It is written piece by piece; this is its shape.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EventPage {
    events: Vec<UniversalEvent>,
    /// Whether there were more when the page was asked for.
    has_more: bool,
}

/// A session's events after the one with the sequence `offset`.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/events",
    tag = "events",
    operation_id = "listEvents",
    params(
        ("id" = String, Path, description = "The session's name"),
        ("offset" = Option<u64>, Query, description = "The last `sequence` seen; 0 or absent: from the start"),
        ("limit" = Option<usize>, Query, description = "At most so many; 1000 when absent, never more than 10000"),
        ("include_raw" = Option<bool>, Query, description = "Whether events carry their native payload"),
    ),
    responses((status = 200, description = "A page of events", body = EventPage))
)]
pub(crate) async fn list(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
) -> Result<Response, Problem> {
    let after = query.number("offset")?.unwrap_or_default();
    let left = query.number("limit")?.unwrap_or(PAGE).min(LONGEST_PAGE);
    let raw = query.raw()?;
    let session = app.session(&id).await?;
    let mut page = Page {
        store: app.store().clone(),
        session: session.key,
        after,
        left,
        raw,
        last: session.event_count,
        state: PageState::Begins,
    };
    let first = page.piece().await?;
    let body = match page.state {
        PageState::Done => Body::from(first),
        _ => Body::from_stream(stream::unfold((Some(first), page), next_piece)),
    };
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

type Piece = Result<Vec<u8>, interlingua_store::StoreError>;

async fn next_piece((ready, mut page): (Option<Vec<u8>>, Page)) -> Option<(Piece, (Option<Vec<u8>>, Page))> {
    if let Some(piece) = ready {
        return Some((Ok(piece), (None, page)));
    }
    if page.state == PageState::Done {
        return None;
    }
    let piece = page.piece().await;
    if let Err(error) = &piece {
        // The answer has begun: all that is left is to break it off, which the client notices.
        tracing::warn!(%error, "a page of events breaks off");
        page.state = PageState::Done;
    }
    Some((piece, (None, page)))
}

/// A page that is being sent.
struct Page {
    store: Store,
    session: SessionKey,
    after: u64,
    left: usize,
    raw: RawPayloads,
    /// The sequence of the session's last event when the page was asked for.
    last: u64,
    state: PageState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PageState {
    Begins,
    GoesOn,
    Done,
}

impl Page {
    async fn piece(&mut self) -> Piece {
        let limits = ReadLimits { max_events: self.left, max_bytes: PIECE };
        let batch = match self.left {
            0 => interlingua_store::Batch::default(),
            _ => self.store.read(self.session, self.after, limits, self.raw).await?,
        };
        let mut piece = Vec::with_capacity(batch.byte_len() + batch.len() + 64);
        if self.state == PageState::Begins {
            piece.extend_from_slice(br#"{"events":["#);
        }
        let mut is_first = self.state == PageState::Begins;
        for (_, json) in batch.iter() {
            if !std::mem::take(&mut is_first) {
                piece.push(b',');
            }
            piece.extend_from_slice(json.as_bytes());
        }
        self.state = PageState::GoesOn;
        self.left -= batch.len();
        self.after = batch.last_sequence().unwrap_or(self.after);
        if batch.byte_len() < PIECE || self.left == 0 {
            self.state = PageState::Done;
            // Writing to memory does not fail.
            let _ = write!(piece, r#"],"hasMore":{}}}"#, self.after < self.last);
        }
        Ok(piece)
    }
}

/// A session's events as they come. `Last-Event-ID` resumes, and wins over `offset`; the stream closes after
/// `session.ended`.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/events/sse",
    tag = "events",
    operation_id = "streamEvents",
    params(
        ("id" = String, Path, description = "The session's name"),
        ("offset" = Option<u64>, Query, description = "The last `sequence` seen; 0 or absent: from the start"),
        ("include_raw" = Option<bool>, Query, description = "Whether events carry their native payload"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last `sequence` seen, as a browser sends it"),
    ),
    responses((status = 200, description = "Events, as `id: <sequence>` and `data: <event>`", body = String, content_type = "text/event-stream"))
)]
pub(crate) async fn follow(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let offset = query.number("offset")?.unwrap_or_default();
    let after = last_event_id(&headers)?.unwrap_or(offset);
    let raw = query.raw()?;
    let session = app.session(&id).await?;
    Ok(sse::session(&app, session.key, after, raw))
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(id) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let number = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        let found = String::from_utf8_lossy(id.as_bytes());
        Problem::invalid(format!("the header `Last-Event-ID` should be an event's sequence; found {found:?}"))
            .field("Last-Event-ID")
    })
}

//! Streaming the events of many sessions over one connection.

use std::io::Write as _;

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::stream;
use interlingua_runtime::run_cpu_bound;
use interlingua_sse::{HEARTBEAT, HEARTBEAT_INTERVAL};
use interlingua_store::{GlobalBatch, GlobalCursor, GlobalReader, GlobalStart, SessionFilter, StoreError};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::app::App;
use crate::compat::{Compat, translate_event};
use crate::metrics::OpenStream;
use crate::problem::Problem;
use crate::query::Query;
use crate::session_list::parse_labels;
use crate::sse::{closed, event_stream, push_frame};

/// Value of `cursor` for a stream of the events to come.
const LATEST: &str = "latest";

/// Streams the events of all sessions, or of those that match every filter: first those that are stored, in the order in
/// which they were stored, then those that come. `Last-Event-ID` resumes the stream and takes precedence over `cursor`.
/// The stream does not end by itself.
#[utoipa::path(
    get,
    path = "/v1/events/sse",
    tag = "events",
    operation_id = "streamAllEvents",
    params(
        ("agent" = Option<String>, Query, description = "Only sessions with this agent"),
        ("label" = Option<Vec<String>>, Query, description = "Only sessions with this label: `NAME=VALUE`, or `NAME` for any value. Can be repeated; all must match", style = Form, explode),
        ("session" = Option<Vec<String>>, Query, description = "Only this session. Can be repeated; one of them must match. The session need not exist yet", style = Form, explode),
        ("cursor" = Option<String>, Query, description = "`id` of the last event that the client has; `latest`: only events to come; absent: from the first stored event"),
        ("include_raw" = Option<bool>, Query, description = "Whether events include their native payload"),
        ("Last-Event-ID" = Option<String>, Header, description = "`id` of the last event that the client has; browsers send it when they reconnect"),
    ),
    responses(
        (status = 200, description = "Events, as `id: <cursor>` and `data: <event>`. An `id` without data is the position of an idle stream", body = String, content_type = "text/event-stream"),
    )
)]
pub(crate) async fn follow(State(app): State<App>, query: Query, headers: HeaderMap) -> Result<Response, Problem> {
    query.expect_only(&["agent", "label", "session", "cursor", "include_raw"])?;
    let start = match headers.get("last-event-id") {
        Some(id) => parse_cursor("header `Last-Event-ID`", "Last-Event-ID", &String::from_utf8_lossy(id.as_bytes()))?,
        None => match query.text("cursor")? {
            None => GlobalStart::Beginning,
            Some(cursor) => parse_cursor("query parameter `cursor`", "cursor", cursor)?,
        },
    };
    let ids = query.texts("session").map(str::to_owned).collect::<Vec<_>>();
    for id in &ids {
        interlingua_runtime::check_session_id(&id.as_str().into())?;
    }
    let agent = query.text("agent")?.map(str::to_owned);
    let filter = SessionFilter::default().agent(agent).labels(parse_labels(&query)).ids(ids);
    let reader = app.store().global_reader(start, filter, query.raw_payloads()?).await?;
    let stream = AllEvents {
        // Before its first event, a client can resume only after this position.
        announces_position: start == GlobalStart::End,
        reader,
        compat: app.config().compat,
        closing: app.closing(),
        _open: app.metrics().open_stream(),
    };
    Ok(event_stream(Body::from_stream(stream::unfold(Some(stream), AllEvents::next))))
}

fn parse_cursor(place: &str, field: &str, text: &str) -> Result<GlobalStart, Problem> {
    if text.trim() == LATEST {
        return Ok(GlobalStart::End);
    }
    text.trim().parse::<GlobalCursor>().map(GlobalStart::After).map_err(|_| {
        let detail =
            format!("expected the {place} to be the `id` of an event of this stream, or `{LATEST}`, found {text:?}");
        Problem::invalid(detail).field(field)
    })
}

/// A stream that is being sent.
struct AllEvents {
    reader: GlobalReader,
    announces_position: bool,
    compat: Option<Compat>,
    closing: watch::Receiver<bool>,
    _open: OpenStream,
}

type Piece = Result<Vec<u8>, StoreError>;

impl AllEvents {
    /// Step of the body stream; `None` after its end.
    async fn next(stream: Option<Self>) -> Option<(Piece, Option<Self>)> {
        let mut stream = stream?;
        if std::mem::take(&mut stream.announces_position) {
            let piece = stream.position_frame(Vec::new());
            return Some((Ok(piece), Some(stream)));
        }
        let batch = tokio::select! {
            batch = stream.reader.next() => Some(batch),
            () = closed(&mut stream.closing) => return None,
            () = sleep(HEARTBEAT_INTERVAL) => None,
        };
        match batch {
            Some(Ok(batch)) => {
                let piece = run_cpu_bound(batch.byte_len(), || encode_frames(&batch, stream.compat));
                Some((Ok(piece), Some(stream)))
            }
            // The client notices the interrupted stream and resumes with `Last-Event-ID`.
            Some(Err(error)) => {
                tracing::warn!(%error, "interrupting a stream of many sessions because the store failed");
                Some((Err(error), None))
            }
            None => {
                let piece = stream.position_frame(HEARTBEAT.to_vec());
                Some((Ok(piece), Some(stream)))
            }
        }
    }

    /// Adds a frame that has only the position, which also moves with events that the filter leaves out.
    fn position_frame(&self, mut piece: Vec<u8>) -> Vec<u8> {
        // Writing to a `Vec` does not fail.
        let _ = write!(piece, "id: {}\n\n", self.reader.cursor());
        piece
    }
}

fn encode_frames(batch: &GlobalBatch, compat: Option<Compat>) -> Vec<u8> {
    let mut frames = Vec::with_capacity(batch.byte_len() + 64 * batch.len());
    for (cursor, json) in batch.iter() {
        push_frame(&mut frames, cursor, &translate_event(compat, json));
    }
    frames
}

//! Streaming events as server-sent events.
//!
//! A stream holds only a cursor into the store. It reads the next events when the connection can take them, so a client
//! that stops reading stops the stream, and loses nothing.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Display;
use std::io::Write as _;
use std::pin::Pin;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use interlingua_runtime::{SentMessage, run_cpu_bound};
use interlingua_sse::{HEARTBEAT, HEARTBEAT_INTERVAL};
use interlingua_store::{Batch, EventReader, RawPayloads, SessionKey, StoreError};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::app::App;
use crate::compat::{Compat, translate_event};
use crate::metrics::OpenStream;

/// Number of bytes up to which buffered events are sent in one piece.
const TARGET_PIECE_BYTES: usize = 64 * 1024;

/// Size from which the text of an event is sent from the memory that readers share, instead of being copied.
const MIN_SHARED_BYTES: usize = 256 * 1024;

/// Streams the events of a session with a sequence higher than `after`, until the session ends.
pub(crate) fn stream_session(app: &App, session: SessionKey, after: u64, raw: RawPayloads) -> Response {
    let reader = app.store().reader(session, after, raw);
    respond(app, Source::Reading(reader), None)
}

/// Streams the events of the turn that a sent message starts.
pub(crate) fn stream_turn(app: &App, session: SessionKey, sent: SentMessage, raw: RawPayloads, hold: bool) -> Response {
    let store = app.store().clone();
    let turn_start = async move { Some(store.reader(session, sent.wait_for_turn().await?, raw)) };
    respond(app, Source::Waiting(Box::pin(turn_start)), Some(TurnState { hold, pending_requests: BTreeSet::new() }))
}

fn respond(app: &App, source: Source, turn: Option<TurnState>) -> Response {
    let (ready, closing) = (VecDeque::new(), app.closing());
    let compat = app.config().compat;
    let stream = SseStream { source, ready, turn, compat, closing, _open: app.metrics().open_stream() };
    event_stream(Body::from_stream(stream::unfold(stream, SseStream::next)))
}

/// An answer with server-sent events.
pub(crate) fn event_stream(body: Body) -> Response {
    let headers = [
        (CONTENT_TYPE.as_str(), "text/event-stream"),
        (CACHE_CONTROL.as_str(), "no-cache"),
        // Asks proxies not to buffer the answer.
        ("x-accel-buffering", "no"),
    ];
    (headers, body).into_response()
}

/// An event stream that is being sent.
struct SseStream {
    source: Source,
    /// Pieces that follow the one that was sent last.
    ready: VecDeque<Bytes>,
    /// The turn that is streamed; `None` for a stream of the whole session.
    turn: Option<TurnState>,
    compat: Option<Compat>,
    closing: watch::Receiver<bool>,
    _open: OpenStream,
}

enum Source {
    /// The turn has not started. The future resolves to a reader once it has.
    Waiting(Pin<Box<dyn Future<Output = Option<EventReader>> + Send>>),
    Reading(EventReader),
    /// All events were sent.
    Done,
}

impl SseStream {
    async fn next(mut self) -> Option<(Result<Bytes, StoreError>, Self)> {
        if let Some(piece) = self.ready.pop_front() {
            return Some((Ok(piece), self));
        }
        let heartbeat = sleep(HEARTBEAT_INTERVAL);
        tokio::pin!(heartbeat);
        let piece = loop {
            match &mut self.source {
                Source::Done => return None,
                Source::Waiting(turn_start) => tokio::select! {
                    reader = turn_start => self.source = reader.map_or(Source::Done, Source::Reading),
                    () = closed(&mut self.closing) => return None,
                    () = &mut heartbeat => break Ok(Bytes::from_static(HEARTBEAT)),
                },
                Source::Reading(reader) => tokio::select! {
                    batch = reader.next() => match batch {
                        Ok(Some(batch)) => {
                            run_cpu_bound(batch.byte_len(), || self.push_frames(batch));
                            // A batch has at least one event.
                            break Ok(self.ready.pop_front().unwrap_or_default());
                        }
                        Ok(None) => return None,
                        Err(error) => break Err(error),
                    },
                    () = closed(&mut self.closing) => return None,
                    () = &mut heartbeat => break Ok(Bytes::from_static(HEARTBEAT)),
                },
            }
        };
        if let Err(error) = &piece {
            // The client notices the interrupted stream and resumes with `Last-Event-ID`.
            tracing::warn!(%error, "interrupting an event stream because the store failed");
            self.source = Source::Done;
        }
        Some((piece, self))
    }

    /// Encodes the events, and buffered ones that follow, as frames. Marks the stream as done after its last event.
    fn push_frames(&mut self, first: Batch) {
        let mut piece = Vec::with_capacity(first.byte_len().min(TARGET_PIECE_BYTES) + 32 * first.len());
        let mut next = Some(first);
        'batches: while let Some(batch) = next {
            for (sequence, json) in batch.iter() {
                push_head(&mut piece, sequence);
                match translate_event(self.compat, json) {
                    Cow::Owned(translated) => piece.extend_from_slice(translated.as_bytes()),
                    Cow::Borrowed(_) => match batch.text(sequence).filter(|_| json.len() >= MIN_SHARED_BYTES) {
                        Some(text) => {
                            self.ready.push_back(std::mem::take(&mut piece).into());
                            self.ready.push_back(Bytes::from_owner(text));
                        }
                        None => piece.extend_from_slice(json.as_bytes()),
                    },
                }
                piece.extend_from_slice(FRAME_END);
                if self.turn.as_mut().is_some_and(|turn| turn.observe(json)) {
                    self.source = Source::Done;
                    break 'batches;
                }
            }
            next = match &mut self.source {
                Source::Reading(reader) if piece.len() < TARGET_PIECE_BYTES => reader.next_buffered(),
                _ => None,
            };
        }
        self.ready.push_back(piece.into());
        if self.turn.as_ref().is_some_and(TurnState::is_waiting) {
            self.source = Source::Done;
        }
    }
}

/// The end of a frame.
const FRAME_END: &[u8] = b"\n\n";

/// Appends an event as a frame. Its JSON has no line breaks, so it needs only one `data` field.
pub(crate) fn push_frame(frames: &mut Vec<u8>, id: impl Display, json: &str) {
    push_head(frames, id);
    frames.extend_from_slice(json.as_bytes());
    frames.extend_from_slice(FRAME_END);
}

/// Appends the part of a frame before the event.
fn push_head(frames: &mut Vec<u8>, id: impl Display) {
    // Writing to a `Vec` does not fail.
    let _ = write!(frames, "id: {id}\ndata: ");
}

/// Waits until the server shuts down.
pub(crate) async fn closed(closing: &mut watch::Receiver<bool>) {
    // The sender is dropped only when the server is gone, which means the same.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// State of a streamed turn.
struct TurnState {
    /// Whether the stream stays open while the turn waits for the user.
    hold: bool,
    /// Permission requests and questions that are not resolved.
    pending_requests: BTreeSet<String>,
}

/// The fields of an event that end or pause a turn.
#[derive(Deserialize)]
struct EventSummary {
    #[serde(rename = "type")]
    kind: String,
    data: RequestData,
}

#[derive(Deserialize)]
struct RequestData {
    #[serde(alias = "permission_id", alias = "question_id")]
    request: Option<String>,
}

impl TurnState {
    /// Updates the state from the next event. Returns whether the event ends the turn.
    fn observe(&mut self, json: &str) -> bool {
        let Ok(EventSummary { kind, data: RequestData { request } }) = serde_json::from_str(json) else {
            return false;
        };
        let request = || request.unwrap_or_default();
        match kind.as_str() {
            "permission.requested" | "question.requested" => {
                self.pending_requests.insert(request());
            }
            "permission.resolved" | "question.resolved" => {
                self.pending_requests.remove(&request());
            }
            _ => {}
        }
        matches!(kind.as_str(), "turn.ended" | "session.ended")
    }

    /// Whether the stream ends because the turn waits for the user.
    fn is_waiting(&self) -> bool {
        !self.hold && !self.pending_requests.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str) -> String {
        format!(r#"{{"event_id":"e","sequence":1,"type":"{kind}","data":{data},"raw":{{"type":"other"}}}}"#)
    }

    #[test]
    fn a_frame_has_the_sequence_and_the_event() {
        let mut frames = Vec::new();
        for sequence in [0_u64, 7, 10, u64::MAX] {
            push_frame(&mut frames, sequence, "{}");
        }
        let expected = [0_u64, 7, 10, u64::MAX].map(|sequence| format!("id: {sequence}\ndata: {{}}\n\n")).concat();
        assert_eq!(String::from_utf8(frames).unwrap(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_stream_sends_heartbeats() {
        let (_open, closing) = watch::channel(false);
        let source = Source::Waiting(Box::pin(std::future::pending()));
        let metrics = std::sync::Arc::<crate::metrics::Metrics>::default();
        let ready = VecDeque::new();
        let stream = SseStream { source, ready, turn: None, compat: None, closing, _open: metrics.open_stream() };
        let start = tokio::time::Instant::now();
        let (piece, stream) = stream.next().await.unwrap();
        assert_eq!(
            (piece.unwrap(), start.elapsed().as_secs()),
            (Bytes::from_static(HEARTBEAT), HEARTBEAT_INTERVAL.as_secs())
        );
        assert_eq!(stream.next().await.unwrap().0.unwrap(), HEARTBEAT);
        assert_eq!(start.elapsed().as_secs(), 2 * HEARTBEAT_INTERVAL.as_secs());
    }

    #[test]
    fn a_turn_waits_until_every_request_is_resolved() {
        let mut turn = TurnState { hold: false, pending_requests: BTreeSet::new() };
        assert!(!turn.observe(&event("item.delta", r#"{"item_id":"i"}"#)) && !turn.is_waiting());
        assert!(!turn.observe(&event("permission.requested", r#"{"permission_id":"p"}"#)) && turn.is_waiting());
        assert!(!turn.observe(&event("question.requested", r#"{"question_id":"q"}"#)));
        turn.observe(&event("permission.resolved", r#"{"permission_id":"p"}"#));
        assert!(turn.is_waiting());
        turn.observe(&event("question.resolved", r#"{"question_id":"q"}"#));
        assert!(!turn.is_waiting());
        assert!(turn.observe(&event("turn.ended", r#"{"status":"completed"}"#)));
    }

    #[test]
    fn a_held_stream_does_not_end_while_the_turn_waits() {
        let mut turn = TurnState { hold: true, pending_requests: BTreeSet::new() };
        turn.observe(&event("question.requested", r#"{"question_id":"q"}"#));
        assert!(!turn.is_waiting());
    }
}

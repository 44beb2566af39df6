//! Events as server-sent events.
//!
//! A stream holds a cursor and nothing else: it reads when the connection has room, so that a client which stops
//! reading stops it too, and finds everything where it left off.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::pin::Pin;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use interlingua_runtime::SentMessage;
use interlingua_sse::{HEARTBEAT, HEARTBEAT_INTERVAL};
use interlingua_store::{Batch, EventReader, RawPayloads, SessionKey, StoreError};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::app::App;
use crate::metrics::OpenStream;

/// So many bytes are sent at once, if there are as many.
const PIECE: usize = 64 * 1024;

/// All events of a session after one, until the session ends.
pub(crate) fn session(app: &App, session: SessionKey, after: u64, raw: RawPayloads) -> Response {
    let reader = app.store().reader(session, after, raw);
    respond(app, Source::Reading(reader), None)
}

/// The events of the turn that takes up a message that was sent.
pub(crate) fn turn(app: &App, session: SessionKey, sent: SentMessage, raw: RawPayloads, hold: bool) -> Response {
    let store = app.store().clone();
    let begins = async move { Some(store.reader(session, sent.wait_for_turn().await?, raw)) };
    respond(app, Source::Waiting(Box::pin(begins)), Some(Turn { hold, waits_for: BTreeSet::new() }))
}

fn respond(app: &App, source: Source, turn: Option<Turn>) -> Response {
    let follower = Follower { source, turn, closing: app.closing(), _open: app.metrics().stream_opened() };
    let body = Body::from_stream(stream::unfold(follower, Follower::next));
    let headers = [
        (CONTENT_TYPE.as_str(), "text/event-stream"),
        (CACHE_CONTROL.as_str(), "no-cache"),
        // Proxies that collect answers before they pass them on are asked not to.
        ("x-accel-buffering", "no"),
    ];
    (headers, body).into_response()
}

/// A stream that is being sent.
struct Follower {
    source: Source,
    turn: Option<Turn>,
    closing: watch::Receiver<bool>,
    _open: OpenStream,
}

enum Source {
    /// The turn has not begun.
    Waiting(Pin<Box<dyn Future<Output = Option<EventReader>> + Send>>),
    Reading(EventReader),
    /// Everything was sent.
    Done,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<Vec<u8>, StoreError>, Self)> {
        let heartbeat = sleep(HEARTBEAT_INTERVAL);
        tokio::pin!(heartbeat);
        let piece = loop {
            match &mut self.source {
                Source::Done => return None,
                Source::Waiting(begins) => tokio::select! {
                    reader = begins => self.source = reader.map_or(Source::Done, Source::Reading),
                    () = closed(&mut self.closing) => return None,
                    () = &mut heartbeat => break Ok(HEARTBEAT.to_vec()),
                },
                Source::Reading(reader) => tokio::select! {
                    batch = reader.next() => match batch {
                        Ok(Some(batch)) => break Ok(self.frames(batch)),
                        Ok(None) => return None,
                        Err(error) => break Err(error),
                    },
                    () = closed(&mut self.closing) => return None,
                    () = &mut heartbeat => break Ok(HEARTBEAT.to_vec()),
                },
            }
        };
        if let Err(error) = &piece {
            // Breaking off tells the client to come back, with `Last-Event-ID`.
            tracing::warn!(%error, "a stream of events breaks off");
            self.source = Source::Done;
        }
        Some((piece, self))
    }

    /// The events as frames, and those that follow them at once; marks the stream as done if they are the last.
    fn frames(&mut self, first: Batch) -> Vec<u8> {
        let mut frames = Vec::with_capacity(first.byte_len() + 32 * first.len());
        let mut next = Some(first);
        while let Some(batch) = next {
            for (sequence, json) in batch.iter() {
                push_frame(&mut frames, sequence, json);
                if self.turn.as_mut().is_some_and(|turn| turn.is_over_after(json)) {
                    self.source = Source::Done;
                    return frames;
                }
            }
            next = match &mut self.source {
                Source::Reading(reader) if frames.len() < PIECE => reader.next_buffered(),
                _ => None,
            };
        }
        if self.turn.as_ref().is_some_and(Turn::waits) {
            self.source = Source::Done;
        }
        frames
    }
}

/// An event as a frame. It is one line, so one `data` holds it.
fn push_frame(frames: &mut Vec<u8>, sequence: u64, json: &str) {
    // Writing to memory does not fail.
    let _ = write!(frames, "id: {sequence}\ndata: ");
    frames.extend_from_slice(json.as_bytes());
    frames.extend_from_slice(b"\n\n");
}

async fn closed(closing: &mut watch::Receiver<bool>) {
    // A sender that is gone belonged to a server that is gone.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// What a stream of one turn knows of it.
struct Turn {
    /// Whether to stay while the turn waits for the user.
    hold: bool,
    /// What the user has not answered.
    waits_for: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Glance {
    #[serde(rename = "type")]
    kind: String,
    data: GlanceData,
}

#[derive(Deserialize)]
struct GlanceData {
    #[serde(alias = "permission_id", alias = "question_id")]
    request: Option<String>,
}

impl Turn {
    /// Looks at the next event; whether it ends the turn.
    fn is_over_after(&mut self, json: &str) -> bool {
        let Ok(Glance { kind, data: GlanceData { request } }) = serde_json::from_str(json) else {
            return false;
        };
        let request = || request.unwrap_or_default();
        match kind.as_str() {
            "permission.requested" | "question.requested" => {
                self.waits_for.insert(request());
            }
            "permission.resolved" | "question.resolved" => {
                self.waits_for.remove(&request());
            }
            _ => {}
        }
        matches!(kind.as_str(), "turn.ended" | "session.ended")
    }

    fn waits(&self) -> bool {
        !self.hold && !self.waits_for.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str) -> String {
        format!(r#"{{"event_id":"e","sequence":1,"type":"{kind}","data":{data},"raw":{{"type":"other"}}}}"#)
    }

    #[test]
    fn a_frame_has_its_number_and_its_event() {
        let mut frames = Vec::new();
        for sequence in [0, 7, 10, u64::MAX] {
            push_frame(&mut frames, sequence, "{}");
        }
        let expected = [0, 7, 10, u64::MAX].map(|sequence| format!("id: {sequence}\ndata: {{}}\n\n")).concat();
        assert_eq!(String::from_utf8(frames).unwrap(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_has_a_heartbeat() {
        let (_open, closing) = watch::channel(false);
        let source = Source::Waiting(Box::pin(std::future::pending()));
        let metrics = std::sync::Arc::<crate::metrics::Metrics>::default();
        let follower = Follower { source, turn: None, closing, _open: metrics.stream_opened() };
        let begin = tokio::time::Instant::now();
        let (piece, follower) = follower.next().await.unwrap();
        assert_eq!((piece.unwrap(), begin.elapsed().as_secs()), (HEARTBEAT.to_vec(), HEARTBEAT_INTERVAL.as_secs()));
        assert_eq!(follower.next().await.unwrap().0.unwrap(), HEARTBEAT);
        assert_eq!(begin.elapsed().as_secs(), 2 * HEARTBEAT_INTERVAL.as_secs());
    }

    #[test]
    fn a_turn_waits_until_all_is_answered() {
        let mut turn = Turn { hold: false, waits_for: BTreeSet::new() };
        assert!(!turn.is_over_after(&event("item.delta", r#"{"item_id":"i"}"#)) && !turn.waits());
        assert!(!turn.is_over_after(&event("permission.requested", r#"{"permission_id":"p"}"#)) && turn.waits());
        assert!(!turn.is_over_after(&event("question.requested", r#"{"question_id":"q"}"#)));
        turn.is_over_after(&event("permission.resolved", r#"{"permission_id":"p"}"#));
        assert!(turn.waits());
        turn.is_over_after(&event("question.resolved", r#"{"question_id":"q"}"#));
        assert!(!turn.waits());
        assert!(turn.is_over_after(&event("turn.ended", r#"{"status":"completed"}"#)));
    }

    #[test]
    fn a_turn_that_is_held_does_not_wait() {
        let mut turn = Turn { hold: true, waits_for: BTreeSet::new() };
        turn.is_over_after(&event("question.requested", r#"{"question_id":"q"}"#));
        assert!(!turn.waits());
    }
}

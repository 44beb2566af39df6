//! The subscribers of an event stream.

use std::collections::HashMap;

use axum::body::Body;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::agent_protocol::default_greeting;

/// Queued events are joined into one chunk up to this size.
const MAX_CHUNK_LEN: usize = 32 << 10;

/// An entry in the queue of a subscriber.
enum Chunk {
    Bytes(Vec<u8>),
    /// The sender is notified once everything before it has been written.
    FlushMarker(oneshot::Sender<()>),
}

/// Format of the events of a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventFormat {
    Plain,
    /// With the directory around the payload, as on `/global/event`.
    Global,
}

#[derive(Debug)]
struct Subscriber {
    /// Directory whose events it wants; `None`: that of the server.
    directory: Option<String>,
    format: EventFormat,
    chunks: mpsc::UnboundedSender<Chunk>,
}

/// All subscribers, and the events that were published before the first of them.
#[derive(Debug, Default)]
pub(super) struct EventStream {
    subscribers: Vec<Subscriber>,
    has_had_subscriber: bool,
    /// Events from before the first subscriber, with their sessions. The first subscriber gets them. The real server
    /// would lose them, but a test that happens to connect late should not fail at random.
    backlog: Vec<(Option<String>, Vec<u8>)>,
    /// Directories of the sessions that were created outside of the server's own directory.
    directories: HashMap<String, String>,
    greeting: String,
}

impl EventStream {
    pub(super) fn new(recorded_greeting: Option<String>) -> Self {
        Self { greeting: recorded_greeting.unwrap_or_else(default_greeting), ..Self::default() }
    }

    /// Adds a subscriber and returns its response body.
    pub(super) fn subscribe(&mut self, directory: Option<String>, format: EventFormat) -> Body {
        let (chunks, received) = mpsc::unbounded_channel();
        let subscriber = Subscriber { directory, format, chunks };
        subscriber.send_event(self.greeting.as_bytes());
        if !self.has_had_subscriber {
            for (session, line) in self.backlog.drain(..) {
                if wants(&self.directories, &subscriber, session.as_deref()) {
                    subscriber.send_event(&line);
                }
            }
        }
        self.has_had_subscriber = true;
        self.subscribers.push(subscriber);
        Body::from_stream(stream::unfold((received, None), |(mut received, mut marker)| async move {
            loop {
                if let Some(flushed) = marker.take() {
                    // The server writes its buffer when this stream has no more data for now.
                    tokio::task::yield_now().await;
                    let _ = oneshot::Sender::send(flushed, ());
                }
                match received.recv().await? {
                    Chunk::Bytes(mut bytes) => {
                        // Joins what is queued already.
                        while bytes.len() < MAX_CHUNK_LEN {
                            match received.try_recv() {
                                Ok(Chunk::Bytes(more)) => bytes.extend_from_slice(&more),
                                Ok(Chunk::FlushMarker(flushed)) => {
                                    marker = Some(flushed);
                                    break;
                                }
                                Err(_) => break,
                            }
                        }
                        return Some((Ok::<_, std::convert::Infallible>(bytes), (received, marker)));
                    }
                    Chunk::FlushMarker(flushed) => marker = Some(flushed),
                }
            }
        }))
    }

    /// Sets the directory of a session.
    pub(super) fn set_directory(&mut self, session: &str, directory: &str) {
        self.directories.insert(session.to_owned(), directory.to_owned());
    }

    /// Gives a sub-agent's session the directory of its parent.
    pub(super) fn inherit_directory(&mut self, session: &str, parent: &str) {
        if let Some(directory) = self.directories.get(parent).cloned() {
            self.directories.insert(session.to_owned(), directory);
        }
    }

    /// Sends an event to the subscribers that want it.
    pub(super) fn publish(&mut self, session: Option<&str>, line: &[u8]) {
        self.subscribers.retain(|subscriber| !subscriber.chunks.is_closed());
        if !self.has_had_subscriber {
            self.backlog.push((session.map(str::to_owned), line.to_vec()));
        }
        for subscriber in &self.subscribers {
            if wants(&self.directories, subscriber, session) {
                subscriber.send_event(line);
            }
        }
    }

    /// Sends bytes to all subscribers as they are.
    pub(super) fn send_raw(&self, bytes: &[u8]) {
        for subscriber in &self.subscribers {
            subscriber.send_bytes(bytes.to_vec());
        }
    }

    /// Queues a flush marker for every subscriber. Each receiver is notified when everything before its marker has been
    /// written.
    pub(super) fn queue_flush_markers(&self) -> Vec<oneshot::Receiver<()>> {
        let queue_marker = |subscriber: &Subscriber| {
            let (sender, flushed) = oneshot::channel();
            subscriber.chunks.send(Chunk::FlushMarker(sender)).is_ok().then_some(flushed)
        };
        self.subscribers.iter().filter_map(queue_marker).collect()
    }
}

impl Subscriber {
    fn send_event(&self, line: &[u8]) {
        let payload = match self.format {
            EventFormat::Global => serde_json::from_slice::<Value>(line).ok(),
            EventFormat::Plain => None,
        };
        let wrapped = payload.map(|payload| {
            let mut event = serde_json::json!({"payload": payload});
            if let Some(directory) = &self.directory {
                event["directory"] = directory.as_str().into();
            }
            event.to_string().into_bytes()
        });
        let line = wrapped.as_deref().unwrap_or(line);
        self.send_bytes([b"data: ", line, b"\n\n"].concat());
    }

    fn send_bytes(&self, bytes: Vec<u8>) {
        // A subscriber that has disconnected is removed with the next event.
        let _ = self.chunks.send(Chunk::Bytes(bytes));
    }
}

/// Whether a subscriber wants the events of a session. Events of no session go to every subscriber.
fn wants(directories: &HashMap<String, String>, subscriber: &Subscriber, session: Option<&str>) -> bool {
    subscriber.format == EventFormat::Global
        || match session.and_then(|session| directories.get(session)) {
            Some(directory) => subscriber.directory.as_ref() == Some(directory),
            None => true,
        }
}

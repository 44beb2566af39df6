//! The readers of an event stream.

use std::collections::HashMap;

use axum::body::Body;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::dialect::greeting;

/// So much is sent at once.
const AT_ONCE: usize = 32 << 10;

/// What goes to a reader.
enum Piece {
    Bytes(Vec<u8>),
    /// Everything before this has left; whoever waits for that is to be told.
    Mark(oneshot::Sender<()>),
}

/// Whether events come with the directory around them, as on `/global/event`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    Plain,
    Global,
}

#[derive(Debug)]
struct Reader {
    /// The directory whose events it wants; absent: that of the server.
    directory: Option<String>,
    wrapping: Wrapping,
    pieces: mpsc::UnboundedSender<Piece>,
}

/// Everybody who reads events, and what was said before anybody did.
#[derive(Debug, Default)]
pub(super) struct Events {
    readers: Vec<Reader>,
    had_a_reader: bool,
    /// What nobody has read yet: the first reader gets it. The real server would have lost it; a test that connects
    /// late by accident should not fail at random.
    early: Vec<(Option<String>, Vec<u8>)>,
    /// The directories in which sessions were made; a session of the server's own directory is not in it.
    directories: HashMap<String, String>,
    greeting: String,
}

impl Events {
    pub(super) fn new(recorded_greeting: Option<String>) -> Self {
        Self { greeting: recorded_greeting.unwrap_or_else(greeting), ..Self::default() }
    }

    /// A new reader: what it is sent comes out of the body.
    pub(super) fn subscribe(&mut self, directory: Option<String>, wrapping: Wrapping) -> Body {
        let (pieces, received) = mpsc::unbounded_channel();
        let reader = Reader { directory, wrapping, pieces };
        reader.send(self.greeting.as_bytes());
        if !self.had_a_reader {
            for (session, line) in self.early.drain(..) {
                if wanted(&self.directories, &reader, session.as_deref()) {
                    reader.send(&line);
                }
            }
        }
        self.had_a_reader = true;
        self.readers.push(reader);
        Body::from_stream(stream::unfold((received, None), |(mut received, mut mark)| async move {
            loop {
                if let Some(done) = mark.take() {
                    // The server writes out what it has when there is no more to be had just now.
                    tokio::task::yield_now().await;
                    let _ = oneshot::Sender::send(done, ());
                }
                match received.recv().await? {
                    Piece::Bytes(mut bytes) => {
                        // What waits goes along.
                        while bytes.len() < AT_ONCE {
                            match received.try_recv() {
                                Ok(Piece::Bytes(more)) => bytes.extend_from_slice(&more),
                                Ok(Piece::Mark(done)) => {
                                    mark = Some(done);
                                    break;
                                }
                                Err(_) => break,
                            }
                        }
                        return Some((Ok::<_, std::convert::Infallible>(bytes), (received, mark)));
                    }
                    Piece::Mark(done) => mark = Some(done),
                }
            }
        }))
    }

    /// A session lives in a directory.
    pub(super) fn place(&mut self, session: &str, directory: &str) {
        self.directories.insert(session.to_owned(), directory.to_owned());
    }

    /// A sub-agent's session lives where its parent does.
    pub(super) fn place_beside(&mut self, session: &str, parent: &str) {
        if let Some(directory) = self.directories.get(parent).cloned() {
            self.directories.insert(session.to_owned(), directory);
        }
    }

    /// Sends an event to those who want it.
    pub(super) fn publish(&mut self, session: Option<&str>, line: &[u8]) {
        self.readers.retain(|reader| !reader.pieces.is_closed());
        if !self.had_a_reader {
            self.early.push((session.map(str::to_owned), line.to_vec()));
        }
        for reader in &self.readers {
            if wanted(&self.directories, reader, session) {
                reader.send(line);
            }
        }
    }

    /// Sends bytes to everybody as they are.
    pub(super) fn raw(&self, bytes: &[u8]) {
        for reader in &self.readers {
            reader.push(bytes.to_vec());
        }
    }

    /// Marks in all streams, each told when what was sent before it has left.
    pub(super) fn marks(&self) -> Vec<oneshot::Receiver<()>> {
        let mark = |reader: &Reader| {
            let (told, done) = oneshot::channel();
            reader.pieces.send(Piece::Mark(told)).is_ok().then_some(done)
        };
        self.readers.iter().filter_map(mark).collect()
    }
}

impl Reader {
    fn send(&self, line: &[u8]) {
        let payload = match self.wrapping {
            Wrapping::Global => serde_json::from_slice::<Value>(line).ok(),
            Wrapping::Plain => None,
        };
        let wrapped = payload.map(|payload| {
            let mut event = serde_json::json!({"payload": payload});
            if let Some(directory) = &self.directory {
                event["directory"] = directory.as_str().into();
            }
            event.to_string().into_bytes()
        });
        let line = wrapped.as_deref().unwrap_or(line);
        self.push([b"data: ", line, b"\n\n"].concat());
    }

    fn push(&self, bytes: Vec<u8>) {
        // A reader that has gone is left out when the next event comes.
        let _ = self.pieces.send(Piece::Bytes(bytes));
    }
}

/// Whether a reader wants the events of a session. What belongs to none is for everybody.
fn wanted(directories: &HashMap<String, String>, reader: &Reader, session: Option<&str>) -> bool {
    reader.wrapping == Wrapping::Global
        || match session.and_then(|session| directories.get(session)) {
            Some(directory) => reader.directory.as_ref() == Some(directory),
            None => true,
        }
}

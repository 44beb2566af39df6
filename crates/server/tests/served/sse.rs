//! Reading server-sent events as a client does.

use reqwest::Response;
use serde_json::Value;

/// What a stream sends.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    Event { id: u64, data: Value },
    Comment(String),
}

/// The frames of a stream.
pub(crate) struct Frames {
    response: Response,
    unread: Vec<u8>,
    /// So much of it has no end of a frame.
    searched: usize,
}

impl Frames {
    pub(crate) fn of(response: Response) -> Self {
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, unread: Vec::new(), searched: 0 }
    }

    /// The next frame; `None` when the server closed the stream.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            let found = self.unread[self.searched..].windows(2).position(|pair| pair == b"\n\n");
            if let Some(end) = found.map(|end| self.searched + end) {
                let frame: Vec<u8> = self.unread.drain(..end + 2).collect();
                self.searched = 0;
                return Some(parse(std::str::from_utf8(&frame).unwrap().trim_end()));
            }
            self.searched = self.unread.len().saturating_sub(1);
            let Some(chunk) = self.response.chunk().await.unwrap() else {
                assert!(self.unread.is_empty(), "the stream ended in the middle of a frame");
                return None;
            };
            self.unread.extend_from_slice(&chunk);
        }
    }

    /// The next event; `None` when the server closed the stream.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            match self.next().await? {
                Frame::Event { id, data } => {
                    assert_eq!(data["sequence"], id);
                    return Some(data);
                }
                Frame::Comment(_) => {}
            }
        }
    }

    /// The events up to and including the first of a type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await.expect("the stream ended too early");
            let found = event["type"] == kind;
            events.push(event);
            if found {
                return events;
            }
        }
    }

    /// All events until the server closes the stream.
    pub(crate) async fn events(mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }
}

fn parse(frame: &str) -> Frame {
    if let Some(comment) = frame.strip_prefix(':') {
        return Frame::Comment(comment.trim().to_owned());
    }
    let (id, data) = frame.split_once('\n').expect("a frame has an id and data");
    Frame::Event {
        id: id.strip_prefix("id: ").unwrap().parse().unwrap(),
        data: serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap(),
    }
}

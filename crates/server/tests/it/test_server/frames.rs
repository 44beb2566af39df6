//! A stream of server-sent events that is checked while it is read.

use interlingua_client::{Frame, FrameStream, SseEvent};
use serde_json::Value;

/// The frames of a stream.
pub(crate) struct Frames(FrameStream);

impl Frames {
    pub(crate) fn new(frames: FrameStream) -> Self {
        Self(frames)
    }

    /// The next frame; `None` when the server closed the stream, which must be between two frames.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        self.0.next().await.unwrap()
    }

    /// The next event; `None` when the server closed the stream.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            match self.next().await? {
                Frame::Event(event) => return Some(decode(&event)),
                Frame::Comment(_) | Frame::Id(_) => {}
                Frame::UnknownLine(line) => {
                    panic!("unexpected line in the stream: {:?}", String::from_utf8_lossy(&line))
                }
            }
        }
    }

    /// The events up to and including the first one of a type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.event().await.expect("the stream ended before the event");
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

/// Decodes an event, and checks that the frame has one line of data and the sequence as its id.
fn decode(event: &SseEvent) -> Value {
    assert_eq!(event.event_type, None);
    assert!(!event.data.contains(&b'\n'));
    let data: Value = serde_json::from_slice(&event.data).unwrap();
    assert_eq!(event.id.as_deref(), Some(data["sequence"].to_string().as_str()));
    data
}

//! The event stream: what of it concerns a session.

use std::collections::HashSet;

use memchr::memchr;
use serde::Deserialize;

use crate::drivers::text::Text;

/// The longest event. What is longer is not read.
const LONGEST: usize = 256 << 20;

/// The events of a directory, as they come.
pub(super) struct Events {
    response: reqwest::Response,
    lines: Lines,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Text(String),
    Garbled { bytes: Vec<u8>, reason: String },
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, lines: Lines::default() }
    }

    /// The next event; `None` when the stream has ended. Can be cancelled without losing anything.
    pub(super) async fn next(&mut self) -> Option<Payload> {
        loop {
            if let Some(payload) = self.at_hand() {
                return Some(payload);
            }
            if let Some(bytes) = self.lines.too_long() {
                return Some(Payload::Garbled { bytes, reason: format!("an event of more than {LONGEST} bytes") });
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.lines.add(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event, if it came together with the last one.
    pub(super) fn at_hand(&mut self) -> Option<Payload> {
        while let Some(line) = self.lines.next() {
            // OpenCode says everything in one line, and nothing but data.
            if let Some(payload) = payload(line) {
                return Some(payload);
            }
        }
        None
    }
}

/// Lines, from pieces of any size.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins: what is before it was given out. It is let go of when more comes, so that a line does
    /// not cost what is behind it.
    begin: usize,
    /// Up to where there is no end of that line.
    searched: usize,
}

impl Lines {
    fn add(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        self.buffer.extend_from_slice(piece);
    }

    /// The next line, if it is whole, without its end.
    fn next(&mut self) -> Option<&[u8]> {
        let Some(found) = memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + found;
        let line = &self.buffer[self.begin..end];
        self.begin = end + 1;
        self.searched = self.begin;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// What there is of a line that is too long, which is then forgotten.
    fn too_long(&mut self) -> Option<Vec<u8>> {
        (self.buffer.len() - self.begin > LONGEST).then(|| {
            let Self { mut buffer, begin, .. } = std::mem::take(self);
            buffer.drain(..begin);
            buffer
        })
    }
}

/// What a line carries; `None` for a comment, or the empty line between events.
fn payload(line: &[u8]) -> Option<Payload> {
    if line.is_empty() || line.starts_with(b":") {
        return None;
    }
    let line = match std::str::from_utf8(line) {
        Ok(line) => line,
        Err(error) => return Some(Payload::Garbled { bytes: line.to_owned(), reason: error.to_string() }),
    };
    let text = match line.strip_prefix("data:") {
        Some(data) => data.strip_prefix(' ').unwrap_or(data),
        // Whatever it is, it is no event.
        None => line,
    };
    Some(Payload::Text(text.to_owned()))
}

/// What an event is about. Every event is looked at, so it borrows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) kind: Text<'a>,
    /// The session that it belongs to; `None` if it is about none.
    session: Option<Text<'a>>,
    /// The session that this session works for.
    parent: Option<Text<'a>>,
    /// A sub-agent's session that it names.
    child: Option<Text<'a>>,
    /// The request that it is about.
    pub(super) request: Option<Text<'a>>,
    is_idle: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    #[serde(borrow)]
    properties: Option<Properties<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Properties<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow, rename = "sessionID")]
    session: Option<Text<'a>>,
    #[serde(borrow, rename = "requestID")]
    request: Option<Text<'a>>,
    #[serde(borrow)]
    info: Option<Info<'a>>,
    #[serde(borrow)]
    part: Option<Part<'a>>,
    status: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow, rename = "sessionID")]
    session: Option<Text<'a>>,
    #[serde(borrow, rename = "parentID")]
    parent: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "sessionID")]
    session: Option<Text<'a>>,
    #[serde(borrow)]
    state: Option<State<'a>>,
}

#[derive(Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, rename = "sessionId")]
    session: Option<Text<'a>>,
}

impl<'a> Head<'a> {
    /// What an event is about. One that cannot be read is about nobody in particular.
    pub(super) fn of(payload: &'a str) -> Self {
        if let Some(session) = delta_in(payload) {
            return Self { kind: DELTA.into(), session: Some(session.into()), ..Self::default() };
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(payload) else { return Self::default() };
        let kind = event.r#type;
        let properties = event.properties.unwrap_or_default();
        let is_idle = *kind == *"session.idle"
            || *kind == *"session.status" && properties.status.is_some_and(|status| status["type"] == "idle");
        let mut head = Self { request: properties.request.or(properties.id), is_idle, ..Self::default() };
        head.session = properties.session;
        if let Some(info) = properties.info {
            // The id of a session, or that of a message.
            let id = info.id.filter(|_| kind.starts_with("session."));
            head.session = head.session.or(info.session).or(id);
            head.parent = info.parent.filter(|_| kind.starts_with("session."));
        }
        if let Some(part) = properties.part {
            head.session = head.session.or(part.session);
            head.child = part.state.and_then(|state| state.metadata?.session);
        }
        head.kind = kind;
        head
    }
}

/// A piece of a message.
const DELTA: &str = "message.part.delta";

/// The session that a piece of a message belongs to, if it is one and written as OpenCode does. Nearly all events are
/// pieces, and all that counts of them stands at their beginning.
fn delta_in(payload: &str) -> Option<&str> {
    let (_, rest) = payload.strip_prefix(r#"{"id":""#)?.split_once('"')?;
    let rest = rest.strip_prefix(r#","type":""#)?.strip_prefix(DELTA)?;
    let (session, _) = rest.strip_prefix(r#"","properties":{"sessionID":""#)?.split_once('"')?;
    (!session.contains('\\')).then_some(session)
}

/// A session and those of its sub-agents.
#[derive(Debug)]
pub(super) struct Family {
    session: String,
    children: HashSet<String>,
}

impl Family {
    pub(super) fn new(session: impl Into<String>) -> Self {
        Self { session: session.into(), children: HashSet::new() }
    }

    /// The session itself.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Whether an event concerns the session. Takes note of sub-agents that it tells of.
    pub(super) fn concerns(&mut self, head: &Head<'_>) -> bool {
        let Some(session) = &head.session else { return true };
        if !self.has(session) {
            if !head.parent.as_ref().is_some_and(|parent| self.has(parent)) {
                return false;
            }
            self.children.insert(session.clone().into_owned());
        }
        if let Some(child) = head.child.as_ref().filter(|child| ***child != *self.session) {
            self.children.insert(child.clone().into_owned());
        }
        true
    }

    /// Whether an event tells that the session itself has nothing more to do.
    pub(super) fn is_idle(&self, head: &Head<'_>) -> bool {
        head.is_idle && head.session.as_deref() == Some(self.session.as_str())
    }

    fn has(&self, session: &str) -> bool {
        self.session == session || self.children.contains(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_of_data_whatever_the_pieces_it_came_in() {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for piece in [&b"data: {\"a\""[..], b":1}\r\n", b"\n: hello\nda", b"ta:x\n\ndata: \xff\n"] {
            lines.add(piece);
            while let Some(line) = lines.next() {
                events.extend(payload(line));
            }
        }
        assert_eq!(events[..2], [Payload::Text(r#"{"a":1}"#.to_owned()), Payload::Text("x".to_owned())]);
        assert!(matches!(&events[2], Payload::Garbled { bytes, .. } if bytes == b"data: \xff"));
    }

    #[test]
    fn a_session_hears_of_itself_its_sub_agents_and_what_concerns_everybody() {
        let mut family = Family::new("ses_a");
        let mut concerns = |payload: &str| family.concerns(&Head::of(payload));
        assert!(concerns(r#"{"type":"session.idle","properties":{"sessionID":"ses_a"}}"#));
        assert!(concerns(r#"{"type":"message.updated","properties":{"info":{"id":"msg_1","sessionID":"ses_a"}}}"#));
        assert!(concerns(r#"{"type":"server.heartbeat","properties":{}}"#));
        assert!(concerns("rubbish"));
        let other = r#"{"type":"message.part.updated","properties":{"part":{"sessionID":"ses_b"}}}"#;
        assert!(!concerns(other));
        assert!(!concerns(r#"{"type":"session.created","properties":{"info":{"id":"ses_c","parentID":"ses_x"}}}"#));
        assert!(concerns(r#"{"type":"session.created","properties":{"info":{"id":"ses_b","parentID":"ses_a"}}}"#));
        assert!(concerns(other));
        let task = r#"{"type":"message.part.updated","properties":{"part":{"sessionID":"ses_a","state":{"metadata":{"sessionId":"ses_d"}}}}}"#;
        assert!(concerns(task));
        assert!(concerns(r#"{"type":"session.idle","properties":{"sessionID":"ses_d"}}"#));
    }

    #[test]
    fn a_piece_of_a_message_is_known_by_its_beginning_and_otherwise_by_its_keys() {
        let usual = r#"{"id":"evt_1","type":"message.part.delta","properties":{"sessionID":"ses_a","delta":"x"}}"#;
        let other = r#"{"type":"message.part.delta","properties":{"delta":"x","sessionID":"ses_a"}}"#;
        let escaped = r#"{"id":"evt_1","type":"message.part.delta","properties":{"sessionID":"ses\u005fa"}}"#;
        assert_eq!([usual, other, escaped].map(|payload| delta_in(payload).is_some()), [true, false, false]);
        for payload in [usual, other, escaped] {
            let Head { kind, session, .. } = Head::of(payload);
            assert_eq!((&*kind, session.as_deref()), (DELTA, Some("ses_a")), "{payload}");
        }
    }

    #[test]
    fn only_the_session_itself_ends_its_turn() {
        let mut family = Family::new("ses_a");
        family.children.insert("ses_b".to_owned());
        let idle = |family: &Family, payload: &str| family.is_idle(&Head::of(payload));
        assert!(idle(
            &family,
            r#"{"type":"session.status","properties":{"sessionID":"ses_a","status":{"type":"idle"}}}"#
        ));
        assert!(!idle(
            &family,
            r#"{"type":"session.status","properties":{"sessionID":"ses_a","status":{"type":"busy"}}}"#
        ));
        assert!(!idle(&family, r#"{"type":"session.idle","properties":{"sessionID":"ses_b"}}"#));
    }
}

//! The event stream: what of it concerns a session.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::memchr;
use serde::Deserialize;

/// The longest event. What is longer is not read.
const LONGEST: usize = 256 << 20;

/// The events of a directory, as they come.
pub(super) struct Events {
    response: reqwest::Response,
    buffer: Vec<u8>,
    /// How much of the buffer holds no end of a line.
    searched: usize,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Text(String),
    Garbled { bytes: Vec<u8>, reason: String },
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, buffer: Vec::new(), searched: 0 }
    }

    /// The next event; `None` when the stream has ended. Can be cancelled without losing anything.
    pub(super) async fn next(&mut self) -> Option<Payload> {
        loop {
            while let Some(line) = take_line(&mut self.buffer, &mut self.searched) {
                // OpenCode says everything in one line, and nothing but data.
                if let Some(payload) = payload(line) {
                    return Some(payload);
                }
            }
            if self.buffer.len() > LONGEST {
                let bytes = std::mem::take(&mut self.buffer);
                self.searched = 0;
                return Some(Payload::Garbled { bytes, reason: format!("an event of more than {LONGEST} bytes") });
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

/// Takes the first line out of a buffer, if it is whole.
fn take_line(buffer: &mut Vec<u8>, searched: &mut usize) -> Option<Vec<u8>> {
    let Some(found) = memchr(b'\n', &buffer[*searched..]) else {
        *searched = buffer.len();
        return None;
    };
    let end = *searched + found;
    let rest = buffer.split_off(end + 1);
    let mut line = std::mem::replace(buffer, rest);
    *searched = 0;
    line.pop();
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Some(line)
}

/// What a line carries; `None` for a comment, or the empty line between events.
fn payload(line: Vec<u8>) -> Option<Payload> {
    if line.is_empty() || line.starts_with(b":") {
        return None;
    }
    let line = match String::from_utf8(line) {
        Ok(line) => line,
        Err(error) => {
            let reason = error.utf8_error().to_string();
            return Some(Payload::Garbled { bytes: error.into_bytes(), reason });
        }
    };
    match line.strip_prefix("data:") {
        Some(data) => Some(Payload::Text(data.strip_prefix(' ').unwrap_or(data).to_owned())),
        // Whatever it is, it is no event.
        None => Some(Payload::Text(line)),
    }
}

/// What an event is about.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: String,
    /// The session that it belongs to; `None` if it is about none.
    pub(super) session: Option<String>,
    /// The session that this session works for.
    parent: Option<String>,
    /// A sub-agent's session that it names.
    child: Option<String>,
    /// The request that it is about.
    pub(super) request: Option<String>,
    is_idle: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    properties: Option<Properties>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Properties {
    id: Option<String>,
    #[serde(rename = "sessionID")]
    session: Option<String>,
    #[serde(rename = "requestID")]
    request: Option<String>,
    info: Option<Info>,
    part: Option<Part>,
    status: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Info {
    id: Option<String>,
    #[serde(rename = "sessionID")]
    session: Option<String>,
    #[serde(rename = "parentID")]
    parent: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "sessionID")]
    session: Option<String>,
    state: Option<State>,
}

#[derive(Deserialize)]
struct State {
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

impl Head {
    /// What an event is about. One that cannot be read is about nobody in particular.
    pub(super) fn of(payload: &str) -> Self {
        let Ok(event) = serde_json::from_str::<Event<'_>>(payload) else { return Self::default() };
        let kind = event.r#type.into_owned();
        let properties = event.properties.unwrap_or_default();
        let is_idle = kind == "session.idle"
            || kind == "session.status" && properties.status.is_some_and(|status| status["type"] == "idle");
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
    pub(super) fn concerns(&mut self, head: &Head) -> bool {
        let Some(session) = &head.session else { return true };
        if !self.has(session) {
            if !head.parent.as_ref().is_some_and(|parent| self.has(parent)) {
                return false;
            }
            self.children.insert(session.clone());
        }
        self.children.extend(head.child.iter().filter(|child| **child != self.session).cloned());
        true
    }

    /// Whether an event tells that the session itself has nothing more to do.
    pub(super) fn is_idle(&self, head: &Head) -> bool {
        head.is_idle && head.session.as_ref() == Some(&self.session)
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
        let (mut buffer, mut searched) = (Vec::new(), 0);
        let mut events = Vec::new();
        for piece in [&b"data: {\"a\""[..], b":1}\r\n", b"\n: hello\nda", b"ta:x\n\ndata: \xff\n"] {
            buffer.extend_from_slice(piece);
            while let Some(line) = take_line(&mut buffer, &mut searched) {
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

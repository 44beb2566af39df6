//! What an event is about, and whether it concerns a session.

use std::collections::HashSet;

use serde::Deserialize;

use crate::drivers::text::Text;

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

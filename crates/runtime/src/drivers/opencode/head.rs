//! What an event is about, and whether it concerns a session.

use std::collections::HashSet;

use std::borrow::Cow;

use crate::drivers::scanner::Scanner;

/// A piece of a message. Nearly all events are pieces, and all that counts of them stands at their beginning.
const DELTA: &str = "message.part.delta";

/// What an event is about. Every event is scanned for it, so it borrows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) kind: Cow<'a, str>,
    /// The session that it belongs to; `None` if it is about none.
    session: Option<Cow<'a, str>>,
    /// The session that this session works for.
    parent: Option<Cow<'a, str>>,
    /// A sub-agent's session that it names.
    child: Option<Cow<'a, str>>,
    is_idle: bool,
}

/// What is scanned of the properties of an event.
#[derive(Default)]
struct Properties<'a> {
    session: Option<Cow<'a, str>>,
    info: Info<'a>,
    part_session: Option<Cow<'a, str>>,
    child: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
}

/// A session, or a message.
#[derive(Default)]
struct Info<'a> {
    id: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
}

impl<'a> Head<'a> {
    /// Scans an event. One that cannot be read is about nobody in particular.
    pub(super) fn scan(payload: &'a str) -> Self {
        let mut json = Scanner::new(payload);
        let (mut kind, mut properties) = (None, Properties::default());
        if json.enter_object() {
            while let Some(key) = json.next_key() {
                match key {
                    "type" => kind = json.text(),
                    "properties" => {
                        let is_delta = kind.as_deref() == Some(DELTA);
                        properties = Properties::scan(&mut json, is_delta);
                        if is_delta && properties.session.is_some() {
                            break;
                        }
                    }
                    _ => {}
                }
            }
        }
        let Some(kind) = kind else { return Self::default() };
        // The id of a session, or that of a message.
        let Info { id, session, parent } = properties.info;
        let is_about_session = kind.starts_with("session.");
        let id = id.filter(|_| is_about_session);
        Self {
            session: properties.session.or(session).or(id).or(properties.part_session),
            parent: parent.filter(|_| is_about_session),
            child: properties.child,
            is_idle: kind == "session.idle" || kind == "session.status" && properties.status.as_deref() == Some("idle"),
            kind,
        }
    }
}

impl<'a> Properties<'a> {
    /// Scans properties. Of a delta, the session is all that counts.
    fn scan(json: &mut Scanner<'a>, is_delta: bool) -> Self {
        let mut properties = Self::default();
        if !json.enter_object() {
            return properties;
        }
        while let Some(key) = json.next_key() {
            match key {
                "sessionID" => properties.session = json.text(),
                "info" => properties.info = Info::scan(json),
                "part" => properties.scan_part(json),
                "status" => properties.status = json.text_at(&["type"]),
                _ => {}
            }
            if is_delta && properties.session.is_some() {
                break;
            }
        }
        properties
    }

    fn scan_part(&mut self, json: &mut Scanner<'a>) {
        if !json.enter_object() {
            return;
        }
        while let Some(key) = json.next_key() {
            match key {
                "sessionID" => self.part_session = json.text(),
                "state" => self.child = json.text_at(&["metadata", "sessionId"]),
                _ => {}
            }
        }
    }
}

impl<'a> Info<'a> {
    fn scan(json: &mut Scanner<'a>) -> Self {
        let mut info = Self::default();
        if json.enter_object() {
            while let Some(key) = json.next_key() {
                match key {
                    "id" => info.id = json.text(),
                    "sessionID" => info.session = json.text(),
                    "parentID" => info.parent = json.text(),
                    _ => {}
                }
            }
        }
        info
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
    pub(super) fn concerns(&mut self, head: &Head<'_>) -> bool {
        let Some(session) = &head.session else { return true };
        if !self.has(session) {
            if !head.parent.as_ref().is_some_and(|parent| self.has(parent)) {
                return false;
            }
            self.children.insert(session.clone().into_owned());
        }
        if let Some(child) = head.child.as_ref().filter(|child| *child != self.session.as_str()) {
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
        let mut concerns = |payload: &str| family.concerns(&Head::scan(payload));
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
        for payload in [usual, other, escaped] {
            let Head { kind, session, .. } = Head::scan(payload);
            assert_eq!((&*kind, session.as_deref()), (DELTA, Some("ses_a")), "{payload}");
        }
    }

    #[test]
    fn only_the_session_itself_ends_its_turn() {
        let mut family = Family::new("ses_a");
        family.children.insert("ses_b".to_owned());
        let idle = |family: &Family, payload: &str| family.is_idle(&Head::scan(payload));
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

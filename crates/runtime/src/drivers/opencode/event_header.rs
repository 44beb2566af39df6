//! The header of an event: its type, and the session that it concerns.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::drivers::scanner::Scanner;

/// Type of a message delta. Nearly all events are deltas, and what matters of them is at their start.
const DELTA: &str = "message.part.delta";

/// The type of an event, and the session that it concerns. Every event is scanned for its header, so it borrows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EventHeader<'a> {
    pub(super) kind: Cow<'a, str>,
    /// The session that the event belongs to; `None` if it concerns all sessions.
    session: Option<Cow<'a, str>>,
    /// The parent of `session`, if that is the session of a sub-agent.
    parent: Option<Cow<'a, str>>,
    /// A sub-agent's session that the event names.
    child: Option<Cow<'a, str>>,
    /// Whether the event reports that `session` is idle.
    is_idle: bool,
}

/// The properties of an event that are scanned.
#[derive(Default)]
struct Properties<'a> {
    session: Option<Cow<'a, str>>,
    info: Info<'a>,
    part_session: Option<Cow<'a, str>>,
    child: Option<Cow<'a, str>>,
    status: Option<Cow<'a, str>>,
}

/// Information about a session or a message.
#[derive(Default)]
struct Info<'a> {
    id: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
    parent: Option<Cow<'a, str>>,
}

impl<'a> EventHeader<'a> {
    /// Scans an event. An unreadable one concerns all sessions.
    pub(super) fn scan(payload: &'a str) -> Self {
        let mut json = Scanner::new(payload);
        let (mut kind, mut properties) = (None, Properties::default());
        if json.enter_object() {
            while let Some(key) = json.next_key() {
                match key {
                    "type" => kind = json.string(),
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
                "sessionID" => properties.session = json.string(),
                "info" => properties.info = Info::scan(json),
                "part" => properties.scan_part(json),
                "status" => properties.status = json.string_at(&["type"]),
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
                "sessionID" => self.part_session = json.string(),
                "state" => self.child = json.string_at(&["metadata", "sessionId"]),
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
                    "id" => info.id = json.string(),
                    "sessionID" => info.session = json.string(),
                    "parentID" => info.parent = json.string(),
                    _ => {}
                }
            }
        }
        info
    }
}

/// A session and the sessions of its sub-agents.
#[derive(Debug)]
pub(super) struct SessionTree {
    session: String,
    children: HashSet<String>,
}

impl SessionTree {
    pub(super) fn new(session: impl Into<String>) -> Self {
        Self { session: session.into(), children: HashSet::new() }
    }

    /// Id of the session itself.
    pub(super) fn root(&self) -> &str {
        &self.session
    }

    /// Whether an event concerns the session. Records sub-agents that the event names.
    pub(super) fn accepts(&mut self, header: &EventHeader<'_>) -> bool {
        let Some(session) = &header.session else { return true };
        if !self.contains(session) {
            if !header.parent.as_ref().is_some_and(|parent| self.contains(parent)) {
                return false;
            }
            self.children.insert(session.clone().into_owned());
        }
        if let Some(child) = header.child.as_ref().filter(|child| *child != self.session.as_str()) {
            self.children.insert(child.clone().into_owned());
        }
        true
    }

    /// Whether an event reports that the session itself is idle.
    pub(super) fn is_idle(&self, header: &EventHeader<'_>) -> bool {
        header.is_idle && header.session.as_deref() == Some(self.session.as_str())
    }

    fn contains(&self, session: &str) -> bool {
        self.session == session || self.children.contains(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_gets_its_own_events_those_of_its_sub_agents_and_those_for_all() {
        let mut tree = SessionTree::new("ses_a");
        let mut accepts = |payload: &str| tree.accepts(&EventHeader::scan(payload));
        assert!(accepts(r#"{"type":"session.idle","properties":{"sessionID":"ses_a"}}"#));
        assert!(accepts(r#"{"type":"message.updated","properties":{"info":{"id":"msg_1","sessionID":"ses_a"}}}"#));
        assert!(accepts(r#"{"type":"server.heartbeat","properties":{}}"#));
        assert!(accepts("garbage"));
        let other = r#"{"type":"message.part.updated","properties":{"part":{"sessionID":"ses_b"}}}"#;
        assert!(!accepts(other));
        assert!(!accepts(r#"{"type":"session.created","properties":{"info":{"id":"ses_c","parentID":"ses_x"}}}"#));
        assert!(accepts(r#"{"type":"session.created","properties":{"info":{"id":"ses_b","parentID":"ses_a"}}}"#));
        assert!(accepts(other));
        let task = r#"{"type":"message.part.updated","properties":{"part":{"sessionID":"ses_a","state":{"metadata":{"sessionId":"ses_d"}}}}}"#;
        assert!(accepts(task));
        assert!(accepts(r#"{"type":"session.idle","properties":{"sessionID":"ses_d"}}"#));
    }

    #[test]
    fn the_session_of_a_delta_is_found_in_any_position() {
        let usual = r#"{"id":"evt_1","type":"message.part.delta","properties":{"sessionID":"ses_a","delta":"x"}}"#;
        let other = r#"{"type":"message.part.delta","properties":{"delta":"x","sessionID":"ses_a"}}"#;
        let escaped = r#"{"id":"evt_1","type":"message.part.delta","properties":{"sessionID":"ses\u005fa"}}"#;
        for payload in [usual, other, escaped] {
            let EventHeader { kind, session, .. } = EventHeader::scan(payload);
            assert_eq!((&*kind, session.as_deref()), (DELTA, Some("ses_a")), "{payload}");
        }
    }

    #[test]
    fn only_the_session_itself_reports_that_it_is_idle() {
        let mut tree = SessionTree::new("ses_a");
        tree.children.insert("ses_b".to_owned());
        let idle = |tree: &SessionTree, payload: &str| tree.is_idle(&EventHeader::scan(payload));
        assert!(idle(
            &tree,
            r#"{"type":"session.status","properties":{"sessionID":"ses_a","status":{"type":"idle"}}}"#
        ));
        assert!(!idle(
            &tree,
            r#"{"type":"session.status","properties":{"sessionID":"ses_a","status":{"type":"busy"}}}"#
        ));
        assert!(!idle(&tree, r#"{"type":"session.idle","properties":{"sessionID":"ses_b"}}"#));
    }
}

//! The projector: from universal events to envelope events.
//!
//! A projector handles one universal event at a time and keeps only what it needs for later ones: the open items, the
//! names of calls without a result, and the state of the session. It works with an allow list: the text of messages
//! becomes `text`; names, numbers and values of a fixed vocabulary become `data`. Everything else is dropped, including
//! anything that a later version of the universal schema adds.

mod bounded_map;
mod items;
mod messages;
mod projected_events;
mod requests;
mod session;
mod status;
mod tools;

use std::collections::BTreeMap;

use interlingua_schema::{EventData, SessionId, UniversalEvent};

use self::session::Session;
use crate::{AgentWrapperCompletion, AgentWrapperEvent, AgentWrapperKind};

/// Converts the universal events of one agent, of any number of sessions, into envelope events.
///
/// ```
/// use interlingua_convert::Agent;
/// use interlingua_envelope::{AgentWrapperEventKind, Projector};
/// use interlingua_schema::{ErrorCode, ErrorEvent, EventData, Origin, Timestamp, UniversalEvent};
///
/// let failure = EventData::Error(ErrorEvent::new(ErrorCode::RateLimited, "Try again in a minute."));
/// let event = UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "ses_1", Origin::AGENT, failure);
///
/// let mut projector = Projector::new(Agent::Codex);
/// let projected: Vec<_> = projector.push(&event).collect();
/// assert_eq!(projected[0].kind(), AgentWrapperEventKind::Error);
/// assert_eq!(projected[0].message(), Some("Try again in a minute."));
/// assert_eq!(projected[0].data().unwrap()["code"], "rate_limited");
/// ```
#[derive(Debug)]
pub struct Projector {
    agent_kind: AgentWrapperKind,
    sessions: BTreeMap<SessionId, Session>,
    /// Number of sessions so far.
    session_count: u64,
}

impl Projector {
    /// A projector for this agent.
    #[must_use]
    pub fn new(agent: impl Into<AgentWrapperKind>) -> Self {
        Self { agent_kind: agent.into(), sessions: BTreeMap::new(), session_count: 0 }
    }

    /// The envelope events of one universal event, in order. A long text is split lazily, so that it is not held in memory
    /// twice.
    pub fn push<'e>(&mut self, event: &'e UniversalEvent) -> impl Iterator<Item = AgentWrapperEvent> + use<'e> {
        let agent = self.agent_kind.clone();
        let session = self.session(event);
        match &event.data {
            EventData::ItemDelta(data) => session.item_delta(agent, data),
            EventData::ItemStarted(data) => session.item_started(agent, event, data),
            EventData::ItemCompleted(data) => session.item_completed(agent, event, data),
            EventData::SessionStarted(_) => session.started(agent, event),
            EventData::SessionEnded(data) => session.ended(agent, event, data),
            EventData::TurnStarted(data) => session.turn_started(agent, event, data),
            EventData::TurnEnded(data) => session.turn_ended(agent, event, data),
            EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => {
                session.permission(agent, event, data)
            }
            EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => {
                session.question(agent, event, data)
            }
            EventData::Error(data) => session.error(agent, event, data),
            EventData::AgentUnparsed(data) => session.unknown_event(agent, event, data.native_type.as_deref()),
            EventData::Unknown(data) => session.unknown_event(agent, event, Some(&data.kind)),
        }
    }

    /// Returns the completion of a session and drops the state of the session. `None` if no event of it was pushed.
    ///
    /// Call it after `session.ended`, or when the session is no longer followed.
    pub fn complete(&mut self, session: &SessionId) -> Option<AgentWrapperCompletion> {
        self.sessions.remove(session).map(Session::into_completion)
    }

    /// The completions of all remaining sessions, in the order in which they started.
    pub fn finish(self) -> impl Iterator<Item = AgentWrapperCompletion> {
        let mut sessions: Vec<Session> = self.sessions.into_values().collect();
        sessions.sort_by_key(|session| session.number);
        sessions.into_iter().map(Session::into_completion)
    }

    fn session(&mut self, event: &UniversalEvent) -> &mut Session {
        let count = &mut self.session_count;
        let session = self.sessions.entry(event.session_id.clone()).or_insert_with(|| {
            *count += 1;
            Session::new(*count, &event.session_id)
        });
        session.set_native_id(event.native_session_id.as_ref());
        session
    }
}

//! From universal events to the envelope.
//!
//! A projector looks at one universal event at a time and keeps only what it needs for the next: which items are open,
//! what the calls without a result are called, how the session stands. What it lets through is a list of what is known to
//! be safe: words that were said become `text`; names, numbers and words of a fixed vocabulary become `data`. Everything
//! else stays behind, also whatever a later version of the universal schema may add.

mod items;
mod memory;
mod messages;
mod notes;
mod projected;
mod requests;
mod session;
mod tools;

use std::collections::BTreeMap;

use interlingua_schema::{EventData, SessionId, UniversalEvent};

use self::session::Session;
use crate::{AgentWrapperCompletion, AgentWrapperEvent, AgentWrapperKind};

/// Turns the universal events of one agent, of any number of sessions, into envelope events.
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
    begun: u64,
}

impl Projector {
    /// A projector for this agent.
    #[must_use]
    pub fn new(agent: impl Into<AgentWrapperKind>) -> Self {
        Self { agent_kind: agent.into(), sessions: BTreeMap::new(), begun: 0 }
    }

    /// The envelope events of one universal event, in order. A long text is split as it is asked for, so not even one of
    /// ten megabytes is held twice.
    pub fn push<'e>(&mut self, event: &'e UniversalEvent) -> impl Iterator<Item = AgentWrapperEvent> + use<'e> {
        let agent = self.agent_kind.clone();
        let session = self.session(event);
        match &event.data {
            EventData::ItemDelta(data) => session.delta(agent, data),
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
            EventData::AgentUnparsed(data) => session.unknown(agent, event, data.native_type.as_deref()),
            EventData::Unknown(data) => session.unknown(agent, event, Some(&data.kind)),
        }
    }

    /// What a session came to, and the end of it: the projector forgets it. `None` if no event of it was pushed.
    ///
    /// To be called after `session.ended`, or when nobody follows the session any more.
    pub fn complete(&mut self, session: &SessionId) -> Option<AgentWrapperCompletion> {
        self.sessions.remove(session).map(Session::completion)
    }

    /// What the sessions that are left came to, in the order in which they began.
    pub fn finish(self) -> impl Iterator<Item = AgentWrapperCompletion> {
        let mut left: Vec<Session> = self.sessions.into_values().collect();
        left.sort_by_key(|session| session.serial);
        left.into_iter().map(Session::completion)
    }

    fn session(&mut self, event: &UniversalEvent) -> &mut Session {
        let begun = &mut self.begun;
        let session = self.sessions.entry(event.session_id.clone()).or_insert_with(|| {
            *begun += 1;
            Session::new(*begun, &event.session_id)
        });
        session.named(event.native_session_id.as_ref());
        session
    }
}

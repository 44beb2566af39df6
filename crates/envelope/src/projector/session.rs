//! The state of a session.

use interlingua_schema::{
    EndReason, ItemId, NativeSessionId, SessionEnded, SessionId, TurnEnded, TurnStarted, TurnStatus, UniversalEvent,
    Usage,
};

use super::bounded_map::BoundedMap;
use super::items::OpenItem;
use super::projected_events::ProjectedEvents;
use super::status::exit_message;
use super::tools::PendingCall;
use crate::bounds::FinalText;
use crate::data_writer::DataWriter;
use crate::metadata::key;
use crate::{AgentWrapperCompletion, AgentWrapperCompletionStatus, AgentWrapperEvent, AgentWrapperKind, Name};

/// The state of a session that later events need.
#[derive(Debug)]
pub(super) struct Session {
    /// Number of the session in the order of starts, from 1.
    pub(super) number: u64,
    pub(super) name: Option<Name>,
    native_id: Option<NativeSessionId>,
    pub(super) thread: Option<Name>,
    pub(super) turn: Option<Name>,
    pub(super) open_items: BoundedMap<ItemId, OpenItem>,
    /// The calls without a result, by the agent's id of the call.
    pub(super) pending_calls: BoundedMap<Name, PendingCall>,
    pub(super) final_text: Option<FinalText>,
    status: AgentWrapperCompletionStatus,
    turns: u64,
    exit_code: Option<i32>,
    usage: Option<Usage>,
}

impl Session {
    pub(super) fn new(number: u64, session: &SessionId) -> Self {
        Self {
            number,
            name: Name::new(session.as_str()),
            native_id: None,
            thread: None,
            turn: None,
            open_items: BoundedMap::default(),
            pending_calls: BoundedMap::default(),
            final_text: None,
            status: AgentWrapperCompletionStatus::Incomplete,
            turns: 0,
            exit_code: None,
            usage: None,
        }
    }

    /// Sets the agent's id of the session, if it is known.
    pub(super) fn set_native_id(&mut self, native_id: Option<&NativeSessionId>) {
        if native_id.is_some() && self.native_id.as_ref() != native_id {
            self.native_id = native_id.cloned();
            self.thread = native_id.and_then(|native_id| Name::new(native_id.as_str()));
        }
    }

    /// The data that all events except text and tool events have.
    pub(super) fn event_data(&self, event: &UniversalEvent) -> DataWriter {
        let mut data = DataWriter::new();
        data.name_from(key::event, Some(event.data.kind()));
        data.name(key::session_id, self.name.as_ref());
        data.name(key::thread_id, self.thread.as_ref());
        data.name(key::turn_id, self.turn.as_ref());
        data
    }

    pub(super) fn started<'e>(&mut self, agent: AgentWrapperKind, event: &UniversalEvent) -> ProjectedEvents<'e> {
        ProjectedEvents::one(AgentWrapperEvent::status(agent, "session started", self.event_data(event).finish()))
    }

    pub(super) fn turn_started<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        turn: &TurnStarted,
    ) -> ProjectedEvents<'e> {
        self.turns += 1;
        self.turn = Name::new(&turn.turn_id);
        self.final_text = None;
        self.status = AgentWrapperCompletionStatus::Incomplete;
        ProjectedEvents::one(AgentWrapperEvent::status(agent, "turn started", self.event_data(event).finish()))
    }

    pub(super) fn turn_ended<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        turn: &TurnEnded,
    ) -> ProjectedEvents<'e> {
        let (status, message) = match turn.status {
            TurnStatus::Completed => (AgentWrapperCompletionStatus::Completed, "turn completed"),
            TurnStatus::Failed => (AgentWrapperCompletionStatus::Failed, "turn failed"),
            TurnStatus::Interrupted => (AgentWrapperCompletionStatus::Interrupted, "turn interrupted"),
            // An unknown outcome never counts as success.
            TurnStatus::Unknown(_) => (AgentWrapperCompletionStatus::Failed, "turn ended"),
        };
        self.status = status;
        if let Some(usage) = turn.usage.clone() {
            match &mut self.usage {
                Some(total) => *total += usage,
                none => *none = Some(usage),
            }
        }
        let mut data = self.event_data(event);
        data.name_from(key::status, Some(turn.status.as_str()));
        data.number(key::duration_ms, Some(turn.duration_ms));
        data.usage(key::usage, turn.usage.as_ref());
        self.turn = None;
        ProjectedEvents::one(AgentWrapperEvent::status(agent, message, data.finish()))
    }

    pub(super) fn ended<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        end: &SessionEnded,
    ) -> ProjectedEvents<'e> {
        self.exit_code = end.exit_code;
        let mut data = self.event_data(event);
        data.name_from(key::status, Some(end.reason.as_str()));
        data.number(key::exit_code, end.exit_code);
        let data = data.finish();
        let event = match end.reason {
            EndReason::Completed => {
                if self.turns == 0 {
                    self.status = AgentWrapperCompletionStatus::Completed;
                }
                AgentWrapperEvent::status(agent, "session completed", data)
            }
            EndReason::Terminated => {
                self.status = AgentWrapperCompletionStatus::Terminated;
                AgentWrapperEvent::status(agent, "session terminated", data)
            }
            // An unknown outcome never counts as success.
            EndReason::Unknown(_) => {
                self.status = AgentWrapperCompletionStatus::Failed;
                AgentWrapperEvent::status(agent, "session ended", data)
            }
            // The message of the event is dropped: it ends with a line of the agent's standard error.
            EndReason::Error => {
                self.status = AgentWrapperCompletionStatus::Failed;
                let message = end.exit_code.map_or_else(|| "the agent is gone".to_owned(), exit_message);
                AgentWrapperEvent::error(agent, &message, data)
            }
        };
        ProjectedEvents::one(event)
    }

    pub(super) fn into_completion(self) -> AgentWrapperCompletion {
        let mut data = DataWriter::new();
        data.name(key::session_id, self.name.as_ref());
        data.name(key::thread_id, self.thread.as_ref());
        data.number(key::exit_code, self.exit_code);
        data.number(key::turns, Some(self.turns));
        data.usage(key::usage, self.usage.as_ref());
        AgentWrapperCompletion::new(self.status, self.final_text, data.finish())
    }
}

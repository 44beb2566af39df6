//! How a session stands.

use interlingua_schema::{
    EndReason, ItemId, NativeSessionId, SessionEnded, SessionId, TurnEnded, TurnStarted, TurnStatus, UniversalEvent,
    Usage,
};

use super::items::Open;
use super::memory::Memory;
use super::notes::farewell;
use super::projected::Projected;
use super::tools::Call;
use crate::bounds::FinalText;
use crate::metadata::key;
use crate::object::Object;
use crate::{AgentWrapperCompletion, AgentWrapperCompletionStatus, AgentWrapperEvent, AgentWrapperKind, Name};

/// A session, as far as its next event needs it.
#[derive(Debug)]
pub(super) struct Session {
    /// The how-manieth session it is.
    pub(super) serial: u64,
    pub(super) name: Option<Name>,
    native: Option<NativeSessionId>,
    pub(super) thread: Option<Name>,
    pub(super) turn: Option<Name>,
    pub(super) items: Memory<ItemId, Open>,
    /// The calls that have no result yet, by the agent's id.
    pub(super) calls: Memory<Name, Call>,
    pub(super) final_text: Option<FinalText>,
    status: AgentWrapperCompletionStatus,
    turns: u64,
    exit_code: Option<i32>,
    usage: Option<Usage>,
}

impl Session {
    pub(super) fn new(serial: u64, session: &SessionId) -> Self {
        Self {
            serial,
            name: Name::new(session.as_str()),
            native: None,
            thread: None,
            turn: None,
            items: Memory::default(),
            calls: Memory::default(),
            final_text: None,
            status: AgentWrapperCompletionStatus::Incomplete,
            turns: 0,
            exit_code: None,
            usage: None,
        }
    }

    /// Takes the agent's name of the session, once it is known.
    pub(super) fn named(&mut self, native: Option<&NativeSessionId>) {
        if native.is_some() && self.native.as_ref() != native {
            self.native = native.cloned();
            self.thread = native.and_then(|native| Name::new(native.as_str()));
        }
    }

    /// What is said of every event that is no text and no tool's.
    pub(super) fn facts(&self, event: &UniversalEvent) -> Object {
        let mut facts = Object::new();
        facts.text(key::event, Some(event.data.kind()));
        facts.name(key::session_id, self.name.as_ref());
        facts.name(key::thread_id, self.thread.as_ref());
        facts.name(key::turn_id, self.turn.as_ref());
        facts
    }

    pub(super) fn started<'e>(&mut self, agent: AgentWrapperKind, event: &UniversalEvent) -> Projected<'e> {
        Projected::one(AgentWrapperEvent::status(agent, "session started", self.facts(event).finish()))
    }

    pub(super) fn turn_started<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        turn: &TurnStarted,
    ) -> Projected<'e> {
        self.turns += 1;
        self.turn = Name::new(&turn.turn_id);
        self.final_text = None;
        self.status = AgentWrapperCompletionStatus::Incomplete;
        Projected::one(AgentWrapperEvent::status(agent, "turn started", self.facts(event).finish()))
    }

    pub(super) fn turn_ended<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        turn: &TurnEnded,
    ) -> Projected<'e> {
        let (status, message) = match turn.status {
            TurnStatus::Completed => (AgentWrapperCompletionStatus::Completed, "turn completed"),
            TurnStatus::Failed => (AgentWrapperCompletionStatus::Failed, "turn failed"),
            TurnStatus::Interrupted => (AgentWrapperCompletionStatus::Interrupted, "turn interrupted"),
            // An outcome that is not understood is never success.
            TurnStatus::Unknown(_) => (AgentWrapperCompletionStatus::Failed, "turn ended"),
        };
        self.status = status;
        if let Some(usage) = turn.usage.clone() {
            match &mut self.usage {
                Some(total) => *total += usage,
                none => *none = Some(usage),
            }
        }
        let mut facts = self.facts(event);
        facts.text(key::status, Some(turn.status.as_str()));
        facts.number(key::duration_ms, Some(turn.duration_ms));
        facts.usage(key::usage, turn.usage.as_ref());
        self.turn = None;
        Projected::one(AgentWrapperEvent::status(agent, message, facts.finish()))
    }

    pub(super) fn ended<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        end: &SessionEnded,
    ) -> Projected<'e> {
        self.exit_code = end.exit_code;
        let mut facts = self.facts(event);
        facts.text(key::status, Some(end.reason.as_str()));
        facts.number(key::exit_code, end.exit_code);
        let facts = facts.finish();
        let event = match end.reason {
            EndReason::Completed => {
                if self.turns == 0 {
                    self.status = AgentWrapperCompletionStatus::Completed;
                }
                AgentWrapperEvent::status(agent, "session completed", facts)
            }
            EndReason::Terminated => {
                self.status = AgentWrapperCompletionStatus::Terminated;
                AgentWrapperEvent::status(agent, "session terminated", facts)
            }
            // An outcome that is not understood is never success.
            EndReason::Unknown(_) => {
                self.status = AgentWrapperCompletionStatus::Failed;
                AgentWrapperEvent::status(agent, "session ended", facts)
            }
            // Its own message ends with a line of the agent's standard error.
            EndReason::Error => {
                self.status = AgentWrapperCompletionStatus::Failed;
                let message = end.exit_code.map_or_else(|| "the agent is gone".to_owned(), farewell);
                AgentWrapperEvent::error(agent, &message, facts)
            }
        };
        Projected::one(event)
    }

    /// What it came to.
    pub(super) fn completion(self) -> AgentWrapperCompletion {
        let mut facts = Object::new();
        facts.name(key::session_id, self.name.as_ref());
        facts.name(key::thread_id, self.thread.as_ref());
        facts.number(key::exit_code, self.exit_code);
        facts.number(key::turns, Some(self.turns));
        facts.usage(key::usage, self.usage.as_ref());
        AgentWrapperCompletion::new(self.status, self.final_text, facts.finish())
    }
}

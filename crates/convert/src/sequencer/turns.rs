//! Turns: who begins them, who speaks in them, and what is left when they end.

use interlingua_schema::{
    EventData, EventDataRef, Origin, Role, SessionMetadata, StopReason, Timestamp, TurnEndMetadata, TurnEnded,
    TurnMetadata, TurnStatus, Usage, round_cost,
};

use super::moment::Scene;
use super::prompts::Waiting;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::TurnEnd;

/// Who has said something in a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spoke {
    pub(super) user: bool,
    pub(super) agent: bool,
}

impl Spoke {
    pub(super) fn nobody(self) -> bool {
        !self.user && !self.agent
    }
}

/// A turn that is running.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts apart from each other, not states")]
pub(super) struct Turn {
    pub(super) id: String,
    /// The agent's own id, where it became known after the turn had begun.
    native_id: Option<String>,
    started_at: Timestamp,
    /// The agent itself said that it began.
    confirmed: bool,
    pub(super) spoke: Spoke,
    /// An error was reported in it.
    pub(super) failed: bool,
    /// The host asked for an interrupt.
    pub(super) interrupt_requested: bool,
    /// The agent is gone without having said that it is over.
    pub(super) cut_off: bool,
    /// A payload of the turn lost a part that its meaning needs.
    pub(super) damaged: bool,
}

/// What is to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    /// A turn of the agent that went well: tools whose output is still to come may yet end.
    Turn,
    /// A turn of the agent that was cut off, and with it the tools it waited for.
    CutOff,
    /// One sub-agent, which is done or cut off.
    SubAgent(ScopeId, bool),
    /// Everything: the agent is gone.
    All,
}

impl Session {
    pub(super) fn turn_started(
        &mut self,
        scene: &mut Scene<'_>,
        scope: ScopeId,
        origin: Origin,
        turn_id: Option<String>,
        metadata: Option<TurnMetadata>,
    ) {
        if scope != ScopeId::MAIN {
            return;
        }
        let turn_id = turn_id.filter(|id| !id.is_empty());
        if let Some(turn) = &mut self.turn {
            if !turn.confirmed {
                turn.confirmed = true;
                turn.native_id = turn_id;
                return;
            }
            let said_twice = match (&turn.native_id, &turn_id) {
                (Some(running), Some(new)) => running == new,
                _ => turn.spoke.nobody(),
            };
            if said_twice {
                return;
            }
            self.close_turn(scene);
        }
        self.begin_turn(scene, origin, turn_id, metadata);
        if self.prompts.front().is_some_and(Waiting::is_not_echoed) {
            self.show_prompt(scene, 0);
        }
    }

    fn begin_turn(
        &mut self,
        scene: &mut Scene<'_>,
        origin: Origin,
        native_id: Option<String>,
        metadata: Option<TurnMetadata>,
    ) {
        let metadata = joined(self.introduction.take(), metadata);
        if let Some(cwd) = metadata.as_ref().and_then(|metadata| metadata.cwd.clone()) {
            self.cwd = Some(cwd);
        }
        let id = native_id.clone().unwrap_or_else(|| scene.ids.next_turn_id());
        let confirmed = origin == Origin::AGENT;
        self.voice.say(scene, origin, EventDataRef::TurnStarted { turn_id: &id, metadata: metadata.as_ref() });
        self.turn = Some(Turn {
            id,
            native_id,
            started_at: self.voice.time(),
            confirmed,
            interrupt_requested: std::mem::take(&mut self.interrupt_requested),
            ..Turn::default()
        });
    }

    /// Before the agent says something that a prompt may have asked for: the prompt is shown first, in a turn.
    /// What belongs to something older does not open a turn.
    pub(super) fn before_speech(&mut self, scene: &mut Scene<'_>, scope: ScopeId, opens_turn: bool) {
        if !self.is_main(scope) || self.prompts.is_empty() {
            return;
        }
        let answers = match &self.turn {
            None => opens_turn,
            Some(turn) => turn.spoke.nobody(),
        };
        if answers {
            self.show_prompt(scene, 0);
        }
    }

    pub(super) fn before_message(&mut self, scene: &mut Scene<'_>, scope: ScopeId, role: &Role) {
        if *role != Role::User {
            self.before_speech(scene, scope, true);
        } else if self.is_main(scope) {
            self.user_enters(scene);
        }
    }

    /// The user is about to speak: in a turn, and before the agent does. In a turn that the agent began by itself
    /// and already spoke in, that needs a new one.
    pub(super) fn user_enters(&mut self, scene: &mut Scene<'_>) {
        if self.turn.as_ref().is_some_and(|turn| turn.spoke.agent && !turn.spoke.user) {
            self.close_turn(scene);
        }
        if self.turn.is_none() {
            self.begin_turn(scene, Origin::DAEMON, None, None);
        }
    }

    /// Notes who speaks in the turn.
    pub(super) fn spoken(&mut self, scope: ScopeId, role: &Role) {
        if self.is_main(scope)
            && let Some(turn) = &mut self.turn
        {
            match role {
                Role::User => turn.spoke.user = true,
                Role::Assistant | Role::System | Role::Tool | Role::Unknown(_) => turn.spoke.agent = true,
            }
        }
    }

    pub(super) fn interrupt(&mut self, scope: ScopeId) {
        if scope != ScopeId::MAIN {
            return;
        }
        match &mut self.turn {
            Some(turn) => turn.interrupt_requested = true,
            None => self.interrupt_requested = !self.prompts.is_empty(),
        }
    }

    pub(super) fn interrupt_rejected(&mut self, scope: ScopeId) {
        if scope == ScopeId::MAIN {
            self.interrupt_requested = false;
            if let Some(turn) = &mut self.turn {
                turn.interrupt_requested = false;
            }
        }
    }

    pub(super) fn cut_off(&mut self, scope: ScopeId) {
        if let Some(turn) = self.turn.as_mut().filter(|_| scope == ScopeId::MAIN) {
            turn.cut_off = true;
        }
    }

    pub(super) fn turn_ended(&mut self, scene: &mut Scene<'_>, scope: ScopeId, origin: Origin, end: TurnEnd) {
        if scope != ScopeId::MAIN {
            // A sub-agent's turns are not turns of the session, but they count in the one that waits for them.
            self.used(end.usage);
            let cut_off = !matches!(end.status, None | Some(TurnStatus::Completed));
            return self.close_open(scene, Closing::SubAgent(scope, cut_off));
        }
        // An agent that announces neither the turn nor the prompt may still end it.
        if self.turn.is_none() && self.prompts.front().is_some_and(Waiting::is_not_echoed) {
            self.show_prompt(scene, 0);
        }
        self.end_turn(scene, origin, end);
    }

    /// Adds to what the running turn, or the next one, used.
    pub(super) fn used(&mut self, usage: Option<Usage>) {
        match (&mut self.used, usage) {
            (Some(total), Some(usage)) => *total += usage,
            (total @ None, usage) => *total = usage,
            (Some(_), None) => {}
        }
    }

    /// Ends the running turn because something else shows that it is over.
    pub(super) fn close_turn(&mut self, scene: &mut Scene<'_>) {
        self.end_turn(scene, Origin::DAEMON, TurnEnd::new());
    }

    pub(super) fn end_turn(&mut self, scene: &mut Scene<'_>, origin: Origin, end: TurnEnd) {
        if self.turn.is_none() {
            return;
        }
        self.release(scene);
        self.before_speech(scene, ScopeId::MAIN, false);
        let Some(turn) = &self.turn else { return };
        let status = match end.status {
            Some(TurnStatus::Failed) | None if turn.interrupt_requested => TurnStatus::Interrupted,
            Some(status) => status,
            None if turn.failed || turn.damaged => TurnStatus::Failed,
            None => TurnStatus::Completed,
        };
        let closing = if status == TurnStatus::Completed { Closing::Turn } else { Closing::CutOff };
        self.refuse_pending(scene);
        self.close_open(scene, closing);
        let Some(turn) = self.turn.take() else { return };
        let now = self.voice.time().max(scene.moment.time.unwrap_or(Timestamp::EPOCH));
        let mut ended = TurnEnded::new(turn.id, status);
        ended.usage = match (end.usage, self.used.take()) {
            (Some(mut usage), Some(more)) => {
                usage += more;
                Some(usage)
            }
            (usage, more) => usage.or(more),
        };
        if let Some(cost) = ended.usage.as_mut().and_then(|usage| usage.cost_usd.as_mut()) {
            *cost = round_cost(*cost);
        }
        ended.duration_ms = end.duration_ms.unwrap_or_else(|| now.millis_since(turn.started_at));
        let mut metadata = TurnEndMetadata::default();
        metadata.stop_reason = match &ended.status {
            TurnStatus::Interrupted => Some(StopReason::Interrupted),
            TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Unknown(_) => end.stop_reason,
        };
        metadata.native = end.native.non_empty();
        ended.metadata = Some(metadata).filter(|metadata| *metadata != TurnEndMetadata::default());
        self.emit(scene, origin, EventData::TurnEnded(ended));
    }

    /// Completes, as failed, what is open, in the order it began.
    pub(super) fn close_open(&mut self, scene: &mut Scene<'_>, closing: Closing) {
        enum Open {
            Message(ItemRef),
            Note(ItemRef),
            Tool(ItemRef, bool),
        }
        let within = |at: &ItemRef| match closing {
            Closing::SubAgent(scope, _) => at.0 == scope,
            _ => true,
        };
        let mut open: Vec<(u64, Open)> = Vec::new();
        open.extend(self.messages.iter().map(|(at, message)| (message.serial, Open::Message(at.clone()))));
        open.extend(self.notes.iter().map(|(at, note)| (note.serial, Open::Note(at.clone()))));
        for (at, tool) in self.tools.iter() {
            let cut_off = match closing {
                Closing::Turn | Closing::CutOff if tool.is_background() => continue,
                Closing::Turn => false,
                Closing::CutOff => self.is_foreground(at.0),
                Closing::SubAgent(_, cut_off) => cut_off,
                Closing::All => true,
            };
            open.push((tool.serial, Open::Tool(at.clone(), cut_off)));
        }
        open.sort_unstable_by_key(|(serial, _)| *serial);
        for (_, open) in open {
            match open {
                Open::Message(at) if within(&at) => self.cut_off_message(scene, at),
                Open::Note(at) if within(&at) => self.cut_off_note(scene, at),
                Open::Tool(at, _) if closing == Closing::Turn && self.continues_in_background(&at) => {}
                Open::Tool(at, cut_off) if within(&at) => self.cut_off_tool(scene, at, cut_off),
                Open::Message(_) | Open::Note(_) | Open::Tool(..) => {}
            }
        }
    }
}

/// What an agent told of itself, and what it says about a turn, which is newer.
fn joined(told: Option<SessionMetadata>, said: Option<TurnMetadata>) -> Option<TurnMetadata> {
    match (told, said) {
        (None, said) => said,
        (Some(told), said) => {
            Some(said.unwrap_or_default().with_defaults(told)).filter(|metadata| !metadata.is_empty())
        }
    }
}

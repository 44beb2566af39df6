//! Turns: how they start, and what is closed when they end.

use interlingua_schema::{
    EventData, EventDataRef, Origin, Role, SessionMetadata, StopReason, Timestamp, TurnEndMetadata, TurnEnded,
    TurnMetadata, TurnStatus, Usage, round_cost,
};

use super::emitter::EmitContext;
use super::prompts::PendingPrompt;
use super::scopes::ScopeId;
use super::session::{ItemRef, Session};
use crate::TurnEnd;

/// Who has produced output in a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Participants {
    pub(super) user: bool,
    pub(super) agent: bool,
}

impl Participants {
    pub(super) fn is_empty(self) -> bool {
        !self.user && !self.agent
    }
}

/// The running turn.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(super) struct Turn {
    pub(super) id: String,
    /// The agent's id of the turn. It may become known after the turn started with an id of ours.
    native_id: Option<String>,
    started_at: Timestamp,
    /// The agent itself reported the start.
    confirmed: bool,
    pub(super) participants: Participants,
    /// An error was reported in the turn.
    pub(super) failed: bool,
    /// The host requested an interrupt.
    pub(super) interrupt_requested: bool,
    /// The agent stopped without reporting the end of the turn.
    pub(super) cut_off: bool,
    /// A payload of the turn lost a part in decoding, so the outcome of the turn is not certain.
    pub(super) damaged: bool,
}

/// Why open items are closed, which decides which of them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The main agent completed its turn. Tools that have not written output may still finish.
    TurnCompleted,
    /// The main agent's turn was cut off, and with it the tools that it waited for.
    TurnCutOff,
    /// This sub-agent is done; `true` if it was cut off.
    SubAgent(ScopeId, bool),
    /// The agent process stopped. Everything is closed.
    AgentStopped,
}

impl Session {
    pub(super) fn turn_started(
        &mut self,
        ctx: &mut EmitContext<'_>,
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
            let is_repeated = match (&turn.native_id, &turn_id) {
                (Some(running), Some(new)) => running == new,
                _ => turn.participants.is_empty(),
            };
            if is_repeated {
                return;
            }
            self.close_turn(ctx);
        }
        self.start_turn(ctx, origin, turn_id, metadata);
        if self.pending_prompts.front().is_some_and(PendingPrompt::needs_no_echo) {
            self.show_prompt(ctx, 0);
        }
    }

    fn start_turn(
        &mut self,
        ctx: &mut EmitContext<'_>,
        origin: Origin,
        native_id: Option<String>,
        metadata: Option<TurnMetadata>,
    ) {
        let metadata = merge_metadata(self.pending_metadata.take(), metadata);
        if let Some(cwd) = metadata.as_ref().and_then(|metadata| metadata.cwd.clone()) {
            self.cwd = Some(cwd);
        }
        let id = native_id.clone().unwrap_or_else(|| ctx.ids.next_turn_id());
        let confirmed = origin == Origin::AGENT;
        self.emitter.emit(ctx, origin, EventDataRef::TurnStarted { turn_id: &id, metadata: metadata.as_ref() });
        self.turn = Some(Turn {
            id,
            native_id,
            started_at: self.emitter.time(),
            confirmed,
            interrupt_requested: std::mem::take(&mut self.interrupt_requested),
            ..Turn::default()
        });
    }

    /// Shows the oldest pending prompt, in a turn, before output of the agent that may answer it. Output that belongs
    /// to an older item does not start a turn: `starts_turn` is false.
    pub(super) fn show_prompt_before_output(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, starts_turn: bool) {
        if !self.is_main(scope) || self.pending_prompts.is_empty() {
            return;
        }
        let may_answer = match &self.turn {
            None => starts_turn,
            Some(turn) => turn.participants.is_empty(),
        };
        if may_answer {
            self.show_prompt(ctx, 0);
        }
    }

    /// Emits what has to precede a message of this role.
    pub(super) fn prepare_message(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, role: &Role) {
        if *role != Role::User {
            self.show_prompt_before_output(ctx, scope, true);
        } else if self.is_main(scope) {
            self.prepare_user_message(ctx);
        }
    }

    /// Starts a turn for a user's message. A user's message comes before any output of the agent, so a turn that the
    /// agent started by itself and has written output in is closed first.
    pub(super) fn prepare_user_message(&mut self, ctx: &mut EmitContext<'_>) {
        if self.turn.as_ref().is_some_and(|turn| turn.participants.agent && !turn.participants.user) {
            self.close_turn(ctx);
        }
        if self.turn.is_none() {
            self.start_turn(ctx, Origin::DAEMON, None, None);
        }
    }

    /// Notes that this role has produced output in the turn.
    pub(super) fn mark_participant(&mut self, scope: ScopeId, role: &Role) {
        if self.is_main(scope)
            && let Some(turn) = &mut self.turn
        {
            match role {
                Role::User => turn.participants.user = true,
                Role::Assistant | Role::System | Role::Tool | Role::Unknown(_) => turn.participants.agent = true,
            }
        }
    }

    pub(super) fn interrupt_requested(&mut self, scope: ScopeId) {
        if scope != ScopeId::MAIN {
            return;
        }
        match &mut self.turn {
            Some(turn) => turn.interrupt_requested = true,
            None => self.interrupt_requested = !self.pending_prompts.is_empty(),
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

    pub(super) fn turn_cut_off(&mut self, scope: ScopeId) {
        if let Some(turn) = self.turn.as_mut().filter(|_| scope == ScopeId::MAIN) {
            turn.cut_off = true;
        }
    }

    pub(super) fn turn_ended(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, origin: Origin, end: TurnEnd) {
        if scope != ScopeId::MAIN {
            // A sub-agent's turn is not a turn of the session, but its usage counts in the session's turn.
            self.add_usage(end.usage);
            let cut_off = !matches!(end.status, None | Some(TurnStatus::Completed));
            return self.close_open_items(ctx, CloseReason::SubAgent(scope, cut_off));
        }
        // Some agents report neither the start of the turn nor the prompt, only the end of the turn.
        if self.turn.is_none() && self.pending_prompts.front().is_some_and(PendingPrompt::needs_no_echo) {
            self.show_prompt(ctx, 0);
        }
        self.end_turn(ctx, origin, end);
    }

    /// Adds to the usage of the running turn, or of the next one.
    pub(super) fn add_usage(&mut self, usage: Option<Usage>) {
        match (&mut self.unreported_usage, usage) {
            (Some(total), Some(usage)) => *total += usage,
            (total @ None, usage) => *total = usage,
            (Some(_), None) => {}
        }
    }

    /// Ends the running turn, because another draft shows that it is over.
    pub(super) fn close_turn(&mut self, ctx: &mut EmitContext<'_>) {
        self.end_turn(ctx, Origin::DAEMON, TurnEnd::new());
    }

    pub(super) fn end_turn(&mut self, ctx: &mut EmitContext<'_>, origin: Origin, end: TurnEnd) {
        if self.turn.is_none() {
            return;
        }
        self.release_all(ctx);
        self.show_prompt_before_output(ctx, ScopeId::MAIN, false);
        let Some(turn) = &self.turn else { return };
        let status = match end.status {
            Some(TurnStatus::Failed) | None if turn.interrupt_requested => TurnStatus::Interrupted,
            Some(status) => status,
            None if turn.failed || turn.damaged => TurnStatus::Failed,
            None => TurnStatus::Completed,
        };
        let reason = if status == TurnStatus::Completed { CloseReason::TurnCompleted } else { CloseReason::TurnCutOff };
        self.deny_pending_requests(ctx);
        self.close_open_items(ctx, reason);
        let Some(turn) = self.turn.take() else { return };
        let now = self.emitter.time().max(ctx.provenance.time.unwrap_or(Timestamp::EPOCH));
        let mut ended = TurnEnded::new(turn.id, status);
        ended.usage = match (end.usage, self.unreported_usage.take()) {
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
        self.emit(ctx, origin, EventData::TurnEnded(ended));
    }

    /// Completes open items as failed, in the order in which they started.
    pub(super) fn close_open_items(&mut self, ctx: &mut EmitContext<'_>, reason: CloseReason) {
        enum Open {
            Message(ItemRef),
            Note(ItemRef),
            Tool(ItemRef, bool),
        }
        let within = |item_ref: &ItemRef| match reason {
            CloseReason::SubAgent(scope, _) => item_ref.0 == scope,
            _ => true,
        };
        let mut open: Vec<(u64, Open)> = Vec::new();
        open.extend(self.messages.iter().map(|(item_ref, message)| (message.serial, Open::Message(item_ref.clone()))));
        open.extend(self.notes.iter().map(|(item_ref, note)| (note.serial, Open::Note(item_ref.clone()))));
        for (item_ref, tool) in self.tools.iter() {
            let cut_off = match reason {
                CloseReason::TurnCompleted | CloseReason::TurnCutOff if tool.is_background() => continue,
                CloseReason::TurnCompleted => false,
                CloseReason::TurnCutOff => self.is_foreground(item_ref.0),
                CloseReason::SubAgent(_, cut_off) => cut_off,
                CloseReason::AgentStopped => true,
            };
            open.push((tool.serial, Open::Tool(item_ref.clone(), cut_off)));
        }
        open.sort_unstable_by_key(|(serial, _)| *serial);
        for (_, open) in open {
            match open {
                Open::Message(item_ref) if within(&item_ref) => self.cut_off_message(ctx, item_ref),
                Open::Note(item_ref) if within(&item_ref) => self.cut_off_note(ctx, item_ref),
                Open::Tool(item_ref, _)
                    if reason == CloseReason::TurnCompleted && self.move_to_background(&item_ref) => {}
                Open::Tool(item_ref, cut_off) if within(&item_ref) => self.cut_off_tool(ctx, item_ref, cut_off),
                Open::Message(_) | Open::Note(_) | Open::Tool(..) => {}
            }
        }
    }
}

/// Merges the agent's description of itself into the metadata of a turn, which is newer and wins.
fn merge_metadata(session: Option<SessionMetadata>, turn: Option<TurnMetadata>) -> Option<TurnMetadata> {
    match (session, turn) {
        (None, turn) => turn,
        (Some(session), turn) => {
            Some(turn.unwrap_or_default().with_defaults(session)).filter(|metadata| !metadata.is_empty())
        }
    }
}

//! Turns, which a session file does not mark: a prompt starts one, and the next prompt or the end of the file ends it.

use foldhash::HashSet;
use interlingua_convert::{Drafts, TurnEnd};
use interlingua_schema::{StopReason, TurnStatus};

/// What the last line of a turn was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastStep {
    /// A person's prompt, or a message in their name: the model has to answer.
    #[default]
    Prompt,
    /// The result of a tool: the model has to answer.
    ToolResult,
    /// Output of the agent. Nothing has to follow.
    Output,
}

/// The running turn.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the turn")]
pub(super) struct Turn {
    is_running: bool,
    last_step: LastStep,
    /// Calls of the main agent without a result.
    open_calls: HashSet<String>,
    pub(super) is_interrupted: bool,
    /// A message was cut off while it streamed. Its usage is only in the totals.
    pub(super) has_aborted_message: bool,
    /// A line says that the turn ended here.
    pub(super) is_over: bool,
    pub(super) stop_reason: Option<String>,
}

impl Turn {
    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Whether the agent has nothing left to do in this turn.
    pub(super) fn is_done(&self) -> bool {
        self.is_over || self.is_interrupted || (self.open_calls.is_empty() && self.last_step == LastStep::Output)
    }

    pub(super) fn start(&mut self) {
        *self = Self { is_running: true, ..Self::default() };
    }

    pub(super) fn observe(&mut self, step: LastStep) {
        self.is_running = true;
        self.last_step = step;
    }

    pub(super) fn call_started(&mut self, call: String) {
        self.open_calls.insert(call);
    }

    pub(super) fn call_finished(&mut self, call: &str) {
        self.open_calls.remove(call);
    }

    /// Ends the turn. A turn that stopped before the model had answered was cut off.
    pub(super) fn end(&mut self, session_id: &str, drafts: &mut Drafts) {
        let status = if self.is_interrupted {
            Some(TurnStatus::Interrupted)
        } else if self.is_done() {
            // An error that was reported in the turn decides.
            None
        } else {
            Some(TurnStatus::Failed)
        };
        let stop_reason = match self.stop_reason.as_deref() {
            Some("max_tokens") => Some(StopReason::MaxTokens),
            Some("refusal") => Some(StopReason::Refusal),
            _ if status.is_some() => None,
            Some("end_turn") => Some(StopReason::EndTurn),
            Some(_) => Some(StopReason::Other),
            None => None,
        };
        let end = status.map_or_else(TurnEnd::new, TurnEnd::with_status).stop_reason(stop_reason);
        drafts.session(session_id).turn_ended(end);
        *self = Self::default();
    }
}

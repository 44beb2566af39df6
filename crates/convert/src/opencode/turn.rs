//! Turns. OpenCode reports no turns: one lasts from the user message until the session is idle.

use foldhash::HashSet;
use interlingua_schema::{ErrorCode, TurnMetadata, TurnStatus};

use super::compaction::AutoCompaction;
use super::finish::Finish;
use super::messages::MessageState;
use super::session::Session;
use crate::{Drafts, Failure, TurnEnd};

/// State of a turn.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts from different payloads")]
pub(super) struct Turn {
    /// The turn was drafted and has not ended.
    pub(super) is_open: bool,
    /// The agent is working on it.
    pub(super) is_active: bool,
    /// The agent has started a message.
    pub(super) has_answer: bool,
    /// The session is idle, but the turn ends only when the last message is complete.
    pub(super) awaits_message: bool,
    /// Messages of the agent that are not complete.
    pub(super) open_messages: Vec<String>,
    /// Why the latest step ended.
    pub(super) last_finish: Option<String>,
    /// Keys of the streaming texts and reasoning of the v2 API.
    pub(super) streaming: Vec<String>,
    pub(super) retries: u32,
    pub(super) auto_compaction: AutoCompaction,
    /// The host requested an interrupt.
    pub(super) interrupt_requested: bool,
    /// The host requested an interrupt before the echo of the prompt. The agent may still run the prompt.
    pub(super) interrupted_before_echo: bool,
    /// The agent reported an interrupt.
    pub(super) interrupted: bool,
    /// The user declined a request and no step has started since. In the v2 API the turn may end without another event.
    pub(super) has_declined_request: bool,
    /// The turn has failed and has not recovered.
    pub(super) failed: bool,
    /// The turn has failed before the echo of its prompt, which may still come.
    pub(super) failed_before_echo: bool,
    /// Failure that is not reported yet, because the agent may recover.
    pub(super) held_failure: Option<Box<Failure>>,
    /// Messages of the reported failures.
    pub(super) reported_failures: Vec<String>,
    /// Steps, and messages with steps, whose usage is counted.
    pub(super) counted_steps: HashSet<String>,
    /// Messages whose usage was counted before any of their steps.
    pub(super) counted_messages: HashSet<String>,
}

impl Session {
    /// Starts a turn if none is open. The agent is active in it.
    pub(super) fn ensure_turn(&mut self, out: &mut Drafts) {
        self.turn.is_active = true;
        if !self.turn.is_open {
            self.turn.is_open = true;
            self.is_started = true;
            let metadata = turn_metadata(self.model.clone(), self.agent.clone());
            out.session(self.id.as_str()).turn_started(None, metadata);
        }
    }

    /// As [`ensure_turn`](Self::ensure_turn), for content of this message. Content of a completed message belongs to an
    /// earlier turn and starts none.
    pub(super) fn ensure_turn_for(&mut self, message: &str, out: &mut Drafts) {
        if !self.turn.is_open && !matches!(self.messages.get(&message.to_owned()), Some(MessageState::CompletedAgent)) {
            self.ensure_turn(out);
        }
        self.turn.has_answer = true;
    }

    /// Whether an item that ends now was cut off.
    pub(super) fn is_cut_off(&self) -> bool {
        self.turn.interrupt_requested || self.turn.interrupted || self.turn.failed
    }

    pub(super) fn end_turn(&mut self, out: &mut Drafts) {
        self.complete_summarized_compaction(out);
        if self.turn.interrupt_requested || self.turn.interrupted {
            self.turn.held_failure = None;
        }
        self.report_held_failure(out);
        let turn = std::mem::take(&mut self.turn);
        self.open_parts.clear();
        self.open_tools.clear();
        self.permission_diffs.clear();
        self.open_compaction = None;
        let finish = turn.last_finish.as_deref().map(Finish::parse);
        let end = if turn.failed {
            TurnEnd::with_status(TurnStatus::Failed)
        } else if turn.interrupted {
            TurnEnd::with_status(TurnStatus::Interrupted)
        } else if turn.interrupt_requested {
            TurnEnd::new()
        } else {
            match finish.and_then(Finish::is_success) {
                Some(false) => TurnEnd::with_status(TurnStatus::Failed),
                None if turn.reported_failures.is_empty() => TurnEnd::new(),
                // The turn has recovered from its failures.
                Some(true) | None => TurnEnd::with_status(TurnStatus::Completed),
            }
        };
        self.previous_failures = turn.reported_failures;
        self.has_new_prompt = false;
        if turn.failed_before_echo && !self.sent_prompts.is_empty() {
            self.sent_prompts.remove(0);
        }
        out.session(self.id.as_str()).turn_ended(end.stop_reason(finish.and_then(Finish::stop_reason)));
    }

    /// A message of the agent is complete. It may be the last one that the end of the turn waits for.
    pub(super) fn message_completed(&mut self, message: &str, out: &mut Drafts) {
        self.turn.open_messages.retain(|open| open != message);
        if self.turn.awaits_message && self.turn.open_messages.is_empty() {
            self.end_turn(out);
            self.show_user_messages(None, out);
        }
    }

    /// The session is idle. OpenCode reports this twice, and again after an error or an interrupt. `is_asking`: a
    /// request is pending.
    pub(super) fn handle_idle(&mut self, is_asking: bool, out: &mut Drafts) {
        if !self.turn.is_open {
            self.turn = Turn {
                interrupted_before_echo: self.turn.interrupted_before_echo && !self.sent_prompts.is_empty(),
                ..Turn::default()
            };
            self.show_user_messages(None, out);
            return;
        }
        if !self.turn.is_active && !self.turn.failed_before_echo {
            // The event is about the previous turn.
            return;
        }
        // Up to 1.2, the message never completes if the agent is interrupted while a request is pending.
        let is_forgotten = is_asking && self.turn.interrupt_requested && !self.turn.interrupted;
        if !self.turn.open_messages.is_empty() && !is_forgotten {
            self.turn.awaits_message = true;
            return;
        }
        let has_explanation =
            self.is_cut_off() || self.turn.interrupted_before_echo || !self.turn.reported_failures.is_empty();
        if !self.turn.has_answer && !has_explanation {
            // Version 1.1 reports nothing else if it cannot send a request to the model.
            self.turn.failed = true;
            let failure = Failure::new(ErrorCode::AgentError, "the agent went idle without an answer");
            out.session(self.id.as_str()).synthetic().failed(failure);
        }
        self.end_turn(out);
        self.show_user_messages(None, out);
    }
}

/// Metadata of a turn that starts.
pub(super) fn turn_metadata(model: Option<String>, agent: Option<String>) -> TurnMetadata {
    let mut metadata = TurnMetadata::default();
    metadata.model = model;
    metadata.agent_mode = agent;
    metadata
}

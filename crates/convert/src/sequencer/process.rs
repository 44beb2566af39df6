//! The end of an agent process, and of a session.

use interlingua_schema::{ErrorCode, Origin, SessionEnded, TurnStatus};
use serde_json::json;

use super::emitter::EmitContext;
use super::scopes::ScopeId;
use super::session::Session;
use super::stderr_buffer::StderrBuffer;
use super::turns::CloseReason;
use crate::{Failure, TurnEnd};

impl Session {
    /// Closes what an agent process left open when it stopped. If work was unfinished, that is an error.
    pub(super) fn close_process(&mut self, ctx: &mut EmitContext<'_>, code: Option<i32>, stderr: &StderrBuffer) {
        if self.is_ended() {
            return;
        }
        self.release_all(ctx);
        let has_unanswered_prompt = !self.pending_prompts.is_empty();
        self.show_all_prompts(ctx);
        if let Some(turn) = &self.turn {
            let has_running_tool = self.tools.values().any(|tool| !tool.is_background());
            let has_open_items = has_running_tool || !self.messages.is_empty() || !self.notes.is_empty();
            let has_pending_request = !self.permissions.is_empty() || !self.questions.is_empty();
            let cut_off = turn.cut_off || has_open_items || has_pending_request || !turn.participants.agent;
            let died = code != Some(0) || has_unanswered_prompt || cut_off;
            if died && !turn.interrupt_requested && !turn.failed {
                let native = code.map(|code| json!({ "exit_code": code }));
                let mut failure = Failure::new(ErrorCode::AgentError, exit_message(code)).native(native);
                failure.details.stderr = stderr.output();
                // Open items end before the error, as they do when an agent reports a failure itself.
                self.deny_pending_requests(ctx);
                self.close_open_items(ctx, CloseReason::AgentStopped);
                self.failed(ctx, ScopeId::MAIN, Origin::DAEMON, failure);
            }
            self.close_turn(ctx);
        }
        self.deny_pending_requests(ctx);
        self.close_open_items(ctx, CloseReason::AgentStopped);
        // A new process may reuse the native ids of the old one for other items.
        self.closed_messages.clear();
        self.closed_user_messages.clear();
        self.closed_notes.clear();
        self.closed_tools.clear();
        self.shown_prompts.clear();
        self.interrupt_requested = false;
    }

    /// Ends the session after its agent exited and is not started again.
    pub(super) fn end_exited(&mut self, ctx: &mut EmitContext<'_>, code: Option<i32>, stderr: &StderrBuffer) {
        self.close_process(ctx, code, stderr);
        if !self.is_ended() {
            let end = if code == Some(0) {
                SessionEnded::completed()
            } else {
                SessionEnded::error(exit_message(code), code, stderr.output())
            };
            self.end(ctx, end);
        }
    }

    /// Ends the session with an error, because no agent can resume it.
    pub(super) fn end_failed(
        &mut self,
        ctx: &mut EmitContext<'_>,
        reason: &str,
        code: Option<i32>,
        stderr: &StderrBuffer,
    ) {
        self.close_process(ctx, code, stderr);
        if !self.is_ended() {
            self.end(ctx, SessionEnded::error(reason, code, stderr.output()));
        }
    }

    /// Ends the session, because the API terminated it.
    pub(super) fn end_terminated(&mut self, ctx: &mut EmitContext<'_>) {
        if self.is_ended() {
            return;
        }
        self.release_all(ctx);
        self.show_all_prompts(ctx);
        self.end_turn(ctx, Origin::DAEMON, TurnEnd::with_status(TurnStatus::Interrupted));
        self.deny_pending_requests(ctx);
        self.close_open_items(ctx, CloseReason::AgentStopped);
        self.end(ctx, SessionEnded::terminated());
    }

    /// Emits held drafts and pending prompts at the end of a log. Nothing is closed.
    pub(super) fn flush_pending(&mut self, ctx: &mut EmitContext<'_>) {
        if !self.is_ended() {
            self.release_all(ctx);
            self.show_all_prompts(ctx);
        }
    }
}

/// Describes an exit. The reason for it may be in the standard error output, which the event carries separately.
fn exit_message(code: Option<i32>) -> String {
    match code {
        Some(code) if code < 0 => format!("the agent was killed by signal {}", code.unsigned_abs()),
        Some(code) => format!("the agent exited with code {code}"),
        None => "the agent exited; its exit code is not known".to_owned(),
    }
}

//! How a process, and with it a session, ends.

use interlingua_schema::{ErrorCode, Origin, SessionEnded, TurnStatus};
use serde_json::json;

use super::moment::Scene;
use super::scopes::ScopeId;
use super::session::Session;
use super::stderr::Stderr;
use super::turns::Closing;
use crate::{Failure, TurnEnd};

impl Session {
    /// The agent is gone: what it left open is closed, and if it was needed that is an error.
    pub(super) fn process_gone(&mut self, scene: &mut Scene<'_>, code: Option<i32>, stderr: &Stderr) {
        if self.is_ended() {
            return;
        }
        self.release(scene);
        let unanswered = !self.prompts.is_empty();
        self.show_all_prompts(scene);
        if let Some(turn) = &self.turn {
            let runs = self.tools.values().any(|tool| !tool.is_background());
            let left_open = runs || !self.messages.is_empty() || !self.notes.is_empty();
            let waited = !self.permissions.is_empty() || !self.questions.is_empty();
            let cut_off = turn.cut_off || left_open || waited || !turn.spoke.agent;
            let died = code != Some(0) || unanswered || cut_off;
            if died && !turn.interrupt_requested && !turn.failed {
                let native = code.map(|code| json!({ "exit_code": code }));
                let mut failure = Failure::new(ErrorCode::AgentError, exit_message(code)).native(native);
                failure.details.stderr = stderr.output();
                // As agents do that fail in good order: what was open ends first.
                self.refuse_pending(scene);
                self.close_open(scene, Closing::All);
                self.failed(scene, ScopeId::MAIN, Origin::DAEMON, failure);
            }
            self.close_turn(scene);
        }
        self.refuse_pending(scene);
        self.close_open(scene, Closing::All);
        // A new process may use the old one's ids for other things.
        self.closed_messages.clear();
        self.closed_user_messages.clear();
        self.closed_notes.clear();
        self.closed_tools.clear();
        self.shown.clear();
        self.interrupt_requested = false;
    }

    /// The session ends because the agent, which is gone, is not started again.
    pub(super) fn exited(&mut self, scene: &mut Scene<'_>, code: Option<i32>, stderr: &Stderr) {
        self.process_gone(scene, code, stderr);
        if !self.is_ended() {
            let end = if code == Some(0) {
                SessionEnded::completed()
            } else {
                SessionEnded::error(exit_message(code), code, stderr.output())
            };
            self.end(scene, end);
        }
    }

    /// The session ends because no agent can go on with it.
    pub(super) fn lost(&mut self, scene: &mut Scene<'_>, reason: &str, code: Option<i32>, stderr: &Stderr) {
        self.process_gone(scene, code, stderr);
        if !self.is_ended() {
            self.end(scene, SessionEnded::error(reason, code, stderr.output()));
        }
    }

    /// Our own API ends the session.
    pub(super) fn terminated(&mut self, scene: &mut Scene<'_>) {
        if self.is_ended() {
            return;
        }
        self.release(scene);
        self.show_all_prompts(scene);
        self.end_turn(scene, Origin::DAEMON, TurnEnd::with_status(TurnStatus::Interrupted));
        self.refuse_pending(scene);
        self.close_open(scene, Closing::All);
        self.end(scene, SessionEnded::terminated());
    }

    /// The log stops: what was held back is said, and nothing is closed.
    pub(super) fn left_open(&mut self, scene: &mut Scene<'_>) {
        if !self.is_ended() {
            self.release(scene);
            self.show_all_prompts(scene);
        }
    }
}

/// What is certain about an exit. Why the agent exited may be in its standard error, which stands beside this.
fn exit_message(code: Option<i32>) -> String {
    match code {
        Some(code) if code < 0 => format!("the agent was killed by signal {}", code.unsigned_abs()),
        Some(code) => format!("the agent exited with code {code}"),
        None => "the agent exited; its exit code is not known".to_owned(),
    }
}

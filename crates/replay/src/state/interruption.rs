//! Turns that the host interrupts although they were not interrupted in the recording.

use super::{OpenRequest, ReplayState};
use crate::agent_protocol::{AgentProtocol as _, Interruption, SyntheticOutput};
use crate::script::{Action, Channel, OutputLine};

impl ReplayState {
    /// Ends the running turn of a session early. `session` is its recorded id, `key` that of the host's request.
    pub(super) fn interrupt_turn(&mut self, key: Option<String>, session: &str) -> Vec<SyntheticOutput> {
        let is_shared = self.has_shared_process();
        let is_running = if is_shared {
            self.running_sessions.iter().any(|running| running == session)
        } else {
            !self.running_sessions.is_empty()
        };
        let session_id = self.host_session_id(session).to_owned();
        let mut interruption = Interruption { key, is_running, session: session_id, ..Interruption::default() };
        let mut deferred = Vec::new();
        if is_running {
            let is_in_session = |open: &OpenRequest| !is_shared || open.session.as_deref() == Some(session);
            let open_requests = std::mem::take(&mut self.open_requests);
            let (withdrawn, kept): (Vec<OpenRequest>, Vec<OpenRequest>) =
                open_requests.into_iter().partition(is_in_session);
            self.open_requests = kept;
            interruption.open_requests = withdrawn.into_iter().map(|open| open.key).collect();
            interruption.turn = self.running_turn(session);
            self.running_sessions.retain(|running| is_shared && running != session);
            deferred = self.take_deferred_answers(session);
            self.skip_rest_of_turn(session, &interruption.open_requests);
        }
        let mut outputs = self.script.agent.interrupt_turn(&interruption);
        outputs.append(&mut deferred);
        outputs
    }

    /// The host's id of a session. If a process has only one session, it is that one.
    fn host_session_id<'a>(&'a self, session: &'a str) -> &'a str {
        let recorded = if self.has_shared_process() {
            session
        } else {
            let mut sessions = self.script.steps.iter().filter_map(|step| match &step.action {
                Action::Send(line) => line.info.session.as_deref(),
                _ => None,
            });
            sessions.next().unwrap_or_default()
        };
        self.ids.to_host(recorded)
    }

    /// Id of the turn that was started last in a session.
    fn running_turn(&self, session: &str) -> Option<String> {
        self.script.steps[..self.cursor].iter().rev().find_map(|step| match &step.action {
            Action::Send(OutputLine { info, .. }) if info.session.as_deref() == Some(session) => {
                info.started_turn.clone()
            }
            _ => None,
        })
    }

    /// Takes the answers to prompts of a session that are sent only at the end of the turn.
    fn take_deferred_answers(&mut self, session: &str) -> Vec<SyntheticOutput> {
        let mut outputs = Vec::new();
        for request in 0..self.script.steps.len() {
            let Action::Expect(message) = &self.script.steps[request].action else { continue };
            if !message.starts_turn || message.ids.first().is_none_or(|id| id != session) {
                continue;
            }
            let Some(key) = &message.key else { continue };
            let (Some(answer), Some(to)) = (self.find_answer(request, key), self.pending_requests.get(key)) else {
                continue;
            };
            if let Action::Send(line) = &self.script.steps[answer].action {
                let status = if let Channel::Reply(status) = line.channel { status } else { 200 };
                let body = self.script.agent.interrupted_answer(&self.ids.rewrite(&line.text), to);
                outputs.push(SyntheticOutput::Answer { to: to.clone(), status, body });
                self.done[answer] = true;
            }
            let key = key.clone();
            self.pending_requests.remove(&key);
        }
        outputs
    }

    /// Skips the rest of a session's turn, including the host's messages in it.
    fn skip_rest_of_turn(&mut self, session: &str, open_requests: &[String]) {
        let is_shared = self.has_shared_process();
        let mut requests = open_requests.to_vec();
        let mut turn_end = None;
        let mut skipped = Vec::new();
        for step in self.cursor..self.script.steps.len() {
            match &self.script.steps[step].action {
                // Answers to other requests of the host are still sent.
                Action::Send(line) if line.info.answered_request.is_some() => {}
                Action::Send(line) if !is_shared || line.info.session.as_deref() == Some(session) => {
                    requests.extend(line.info.opened_request.clone());
                    skipped.push(step);
                    if line.info.ends_turn {
                        turn_end = Some(skipped.len());
                    }
                }
                Action::Expect(message) if !is_shared || message.ids.first().is_some_and(|id| id == session) => {
                    if message.starts_turn {
                        break;
                    }
                    skipped.push(step);
                }
                Action::Expect(message) if requests.iter().any(|key| message.answers(key)) => skipped.push(step),
                Action::CloseInput | Action::Exit(_) => break,
                Action::Send(_) | Action::Expect(_) => {}
            }
        }
        // What comes after the end of the turn is not part of it. A turn without an end lasts until the next one.
        for step in &skipped[..turn_end.unwrap_or(skipped.len())] {
            self.done[*step] = true;
        }
    }
}

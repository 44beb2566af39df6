//! The position in a script: what the agent sends next, and how it reacts to the host.
//!
//! This part does no I/O. Messages of the host are [pushed in](ReplayState::push), and [`ReplayState::next`] says what
//! to do. The rules, in order of precedence:
//!
//! 1. The agent's lines come in recorded order. At a message of the host, the replay waits until the host sends a
//!    message with the same meaning.
//! 2. A recorded answer is sent only if the host made the request.
//! 3. If the host sends a message that the recording has later, the host has moved on: an
//!    [optional](MessageClass::Optional) message that the replay waits for is skipped, and an optional message that
//!    came early is answered at once.
//! 4. A message that the recording does not have, or no longer has, gets the recorded answer to an earlier message of
//!    the same meaning, or else the answer that the agent would give.
//! 5. When the host is silent for a while, the wait [times out](ReplayState::time_out), if that can do no harm:
//!    optional messages are skipped, and answers that are due are sent out of order. The replay waits for an answer or
//!    a prompt without a limit.

mod interruption;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use crate::agent_protocol::{AgentProtocol as _, SyntheticOutput};
use crate::id_map::IdMap;
use crate::message::{HostMessage, MessageClass};
use crate::script::{Action, Channel, OutputLine, Script, Step};

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send the line of this step. If it is an answer, it goes to the host's request with this key.
    Send { step: usize, to: Option<String> },
    /// The host has sent the message of this step.
    Received { step: usize },
    /// A message is not waited for. The time of the step after it has not been checked yet.
    Skipped,
    /// Send what is not in the recording.
    SendSynthetic(Vec<SyntheticOutput>),
    /// Wait for the host, at most for the host timeout if `may_time_out`.
    Wait { may_time_out: bool },
    /// Exit with this code.
    Exit(Option<i32>),
    /// The recording has ended, but the host may send more.
    Finished,
}

/// A request of the agent that has no answer yet.
#[derive(Debug)]
struct OpenRequest {
    key: String,
    session: Option<String>,
}

/// State of the replay of one process.
#[derive(Debug)]
pub(crate) struct ReplayState {
    script: Script,
    cursor: usize,
    /// Steps that were sent, received or skipped.
    done: Vec<bool>,
    /// Steps whose message this host has sent.
    received: Vec<bool>,
    inbox: VecDeque<HostMessage>,
    /// Requests of the host that have no answer yet: recorded key → key of this host.
    pending_requests: HashMap<String, String>,
    ids: IdMap,
    has_input_ended: bool,
    /// The cursor when the host closed the input too early.
    abandoned_at: Option<usize>,
    open_requests: Vec<OpenRequest>,
    /// Sessions in which a turn is running.
    running_sessions: Vec<String>,
}

impl ReplayState {
    /// Starts at a step of the script.
    pub(crate) fn new(script: Script, first_step: usize, ids: IdMap) -> Self {
        let steps = script.steps.len();
        let mut state = Self {
            done: (0..steps).map(|step| step < first_step).collect(),
            received: vec![false; steps],
            cursor: first_step,
            inbox: VecDeque::new(),
            pending_requests: HashMap::new(),
            ids,
            has_input_ended: false,
            abandoned_at: None,
            open_requests: Vec::new(),
            running_sessions: Vec::new(),
            script,
        };
        if state.script.is_one_shot() {
            state.running_sessions.push(String::new());
        }
        state
    }

    pub(crate) fn step(&self, step: usize) -> &Step {
        &self.script.steps[step]
    }

    pub(crate) fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// The next step that will happen; `None` at the end of the script.
    pub(crate) fn upcoming_step(&self) -> Option<&Step> {
        let will_happen = |step: &Step| match &step.action {
            Action::Expect(message) => message.class != MessageClass::Query,
            Action::Send(line) => {
                line.info.answered_request.as_ref().is_none_or(|key| self.pending_requests.contains_key(key))
            }
            Action::CloseInput | Action::Exit(_) => true,
        };
        let step = (self.cursor..self.script.steps.len())
            .find(|step| !self.done[*step] && will_happen(&self.script.steps[*step]));
        step.map(|step| self.step(step))
    }

    /// HTTP status of the recorded reply to the request of a step.
    pub(crate) fn reply_status(&self, step: usize) -> Option<u16> {
        let Action::Expect(message) = &self.script.steps[step].action else { return None };
        match &self.script.steps[self.find_answer(step, message.key.as_deref()?)?].action {
            Action::Send(OutputLine { channel: Channel::Reply(status), .. }) => Some(*status),
            _ => None,
        }
    }

    /// This host's key of the request of a step, while the request has no answer.
    pub(crate) fn pending_key(&self, step: usize) -> Option<&str> {
        let Action::Expect(message) = &self.script.steps[step].action else { return None };
        self.pending_requests.get(message.key.as_deref()?).map(String::as_str)
    }

    /// Whether the script has no message of the host.
    pub(crate) fn is_one_shot(&self) -> bool {
        self.script.is_one_shot()
    }

    pub(crate) fn has_input(&self) -> bool {
        !self.has_input_ended
    }

    /// The step that was reached. Steps that were skipped because the host closed the input do not count.
    pub(crate) fn position(&self) -> usize {
        self.abandoned_at.unwrap_or(self.cursor)
    }

    pub(crate) fn push(&mut self, message: HostMessage) {
        self.inbox.push_back(message);
    }

    /// Notes that the host has closed the agent's input.
    pub(crate) fn end_input(&mut self) {
        self.has_input_ended = true;
    }

    pub(crate) fn next(&mut self) -> Next {
        if let Some(next) = self.handle_unexpected() {
            return next;
        }
        while let Some(step) = self.script.steps.get(self.cursor) {
            let here = self.cursor;
            if self.done[here] {
                self.cursor += 1;
                continue;
            }
            match &step.action {
                Action::Send(line) => {
                    let to = line.info.answered_request.as_ref().map(|key| self.pending_requests.remove(key));
                    self.mark_done(here);
                    match to {
                        // An answer to a request that this host did not make.
                        Some(None) => {}
                        to => {
                            self.observe_sent(here);
                            return Next::Send { step: here, to: to.flatten() };
                        }
                    }
                }
                Action::Expect(expected) if expected.class == MessageClass::Query => self.cursor += 1,
                Action::Expect(expected) => {
                    let class = expected.class;
                    if let Some(at) = self.inbox.iter().position(|message| self.matches(here, message)) {
                        self.accept(here, at);
                        return Next::Received { step: here };
                    }
                    if self.has_input_ended {
                        self.skip_to_close();
                        return Next::Skipped;
                    }
                    match self.inbox.front().map(|message| message.class) {
                        Some(_) if class == MessageClass::Optional => {
                            self.mark_done(here);
                            return Next::Skipped;
                        }
                        Some(MessageClass::Optional) => {
                            if let Some(next) = self.answer_early() {
                                return next;
                            }
                        }
                        Some(_) => return Next::Wait { may_time_out: true },
                        None => {
                            let may_time_out = class == MessageClass::Optional || self.find_due_answer().is_some();
                            return Next::Wait { may_time_out };
                        }
                    }
                }
                // A host that never sent anything has no input to close.
                Action::CloseInput if self.has_input_ended || !self.received[..here].contains(&true) => {
                    self.mark_done(here);
                    return Next::Skipped;
                }
                Action::CloseInput => return Next::Wait { may_time_out: self.find_due_answer().is_some() },
                Action::Exit(code) => return Next::Exit(*code),
            }
        }
        Next::Finished
    }

    /// Ends a wait for a host that was silent for the host timeout. Returns what to do next, or `None` if the replay
    /// has to go on waiting.
    pub(crate) fn time_out(&mut self) -> Option<Next> {
        let here = self.cursor;
        let class = match self.script.steps.get(here).map(|step| &step.action) {
            Some(Action::Expect(message)) => message.class,
            Some(Action::CloseInput) => MessageClass::Required,
            _ => return None,
        };
        if class == MessageClass::Optional || !self.inbox.is_empty() {
            self.mark_done(here);
            return Some(Next::Skipped);
        }
        let step = self.find_due_answer()?;
        Some(self.send_out_of_order(step))
    }

    /// Interrupts the running turn because of a signal.
    pub(crate) fn interrupt(&mut self) -> Vec<SyntheticOutput> {
        self.interrupt_turn(None, "")
    }

    /// Whether one process of the agent serves several sessions.
    fn has_shared_process(&self) -> bool {
        self.script.agent.descriptor().process_model.is_shared()
    }

    fn mark_done(&mut self, step: usize) {
        self.done[step] = true;
        if step == self.cursor {
            self.cursor += 1;
        }
    }

    /// Sends a recorded answer before its turn.
    fn send_out_of_order(&mut self, step: usize) -> Next {
        self.mark_done(step);
        let key = match &self.script.steps[step].action {
            Action::Send(OutputLine { info, .. }) => info.answered_request.clone(),
            _ => None,
        };
        let to = key.and_then(|key| self.pending_requests.remove(&key));
        self.observe_sent(step);
        Next::Send { step, to }
    }

    /// Whether a message of the host has the meaning that a step waits for.
    fn matches(&self, step: usize, message: &HostMessage) -> bool {
        let Action::Expect(expected) = &self.script.steps[step].action else {
            return false;
        };
        expected.meaning == message.meaning
            && expected.ids.len() == message.ids.len()
            && expected.ids.iter().zip(&message.ids).all(|(recorded, host)| self.is_same_id(recorded, host))
    }

    /// Whether an id of the host stands for a recorded id, or may stand for it from now on.
    fn is_same_id(&self, recorded: &str, host: &str) -> bool {
        let known = self.ids.to_recorded(host);
        known == recorded || (known == host && !self.ids.is_bound(recorded) && !self.is_recorded_id(host))
    }

    fn is_recorded_id(&self, id: &str) -> bool {
        self.script.steps.iter().any(|step| match &step.action {
            Action::Expect(message) => message.ids.iter().any(|known| known == id),
            Action::Send(line) => line.text.contains(id),
            Action::CloseInput | Action::Exit(_) => false,
        })
    }

    /// Takes the message that a step waits for out of the inbox.
    fn accept(&mut self, step: usize, at: usize) {
        let Some(message) = self.inbox.remove(at) else { return };
        self.mark_done(step);
        self.received[step] = true;
        let Action::Expect(expected) = &self.script.steps[step].action else { return };
        let chosen_ids = expected.chosen_id.iter().zip(&message.chosen_id);
        for (recorded, host) in expected.ids.iter().zip(&message.ids).chain(chosen_ids) {
            self.ids.bind(recorded, host);
        }
        if let (Some(recorded), Some(host)) = (&expected.key, &message.key) {
            self.pending_requests.insert(recorded.clone(), host.clone());
        }
        self.open_requests.retain(|open| !expected.answers(&open.key));
        if expected.starts_turn {
            self.running_sessions.push(expected.ids.first().cloned().unwrap_or_default());
        }
    }

    /// Updates the state for a line that is sent.
    fn observe_sent(&mut self, step: usize) {
        let is_shared = self.has_shared_process();
        let Action::Send(OutputLine { info, .. }) = &self.script.steps[step].action else { return };
        if let Some(key) = &info.opened_request {
            self.open_requests.push(OpenRequest { key: key.clone(), session: info.session.clone() });
        }
        if let Some(key) = &info.withdrawn_request {
            self.open_requests.retain(|open| open.key != *key);
        }
        if info.ends_turn {
            self.running_sessions.retain(|session| is_shared && info.session.as_ref() != Some(session));
        }
    }

    /// The next step that waits for this message.
    fn find_upcoming(&self, message: &HostMessage) -> Option<usize> {
        (self.cursor..self.script.steps.len()).find(|step| !self.done[*step] && self.matches(*step, message))
    }

    /// Handles the first message in the inbox that the rest of the recording does not have.
    fn handle_unexpected(&mut self) -> Option<Next> {
        let at = self.inbox.iter().position(|message| {
            message.class == MessageClass::Query
                || match self.find_upcoming(message) {
                    None => true,
                    Some(step) => message.is_interrupt && self.has_required_before(step),
                }
        })?;
        let message = self.inbox.remove(at)?;
        if message.is_interrupt {
            let session = message.ids.first().map(|id| self.ids.to_recorded(id).to_owned()).unwrap_or_default();
            return Some(Next::SendSynthetic(self.interrupt_turn(message.key, &session)));
        }
        let known = self.find_recorded_answer(&message).or_else(|| self.find_equivalent_answer(&message));
        if let (Some(key), Some((request, answer))) = (&message.key, known) {
            self.received[request] = true;
            if answer >= self.cursor {
                self.mark_done(answer);
            }
            return Some(Next::Send { step: answer, to: Some(key.clone()) });
        }
        Some(Next::SendSynthetic(self.script.agent.answer_unrecorded(&message, &self.script.version)))
    }

    /// Whether the replay waits for another required message before it reaches a step.
    fn has_required_before(&self, step: usize) -> bool {
        let is_required =
            |step: &Step| matches!(&step.action, Action::Expect(message) if message.class == MessageClass::Required);
        (self.cursor..step).any(|between| !self.done[between] && is_required(&self.script.steps[between]))
    }

    /// Finds the recorded answer to a message with this meaning. Prefers the first request that this host has not made
    /// yet, else takes the last. Returns the steps of the request and of the answer.
    fn find_recorded_answer(&self, message: &HostMessage) -> Option<(usize, usize)> {
        let mut found = None;
        for (request, step) in self.script.steps.iter().enumerate() {
            let Action::Expect(recorded) = &step.action else { continue };
            let is_usable = recorded.meaning == message.meaning
                && !recorded.starts_turn
                && (recorded.class != MessageClass::Required || !self.received[request]);
            if !is_usable || (!message.ids.is_empty() && !self.matches(request, message)) {
                continue;
            }
            let answer = recorded.key.as_deref().and_then(|key| self.find_answer(request, key));
            let Some(answer) = answer else { continue };
            found = Some((request, answer));
            if !self.received[request] {
                break;
            }
        }
        found
    }

    /// Finds the answer to another request that contains the same: a Codex thread is resumed with what it was started
    /// with. Returns the steps of the request and of the answer.
    fn find_equivalent_answer(&self, message: &HostMessage) -> Option<(usize, usize)> {
        let meaning = self.script.agent.equivalent_request(&message.meaning)?;
        let session = self.ids.to_recorded(message.ids.first()?);
        self.script.steps.iter().enumerate().find_map(|(request, step)| {
            let Action::Expect(other) = &step.action else { return None };
            let answer = self.find_answer(request, other.key.as_deref().filter(|_| other.meaning == meaning)?)?;
            matches!(&self.script.steps[answer].action, Action::Send(line) if line.text.contains(session))
                .then_some((request, answer))
        })
    }

    /// The step that answers the request of a step.
    fn find_answer(&self, request: usize, key: &str) -> Option<usize> {
        (request..self.script.steps.len()).find(|step| {
            matches!(&self.script.steps[*step].action, Action::Send(line)
                if line.info.answered_request.as_deref() == Some(key))
        })
    }

    /// Answers an optional message that came early.
    fn answer_early(&mut self) -> Option<Next> {
        let step = self.find_upcoming(self.inbox.front()?)?;
        let key = match &self.script.steps[step].action {
            Action::Expect(message) => message.key.clone(),
            _ => None,
        };
        self.accept(step, 0);
        let answer = self.find_answer(step, &key?)?;
        Some(self.send_out_of_order(answer))
    }

    /// The next recorded answer to a pending request of this host.
    fn find_due_answer(&self) -> Option<usize> {
        (self.cursor..self.script.steps.len()).find(|step| {
            !self.done[*step]
                && matches!(&self.script.steps[*step].action, Action::Send(line)
                    if line.info.answered_request.as_ref().is_some_and(|key| self.pending_requests.contains_key(key)))
        })
    }

    /// Skips to what the agent did when its input was closed in the recording. The host has closed the input although
    /// a message was expected.
    fn skip_to_close(&mut self) {
        self.abandoned_at.get_or_insert(self.cursor);
        let steps = &self.script.steps[self.cursor..];
        let is_end = |step: &Step| matches!(step.action, Action::CloseInput | Action::Exit(_));
        let skipped = steps.iter().position(is_end).unwrap_or(steps.len());
        for step in self.cursor..self.cursor + skipped {
            self.done[step] = true;
        }
        self.cursor += skipped;
    }
}

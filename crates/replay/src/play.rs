//! Where a play stands: what the agent says next, and what it makes of what the host says.
//!
//! This is the part without input and output. What the host says goes [in](Play::hear); what is to be done comes
//! [out](Play::next). The rules, in their order:
//!
//! 1. The agent's lines come in recorded order. At a line of the host the play waits until the host says something
//!    that means the same.
//! 2. An answer is given only to a host that asked.
//! 3. A host that says something which the recording has later has gone on: an [aside](Role::Aside) that is waited for
//!    is passed over, and an aside that came early is answered at once.
//! 4. What the recording never has (any more) is answered as it answered the like before, or as the agent would.
//! 5. A host that is silent is [given up on](Play::give_up) after a while, if that can do no harm: asides are passed
//!    over, and answers that are due are given out of turn. An answer or a prompt is waited for as long as it takes.

mod interruption;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};

use crate::dialect::{Dialect as _, Extra};
use crate::ids::Ids;
use crate::said::{Role, Said};
use crate::script::{Act, Channel, Line, Script, Step};

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Say what was recorded in this step; if it is an answer, to this request of the host.
    Say { step: usize, to: Option<String> },
    /// The host said what this step waited for.
    Heard { step: usize },
    /// Something will not be waited for. What comes after it has a time of its own.
    Passed,
    /// Say what was not recorded.
    Extra(Vec<Extra>),
    /// Nothing until the host speaks. If `briefly`, it may be given up on.
    Wait { briefly: bool },
    /// Leave, with this code.
    Exit(Option<i32>),
    /// The recording is over; the host may go on.
    Over,
}

/// What the agent asked and is waiting for.
#[derive(Debug)]
struct Open {
    key: String,
    session: Option<String>,
}

/// A process as it plays.
#[derive(Debug)]
pub(crate) struct Play {
    script: Script,
    cursor: usize,
    /// Steps that are over: said, heard, or passed by.
    done: Vec<bool>,
    /// Steps of the host that this host has said.
    heard: Vec<bool>,
    inbox: VecDeque<Said>,
    /// Requests that wait for their answer: the recorded key, and the host's.
    pending: HashMap<String, String>,
    ids: Ids,
    input_ended: bool,
    /// Where the play was when the host left too early.
    left_at: Option<usize>,
    open: Vec<Open>,
    /// Sessions in which a turn is running.
    running: Vec<String>,
}

impl Play {
    /// Begins at a step of the script.
    pub(crate) fn new(script: Script, from: usize, ids: Ids) -> Self {
        let steps = script.steps.len();
        let mut play = Self {
            done: (0..steps).map(|step| step < from).collect(),
            heard: vec![false; steps],
            cursor: from,
            inbox: VecDeque::new(),
            pending: HashMap::new(),
            ids,
            input_ended: false,
            left_at: None,
            open: Vec::new(),
            running: Vec::new(),
            script,
        };
        if play.script.is_one_shot() {
            play.running.push(String::new());
        }
        play
    }

    pub(crate) fn step(&self, step: usize) -> &Step {
        &self.script.steps[step]
    }

    pub(crate) fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The step that is next, passing over what will not happen; `None` when the play is over.
    pub(crate) fn upcoming_step(&self) -> Option<&Step> {
        let step = (self.cursor..self.script.steps.len()).find(|step| {
            !self.done[*step]
                && match &self.script.steps[*step].act {
                    Act::Hear(said) => said.role != Role::Look,
                    Act::Say(line) => line.sense.answers.as_ref().is_none_or(|key| self.pending.contains_key(key)),
                    Act::Close | Act::Exit(_) => true,
                }
        });
        step.map(|step| self.step(step))
    }

    /// The status of the recorded answer to what a step heard.
    pub(crate) fn answer_status(&self, step: usize) -> Option<u16> {
        let Act::Hear(said) = &self.script.steps[step].act else { return None };
        match &self.script.steps[self.answer_to(step, said.key.as_deref()?)?].act {
            Act::Say(Line { channel: Channel::Reply(status), .. }) => Some(*status),
            _ => None,
        }
    }

    /// The key of the host's request that a step heard, while it waits for its answer.
    pub(crate) fn host_key(&self, step: usize) -> Option<&str> {
        let Act::Hear(said) = &self.script.steps[step].act else { return None };
        self.pending.get(said.key.as_deref()?).map(String::as_str)
    }

    /// Whether there is nothing in the script for a host to say.
    pub(crate) fn is_one_shot(&self) -> bool {
        self.script.is_one_shot()
    }

    pub(crate) fn has_input(&self) -> bool {
        !self.input_ended
    }

    /// How far the play has come. What was left out because the host had gone still is to come.
    pub(crate) fn progress(&self) -> usize {
        self.left_at.unwrap_or(self.cursor)
    }

    pub(crate) fn hear(&mut self, said: Said) {
        self.inbox.push_back(said);
    }

    /// The host has ended the agent's input.
    pub(crate) fn end_input(&mut self) {
        self.input_ended = true;
    }

    pub(crate) fn next(&mut self) -> Next {
        if let Some(next) = self.unexpected() {
            return next;
        }
        while let Some(step) = self.script.steps.get(self.cursor) {
            let here = self.cursor;
            if self.done[here] {
                self.cursor += 1;
                continue;
            }
            match &step.act {
                Act::Say(line) => {
                    let to = line.sense.answers.as_ref().map(|key| self.pending.remove(key));
                    self.pass(here);
                    match to {
                        Some(None) => {}
                        to => {
                            self.note_said(here);
                            return Next::Say { step: here, to: to.flatten() };
                        }
                    }
                }
                Act::Hear(awaited) if awaited.role == Role::Look => self.cursor += 1,
                Act::Hear(awaited) => {
                    let role = awaited.role;
                    if let Some(at) = self.inbox.iter().position(|said| self.means(here, said)) {
                        self.accept(here, at);
                        return Next::Heard { step: here };
                    }
                    if self.input_ended {
                        self.skip_to_close();
                        return Next::Passed;
                    }
                    match self.inbox.front().map(|said| said.role) {
                        Some(_) if role == Role::Aside => {
                            self.pass(here);
                            return Next::Passed;
                        }
                        Some(Role::Aside) => {
                            if let Some(next) = self.answer_early() {
                                return next;
                            }
                        }
                        Some(_) => return Next::Wait { briefly: true },
                        None => return Next::Wait { briefly: role == Role::Aside || self.due().is_some() },
                    }
                }
                // A host that never spoke has no input to end.
                Act::Close if self.input_ended || !self.heard[..here].contains(&true) => {
                    self.pass(here);
                    return Next::Passed;
                }
                Act::Close => return Next::Wait { briefly: self.due().is_some() },
                Act::Exit(code) => return Next::Exit(*code),
            }
        }
        Next::Over
    }

    /// The host has been silent for a while. Says whether that changed anything; if it did, there is something to be
    /// done next.
    pub(crate) fn give_up(&mut self) -> Option<Next> {
        let here = self.cursor;
        let role = match self.script.steps.get(here).map(|step| &step.act) {
            Some(Act::Hear(said)) => said.role,
            Some(Act::Close) => Role::Flow,
            _ => return None,
        };
        if role == Role::Aside || !self.inbox.is_empty() {
            self.pass(here);
            return Some(Next::Passed);
        }
        let step = self.due()?;
        Some(self.say_now(step))
    }

    /// The host interrupts by a signal.
    pub(crate) fn interrupt(&mut self) -> Vec<Extra> {
        self.interrupted(None, "")
    }

    fn pass(&mut self, step: usize) {
        self.done[step] = true;
        if step == self.cursor {
            self.cursor += 1;
        }
    }

    /// Says a recorded answer out of turn.
    fn say_now(&mut self, step: usize) -> Next {
        self.pass(step);
        let key = match &self.script.steps[step].act {
            Act::Say(Line { sense, .. }) => sense.answers.clone(),
            _ => None,
        };
        let to = key.and_then(|key| self.pending.remove(&key));
        self.note_said(step);
        Next::Say { step, to }
    }

    /// Whether something that the host said means what a step waits for.
    fn means(&self, step: usize, said: &Said) -> bool {
        let Act::Hear(awaited) = &self.script.steps[step].act else {
            return false;
        };
        awaited.what == said.what
            && awaited.ids.len() == said.ids.len()
            && awaited.ids.iter().zip(&said.ids).all(|(recorded, host)| self.stands_for(recorded, host))
    }

    /// Whether a host's id is, or may be from now on, a recorded one.
    fn stands_for(&self, recorded: &str, host: &str) -> bool {
        let known = self.ids.recorded(host);
        known == recorded || (known == host && !self.ids.is_bound(recorded) && !self.is_recorded(host))
    }

    fn is_recorded(&self, id: &str) -> bool {
        self.script.steps.iter().any(|step| match &step.act {
            Act::Hear(said) => said.ids.iter().any(|known| known == id),
            Act::Say(line) => line.text.contains(id),
            Act::Close | Act::Exit(_) => false,
        })
    }

    /// The host said what a step waited for.
    fn accept(&mut self, step: usize, at: usize) {
        let Some(said) = self.inbox.remove(at) else { return };
        self.pass(step);
        self.heard[step] = true;
        let Act::Hear(awaited) = &self.script.steps[step].act else { return };
        for (recorded, host) in awaited.ids.iter().zip(&said.ids).chain(awaited.chosen.iter().zip(&said.chosen)) {
            self.ids.bind(recorded, host);
        }
        if let (Some(recorded), Some(host)) = (&awaited.key, &said.key) {
            self.pending.insert(recorded.clone(), host.clone());
        }
        self.open.retain(|open| !awaited.answers(&open.key));
        if awaited.begins_turn {
            self.running.push(awaited.ids.first().cloned().unwrap_or_default());
        }
    }

    /// Notes what a line that is being said changes.
    fn note_said(&mut self, step: usize) {
        let Act::Say(Line { sense, .. }) = &self.script.steps[step].act else { return };
        if let Some(key) = &sense.asks {
            self.open.push(Open { key: key.clone(), session: sense.session.clone() });
        }
        if let Some(key) = &sense.withdraws {
            self.open.retain(|open| open.key != *key);
        }
        if sense.ends_turn {
            let one = !self.script.agent.descriptor().process_model.is_shared();
            self.running.retain(|session| !one && sense.session.as_ref() != Some(session));
        }
    }

    /// A step from here on that waits for this.
    fn upcoming(&self, said: &Said) -> Option<usize> {
        (self.cursor..self.script.steps.len()).find(|step| !self.done[*step] && self.means(*step, said))
    }

    /// Deals with the first thing that the host said and the recording does not have.
    fn unexpected(&mut self) -> Option<Next> {
        let at = self.inbox.iter().position(|said| {
            said.role == Role::Look
                || match self.upcoming(said) {
                    None => true,
                    Some(step) => said.interrupts && self.awaits_before(step),
                }
        })?;
        let said = self.inbox.remove(at)?;
        if said.interrupts {
            let session = said.ids.first().map(|id| self.ids.recorded(id).to_owned()).unwrap_or_default();
            return Some(Next::Extra(self.interrupted(said.key, &session)));
        }
        let known = self.recorded_answer(&said).or_else(|| self.answer_about(&said));
        if let (Some(key), Some((asked, answer))) = (&said.key, known) {
            self.heard[asked] = true;
            if answer >= self.cursor {
                self.pass(answer);
            }
            return Some(Next::Say { step: answer, to: Some(key.clone()) });
        }
        Some(Next::Extra(self.script.agent.unforeseen(&said, &self.script.version)))
    }

    /// Whether the play waits for something else that matters before it comes to a step.
    fn awaits_before(&self, step: usize) -> bool {
        (self.cursor..step).any(|between| {
            !self.done[between] && matches!(&self.script.steps[between].act, Act::Hear(said) if said.role == Role::Flow)
        })
    }

    /// What the recording answers to the like of this, as the steps of request and answer: one that nobody asked for
    /// yet, else the last.
    fn recorded_answer(&self, said: &Said) -> Option<(usize, usize)> {
        let mut found = None;
        for (asked, step) in self.script.steps.iter().enumerate() {
            let Act::Hear(like) = &step.act else { continue };
            let usable = like.what == said.what && !like.begins_turn && (like.role != Role::Flow || !self.heard[asked]);
            if !usable || (!said.ids.is_empty() && !self.means(asked, said)) {
                continue;
            }
            let Some(answer) = like.key.as_deref().and_then(|key| self.answer_to(asked, key)) else { continue };
            found = Some((asked, answer));
            if !self.heard[asked] {
                break;
            }
        }
        found
    }

    /// The answer to another request that tells the same: a Codex thread is resumed with what it was started with.
    fn answer_about(&self, wanted: &Said) -> Option<(usize, usize)> {
        let what = self.script.agent.equivalent_request(&wanted.what)?;
        let session = self.ids.recorded(wanted.ids.first()?);
        self.script.steps.iter().enumerate().find_map(|(asked, step)| {
            let Act::Hear(other) = &step.act else { return None };
            let answer = self.answer_to(asked, other.key.as_deref().filter(|_| other.what == what)?)?;
            matches!(&self.script.steps[answer].act, Act::Say(said) if said.text.contains(session))
                .then_some((asked, answer))
        })
    }

    /// The step that answers the request of a step.
    fn answer_to(&self, asked: usize, key: &str) -> Option<usize> {
        (asked..self.script.steps.len()).find(|step| {
            matches!(&self.script.steps[*step].act, Act::Say(line) if line.sense.answers.as_deref() == Some(key))
        })
    }

    /// Answers an aside that came before its time.
    fn answer_early(&mut self) -> Option<Next> {
        let step = self.upcoming(self.inbox.front()?)?;
        let key = match &self.script.steps[step].act {
            Act::Hear(said) => said.key.clone(),
            _ => None,
        };
        self.accept(step, 0);
        let answer = self.answer_to(step, &key?)?;
        Some(self.say_now(answer))
    }

    /// The first answer further on that this host is waiting for.
    fn due(&self) -> Option<usize> {
        (self.cursor..self.script.steps.len()).find(|step| {
            !self.done[*step]
                && matches!(&self.script.steps[*step].act, Act::Say(line)
                    if line.sense.answers.as_ref().is_some_and(|key| self.pending.contains_key(key)))
        })
    }

    /// The host has left while something was expected of it: on to what the agent did when it left in the recording.
    fn skip_to_close(&mut self) {
        self.left_at.get_or_insert(self.cursor);
        let steps = &self.script.steps[self.cursor..];
        let skipped =
            steps.iter().position(|step| matches!(step.act, Act::Close | Act::Exit(_))).unwrap_or(steps.len());
        for step in self.cursor..self.cursor + skipped {
            self.done[step] = true;
        }
        self.cursor += skipped;
    }
}

//! What one process of a recording does, step by step.

use std::ops::Range;

use interlingua_wirelog::Input;

use crate::dialect::{Dialect as _, is_greeting, request};
use crate::said::{Role, Said, Sense};
use crate::{Agent, Recording};

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Standard output, or the event stream.
    Out,
    /// Standard error.
    Err,
    /// The reply to an HTTP request, with this status.
    Reply(u16),
}

/// Something that the agent says.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) channel: Channel,
    pub(crate) text: String,
    pub(crate) sense: Sense,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Hear(Said),
    Say(Line),
    /// The host ends the agent's input.
    Close,
    Exit(Option<i32>),
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// When, in milliseconds.
    pub(crate) t: i64,
    /// Its number in the recording; the first record is 1.
    pub(crate) number: usize,
    pub(crate) act: Act,
}

/// One process.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) agent: Agent,
    pub(crate) version: String,
    pub(crate) steps: Vec<Step>,
    /// What new readers of an event stream are greeted with.
    pub(crate) greeting: Option<String>,
}

impl Script {
    pub(crate) fn new(recording: &Recording, process: Range<usize>) -> Self {
        let agent = recording.agent;
        let mut script = Self {
            agent,
            version: recording.header.version.clone().unwrap_or_else(|| "0.0.0".to_owned()),
            steps: Vec::new(),
            greeting: None,
        };
        let mut t = recording.records.get(process.start).and_then(|record| record.t).unwrap_or(0);
        // The first process starts with the recording, a later one when the host first speaks to it.
        if process.start == 0 {
            t = t.min(0);
        }
        for (number, record) in recording.records.iter().enumerate().take(process.end).skip(process.start) {
            t = record.t.unwrap_or(t);
            if let Some(act) = script.act(&record.input) {
                script.steps.push(Step { t, number: number + 1, act });
            }
        }
        script.demote_late_answers();
        script
    }

    /// Whether the host gives the prompt on the command line and says nothing more.
    pub(crate) fn is_one_shot(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step.act, Act::Hear(_)))
    }

    /// Plays a one-shot run to a host that speaks: it starts with the host's message, and the agent leaves when its
    /// input ends. One that was killed, or never came so far, still goes by itself.
    pub(crate) fn wait_for_message(&mut self) {
        self.steps.retain(|step| !matches!(step.act, Act::Close));
        let t = self.steps.first().map_or(0, |step| step.t);
        let message = Said { begins_turn: true, ..Said::new("message", Role::Flow) };
        let ends = self.steps.iter().any(|step| matches!(&step.act, Act::Say(line) if line.sense.ends_turn));
        let said = self.steps.iter().any(|step| matches!(&step.act, Act::Say(line) if line.channel == Channel::Out));
        if said {
            self.steps.insert(0, Step { t, number: 0, act: Act::Hear(message) });
        }
        if let (true, Some(at)) = (ends, self.steps.iter().position(|step| matches!(step.act, Act::Exit(_)))) {
            self.steps.insert(at, Step { t: self.steps[at].t, number: 0, act: Act::Close });
        }
    }

    /// Leaves out the requests that were refused for want of a password.
    pub(crate) fn without_refusals(&mut self) {
        let refused: Vec<String> = self
            .steps
            .iter()
            .filter_map(|step| match &step.act {
                Act::Say(Line { channel: Channel::Reply(401), sense, .. }) => sense.answers.clone(),
                _ => None,
            })
            .collect();
        self.steps.retain(|step| match &step.act {
            Act::Hear(said) => said.key.as_ref().is_none_or(|key| !refused.contains(key)),
            Act::Say(line) => line.sense.answers.as_ref().is_none_or(|key| !refused.contains(key)),
            Act::Close | Act::Exit(_) => true,
        });
    }

    fn act(&mut self, input: &Input) -> Option<Act> {
        let say = |channel, text: &str, sense| Some(Act::Say(Line { channel, text: text.to_owned(), sense }));
        match input {
            Input::Sent(line) => Some(Act::Hear(self.agent.heard(line))),
            Input::Received(line) if self.agent == Agent::OpenCode && is_greeting(line) => {
                self.greeting = Some(line.clone());
                None
            }
            Input::Received(line) => say(Channel::Out, line, self.agent.sense(line)),
            Input::Stderr(line) => say(Channel::Err, line, Sense::default()),
            Input::Request { call, method, path, body } => {
                Some(Act::Hear(Said { key: Some(call.to_string()), ..request(method, path, body.as_deref()) }))
            }
            Input::Reply { call, status, body } => {
                let sense = Sense { answers: Some(call.to_string()), ..Sense::default() };
                say(Channel::Reply(*status), body.as_deref().unwrap_or_default(), sense)
            }
            Input::Unreadable { .. } => None,
            Input::Close => Some(Act::Close),
            Input::Exit { code } => Some(Act::Exit(*code)),
        }
    }

    /// An answer to something that the agent has taken back by then is not waited for.
    fn demote_late_answers(&mut self) {
        let mut withdrawn = Vec::new();
        for step in &mut self.steps {
            match &mut step.act {
                Act::Say(line) => withdrawn.extend(line.sense.withdraws.iter().map(|key| format!("answer {key}"))),
                Act::Hear(said) if withdrawn.contains(&said.what) => said.role = Role::Aside,
                _ => {}
            }
        }
    }
}

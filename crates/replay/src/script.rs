//! What one process of a recording does, step by step.

use std::ops::Range;

use interlingua_wirelog::Input;

use crate::agent_protocol::{AgentProtocol as _, is_greeting, parse_request};
use crate::message::{HostMessage, LineInfo, MessageClass};
use crate::{Agent, Recording};

/// Where a line goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Standard output, or the event stream.
    Output,
    /// Standard error.
    Stderr,
    /// The reply to an HTTP request, with this status.
    Reply(u16),
}

/// A line of the agent.
#[derive(Clone, Debug)]
pub(crate) struct OutputLine {
    pub(crate) channel: Channel,
    pub(crate) text: String,
    pub(crate) info: LineInfo,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// The host sends this message.
    Expect(HostMessage),
    /// The agent sends this line.
    Send(OutputLine),
    /// The host closes the agent's input.
    CloseInput,
    /// The process exits with this code, if it is known.
    Exit(Option<i32>),
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Recorded time in milliseconds.
    pub(crate) time_ms: i64,
    /// Number of its record in the recording; the first is 1. 0 if there is none.
    pub(crate) record_number: usize,
    pub(crate) action: Action,
}

/// The steps of one process.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) agent: Agent,
    pub(crate) version: String,
    pub(crate) steps: Vec<Step>,
    /// First event of every subscriber of an event stream.
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
        let mut time_ms = recording.records.get(process.start).and_then(|record| record.t).unwrap_or(0);
        // The first process starts with the recording, a later one with the first message of the host.
        if process.start == 0 {
            time_ms = time_ms.min(0);
        }
        for (index, record) in recording.records.iter().enumerate().take(process.end).skip(process.start) {
            time_ms = record.t.unwrap_or(time_ms);
            if let Some(action) = script.action(&record.input) {
                script.steps.push(Step { time_ms, record_number: index + 1, action });
            }
        }
        script.make_late_answers_optional();
        script
    }

    /// Whether the prompt was on the command line and the host sends nothing.
    pub(crate) fn is_one_shot(&self) -> bool {
        !self.steps.iter().any(|step| matches!(step.action, Action::Expect(_)))
    }

    /// Adapts a one-shot script to a host that sends its prompt over standard input: it starts with the host's prompt,
    /// and the agent exits when its input ends. A process that was killed, or that did not reach the end of its turn,
    /// still exits without waiting for the end of input.
    pub(crate) fn expect_prompt(&mut self) {
        self.steps.retain(|step| !matches!(step.action, Action::CloseInput));
        let time_ms = self.steps.first().map_or(0, |step| step.time_ms);
        let ends_turn = self.steps.iter().any(|step| matches!(&step.action, Action::Send(line) if line.info.ends_turn));
        let is_output = |step: &Step| matches!(&step.action, Action::Send(line) if line.channel == Channel::Output);
        if self.steps.iter().any(is_output) {
            self.steps.insert(0, Step { time_ms, record_number: 0, action: Action::Expect(HostMessage::prompt()) });
        }
        let exit = self.steps.iter().position(|step| matches!(step.action, Action::Exit(_)));
        if let (true, Some(at)) = (ends_turn, exit) {
            let close = Step { time_ms: self.steps[at].time_ms, record_number: 0, action: Action::CloseInput };
            self.steps.insert(at, close);
        }
    }

    /// Removes the requests that were rejected with 401 because they had no password.
    pub(crate) fn remove_unauthorized_requests(&mut self) {
        let unauthorized: Vec<String> = self
            .steps
            .iter()
            .filter_map(|step| match &step.action {
                Action::Send(OutputLine { channel: Channel::Reply(401), info, .. }) => info.answered_request.clone(),
                _ => None,
            })
            .collect();
        let is_kept = |key: &Option<String>| key.as_ref().is_none_or(|key| !unauthorized.contains(key));
        self.steps.retain(|step| match &step.action {
            Action::Expect(message) => is_kept(&message.key),
            Action::Send(line) => is_kept(&line.info.answered_request),
            Action::CloseInput | Action::Exit(_) => true,
        });
    }

    fn action(&mut self, input: &Input) -> Option<Action> {
        let send = |channel, text: &str, info| Some(Action::Send(OutputLine { channel, text: text.to_owned(), info }));
        match input {
            Input::Sent(line) => Some(Action::Expect(self.agent.parse_host_line(line))),
            Input::Received(line) if self.agent == Agent::OpenCode && is_greeting(line) => {
                self.greeting = Some(line.clone());
                None
            }
            Input::Received(line) => send(Channel::Output, line, self.agent.parse_agent_line(line)),
            Input::Stderr(line) => send(Channel::Stderr, line, LineInfo::default()),
            Input::Request { call, method, path, body } => {
                let message = parse_request(method, path, body.as_deref());
                Some(Action::Expect(HostMessage { key: Some(call.to_string()), ..message }))
            }
            Input::Reply { call, status, body } => {
                let info = LineInfo { answered_request: Some(call.to_string()), ..LineInfo::default() };
                send(Channel::Reply(*status), body.as_deref().unwrap_or_default(), info)
            }
            Input::Unreadable { .. } => None,
            Input::Close => Some(Action::CloseInput),
            Input::Exit { code } => Some(Action::Exit(*code)),
        }
    }

    /// Makes answers to withdrawn requests optional, so that the replay does not wait for them.
    fn make_late_answers_optional(&mut self) {
        let mut withdrawn = Vec::new();
        for step in &mut self.steps {
            match &mut step.action {
                Action::Send(line) => {
                    withdrawn.extend(line.info.withdrawn_request.iter().map(|key| format!("answer {key}")));
                }
                Action::Expect(message) if withdrawn.contains(&message.meaning) => {
                    message.class = MessageClass::Optional;
                }
                _ => {}
            }
        }
    }
}

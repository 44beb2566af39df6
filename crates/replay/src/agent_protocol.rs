//! Interprets the lines of each agent, and builds the output that a recording does not have.

mod acp;
mod amp;
mod claude;
mod codex;
mod opencode;

use crate::Agent;
use crate::message::{HostMessage, LineInfo};

pub(crate) use opencode::{default_greeting, is_greeting, parse_request, session_id};

/// Output that is not in the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyntheticOutput {
    /// A line, or a payload of the event stream.
    Line(String),
    /// An answer to the host's request with this key: a whole line on standard output, a status and a body over HTTP.
    Answer { to: String, status: u16, body: String },
    /// A line on standard error, then the exit of the process with this code.
    Exit { stderr: String, code: i32 },
}

impl SyntheticOutput {
    pub(crate) fn answer(to: &str, status: u16, body: &serde_json::Value) -> Self {
        Self::Answer { to: to.to_owned(), status, body: body.to_string() }
    }
}

/// An interrupt of the host that the recording does not have.
#[derive(Debug, Default)]
pub(crate) struct Interruption {
    /// Key of the host's request; `None` if it is a signal.
    pub(crate) key: Option<String>,
    /// Session id, as the host knows it.
    pub(crate) session: String,
    /// Id of the running turn; `None` if no turn runs.
    pub(crate) turn: Option<String>,
    pub(crate) is_running: bool,
    /// Keys of the agent's requests in the turn that have no answer.
    pub(crate) open_requests: Vec<String>,
}

/// The protocol between an agent and its host.
pub(crate) trait AgentProtocol {
    /// Parses a line of the host.
    fn parse_host_line(self, line: &str) -> HostMessage;

    /// Parses a line of the agent.
    fn parse_agent_line(self, line: &str) -> LineInfo;

    /// Puts the id of the host's actual request into a recorded answer.
    fn set_answer_key(self, line: &str, key: &str) -> String;

    /// Builds the reaction to a message for which the recording has no answer.
    fn answer_unrecorded(self, message: &HostMessage, version: &str) -> Vec<SyntheticOutput>;

    /// Builds the end of a turn that was not interrupted in the recording.
    fn interrupt_turn(self, interruption: &Interruption) -> Vec<SyntheticOutput>;

    /// The answer to a prompt whose turn was not interrupted in the recording. `line` is the recorded answer.
    fn interrupted_answer(self, line: &str, key: &str) -> String;

    /// Meaning of another request whose recorded answer also answers a request with this meaning.
    fn equivalent_request(self, meaning: &str) -> Option<&'static str>;
}

impl AgentProtocol for Agent {
    fn parse_host_line(self, line: &str) -> HostMessage {
        match self {
            Self::Claude => claude::parse_host_line(line),
            Self::Codex => codex::parse_host_line(line),
            Self::Amp => amp::parse_host_line(line),
            Self::Acp => acp::parse_host_line(line),
            Self::OpenCode => HostMessage::unreadable(),
        }
    }

    fn parse_agent_line(self, line: &str) -> LineInfo {
        match self {
            Self::Claude => claude::parse_agent_line(line),
            Self::Codex => codex::parse_agent_line(line),
            Self::Amp => amp::parse_agent_line(line),
            Self::Acp => acp::parse_agent_line(line),
            Self::OpenCode => opencode::parse_agent_line(line),
        }
    }

    fn set_answer_key(self, line: &str, key: &str) -> String {
        match self {
            Self::Claude => claude::set_answer_key(line, key),
            Self::Codex => codex::set_answer_key(line, key),
            Self::Acp => acp::set_answer_key(line, key),
            Self::Amp | Self::OpenCode => line.to_owned(),
        }
    }

    fn answer_unrecorded(self, message: &HostMessage, version: &str) -> Vec<SyntheticOutput> {
        match self {
            Self::Claude => claude::answer_unrecorded(message),
            Self::Codex => codex::answer_unrecorded(message),
            Self::Amp => amp::answer_unrecorded(message),
            Self::Acp => acp::answer_unrecorded(message),
            Self::OpenCode => opencode::answer_unrecorded(message, version),
        }
    }

    fn interrupt_turn(self, interruption: &Interruption) -> Vec<SyntheticOutput> {
        match self {
            Self::Claude => claude::interrupt_turn(interruption),
            Self::Codex => codex::interrupt_turn(interruption),
            Self::Amp => amp::interrupt_turn(interruption),
            Self::Acp => acp::interrupt_turn(interruption),
            Self::OpenCode => opencode::interrupt_turn(interruption),
        }
    }

    fn interrupted_answer(self, line: &str, key: &str) -> String {
        match self {
            Self::Acp => acp::interrupted_answer(key),
            Self::Claude | Self::Codex | Self::OpenCode | Self::Amp => self.set_answer_key(line, key),
        }
    }

    fn equivalent_request(self, meaning: &str) -> Option<&'static str> {
        match (self, meaning) {
            (Self::Codex, "request thread/resume") => Some("request thread/start"),
            (Self::Acp, "request session/resume" | "request session/load") => Some("request session/new"),
            _ => None,
        }
    }
}

/// Replaces a part of a line. `part` must be a slice of `line`.
fn replace_part(line: &str, part: &str, replacement: &str) -> String {
    let start = part.as_ptr() as usize - line.as_ptr() as usize;
    format!("{}{replacement}{}", &line[..start], &line[start + part.len()..])
}

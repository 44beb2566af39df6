//! What each agent's lines mean, and what an agent would say where the recording is silent.

mod amp;
mod claude;
mod codex;
mod opencode;

use crate::Agent;
use crate::said::{Said, Sense};

pub(crate) use opencode::{greeting, is_greeting, request, session_of};

/// Something to say that nobody recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    /// A line, or a payload of the event stream.
    Line(String),
    /// An answer to the host's request of this key: over standard output a whole line, over HTTP a status and a body.
    Answer { to: String, status: u16, body: String },
    /// A line of standard error, after which the agent is gone with this code.
    Death { line: String, code: i32 },
}

impl Extra {
    pub(crate) fn answer(to: &str, status: u16, body: &serde_json::Value) -> Self {
        Self::Answer { to: to.to_owned(), status, body: body.to_string() }
    }
}

/// A turn that is to end because the host wants it to.
#[derive(Debug, Default)]
pub(crate) struct Interruption {
    /// The key of the host's request; absent when it was a signal.
    pub(crate) key: Option<String>,
    /// The session, by the name the host knows it by.
    pub(crate) session: String,
    /// The turn; absent when none is running.
    pub(crate) turn: Option<String>,
    pub(crate) running: bool,
    /// What the agent asked in it and nobody answered.
    pub(crate) open: Vec<String>,
}

/// How an agent speaks to its host.
pub(crate) trait Dialect {
    /// What a line from the host means.
    fn heard(self, line: &str) -> Said;

    /// What a line from the agent means.
    fn sense(self, line: &str) -> Sense;

    /// A recorded answer with the id of the request that is really answered.
    fn readdress(self, line: &str, key: &str) -> String;

    /// What the agent says to something that the recording has no answer to.
    fn unforeseen(self, said: &Said, version: &str) -> Vec<Extra>;

    /// What the agent says when a turn is interrupted that was not interrupted in the recording.
    fn interrupted(self, interruption: &Interruption) -> Vec<Extra>;

    /// What another request must mean for its recorded answer to do for one that means `what`.
    fn equivalent_request(self, what: &str) -> Option<&'static str>;
}

impl Dialect for Agent {
    fn heard(self, line: &str) -> Said {
        match self {
            Self::Claude => claude::heard(line),
            Self::Codex => codex::heard(line),
            Self::Amp => amp::heard(line),
            Self::OpenCode => Said::noise(),
        }
    }

    fn sense(self, line: &str) -> Sense {
        match self {
            Self::Claude => claude::sense(line),
            Self::Codex => codex::sense(line),
            Self::Amp => amp::sense(line),
            Self::OpenCode => opencode::sense(line),
        }
    }

    fn readdress(self, line: &str, key: &str) -> String {
        match self {
            Self::Claude => claude::readdress(line, key),
            Self::Codex => codex::readdress(line, key),
            Self::Amp | Self::OpenCode => line.to_owned(),
        }
    }

    fn unforeseen(self, said: &Said, version: &str) -> Vec<Extra> {
        match self {
            Self::Claude => claude::unforeseen(said),
            Self::Codex => codex::unforeseen(said),
            Self::Amp => amp::unforeseen(said),
            Self::OpenCode => opencode::unforeseen(said, version),
        }
    }

    fn interrupted(self, interruption: &Interruption) -> Vec<Extra> {
        match self {
            Self::Claude => claude::interrupted(interruption),
            Self::Codex => codex::interrupted(interruption),
            Self::Amp => amp::interrupted(interruption),
            Self::OpenCode => opencode::interrupted(interruption),
        }
    }

    fn equivalent_request(self, what: &str) -> Option<&'static str> {
        (self == Self::Codex && what == "request thread/resume").then_some("request thread/start")
    }
}

/// Where a part of a line stands in it. `part` must be a slice of `line`.
fn replaced(line: &str, part: &str, with: &str) -> String {
    let start = part.as_ptr() as usize - line.as_ptr() as usize;
    format!("{}{with}{}", &line[..start], &line[start + part.len()..])
}

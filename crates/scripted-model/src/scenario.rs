//! What a scenario says, once it is read.

mod answer;
mod check;
mod parse;
mod step;

use std::collections::BTreeMap;
use std::time::Duration;

pub use answer::{Action, Answer, Deed, Trigger};
pub use parse::BadScenario;

/// The session that a turn belongs to unless it names another.
pub const MAIN: &str = "main";

/// A conversation between a user, a host, an agent and a model, written down beforehand.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scenario {
    /// What it is called: the name of its file.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// What is there before it begins.
    pub setup: Setup,
    /// The agents on which it cannot be played, and why.
    pub absent: BTreeMap<String, String>,
    /// What is said, in order.
    pub turns: Vec<Turn>,
    /// What the sub-agents do, by the name that a `delegate` step calls them.
    pub sub_agents: BTreeMap<String, SubAgent>,
}

/// What is there before a scenario begins.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
#[non_exhaustive]
pub struct Setup {
    /// Whether the agent asks before it does something.
    pub permissions: Permissions,
    /// Whether the agent starts out making a plan.
    pub plan_mode: bool,
    /// Whether the agent is given an MCP server (`tiny`, with the tools `add` and `fail`).
    pub mcp: bool,
    /// Whether the agent is told that the model likes patches, where that makes it offer another tool.
    pub patches: bool,
    /// Whether the model asks to run its commands outside of the agent's sandbox, where there is a word for that: an
    /// agent that lets commands run in its sandbox asks the user only then.
    pub escalates: bool,
    /// Files in the workspace: path → content.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Whether the agent asks before it does something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// It may do everything.
    #[default]
    Allow,
    /// It asks.
    Ask,
}

/// What the user says, and what comes of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// The user's message. No other message of the scenario may contain it.
    pub user: String,
    /// The files that go with it: paths in the workspace.
    pub attachments: Vec<String>,
    /// The session that it is said in.
    pub session: String,
    /// Whether the agent is first started anew and the session taken up again.
    pub resume: bool,
    /// Whether the next turn begins without waiting for the end of this one.
    pub open: bool,
    /// What the model answers: one reply per request.
    pub replies: Vec<Reply>,
    /// What the host answers, in the order in which the agent asks.
    pub answers: Vec<Answer>,
    /// What else the host does.
    pub actions: Vec<Action>,
}

/// A sub-agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubAgent {
    /// What it is told to do. No other message of the scenario may contain it.
    pub task: String,
    /// What the model answers it.
    pub replies: Vec<Reply>,
}

/// One answer of the model to one request: what it does, in order.
pub type Reply = Vec<Step>;

/// Something that the model does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It says something, in these pieces, so far apart.
    Say(Speech),
    /// It thinks something.
    Think(Speech),
    /// It calls a tool.
    Call(Role),
    /// It does not answer at all but with an HTTP status; the only step of its reply.
    Refuse {
        /// The status.
        status: u16,
        /// What it says why.
        message: String,
        /// After how many seconds it says to try again.
        retry_after: Option<u64>,
        /// How many requests are refused like this.
        times: u32,
    },
    /// It breaks off with an error that it says in the stream.
    Fail {
        /// What it says why.
        message: String,
    },
    /// The connection breaks.
    Cut,
    /// Nothing comes for a while, or for as long as the agent waits.
    Stall(Option<Duration>),
    /// Nothing comes before that session's turn is over.
    Until(String),
    /// It ends for another reason than being done.
    Stop(Stop),
}

/// Words, in pieces.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Speech {
    /// The pieces as they are streamed.
    pub chunks: Vec<String>,
    /// The time between two of them.
    pub drip: Duration,
}

impl Speech {
    /// A text, streamed word by word.
    pub(crate) fn of(text: &str) -> Self {
        Self { chunks: text.split_inclusive(' ').map(str::to_owned).collect(), drip: Duration::ZERO }
    }

    /// All of it.
    #[must_use]
    pub fn text(&self) -> String {
        self.chunks.concat()
    }
}

/// Why a model ends that is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It said as much as it may.
    Length,
    /// It will not go on.
    Refusal,
}

/// What a tool call is for; the agent decides what the tool is called.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// Run a shell command.
    Run {
        /// The command.
        command: String,
    },
    /// Read a file.
    Read {
        /// Its path, below the workspace.
        path: String,
    },
    /// Write a file.
    Write {
        /// Its path, below the workspace.
        path: String,
        /// Its new content.
        content: String,
    },
    /// Replace a text in a file.
    Edit {
        /// Its path, below the workspace.
        path: String,
        /// The text.
        old: String,
        /// What it becomes.
        new: String,
    },
    /// Change several files at once.
    Patch(Vec<Change>),
    /// Search in files.
    Search {
        /// A regular expression.
        pattern: String,
    },
    /// Ask the user.
    Ask(Vec<Question>),
    /// Put a plan before the user.
    Plan {
        /// The plan, in Markdown.
        text: String,
    },
    /// Write down what is to do.
    Todo(Vec<Todo>),
    /// Let a sub-agent do something.
    Delegate {
        /// Its name in the scenario.
        name: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: serde_json::Value,
    },
    /// Call a tool by its very name, whether or not there is one.
    Tool {
        /// The name.
        name: String,
        /// The arguments, as the text that is sent.
        arguments: String,
    },
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected { add, content }, { update, old, new } or { delete }")]
pub enum Change {
    /// A new file.
    Add {
        /// Its path.
        add: String,
        /// Its content.
        content: String,
    },
    /// A text in a file is replaced.
    Update {
        /// Its path.
        update: String,
        /// The text: whole lines.
        old: String,
        /// What it becomes: whole lines.
        new: String,
    },
    /// A file is removed.
    Delete {
        /// Its path.
        delete: String,
    },
}

/// A question for the user.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Question {
    /// The question.
    pub question: String,
    /// A word for it.
    pub header: String,
    /// What may be answered.
    pub options: Vec<String>,
    /// Whether several may be.
    #[serde(default)]
    pub several: bool,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Todo {
    /// What.
    pub task: String,
    /// How far it is.
    pub state: TodoState,
}

/// How far something to do is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

impl TodoState {
    /// The word that all agents have for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

impl Scenario {
    /// The sessions in it, in the order in which they begin.
    #[must_use]
    pub fn sessions(&self) -> Vec<&str> {
        let mut sessions = Vec::new();
        for turn in &self.turns {
            if !sessions.contains(&turn.session.as_str()) {
                sessions.push(turn.session.as_str());
            }
        }
        sessions
    }

    /// Whether the model does something that `wanted` says, anywhere in it.
    #[must_use]
    pub fn has(&self, wanted: impl Fn(&Step) -> bool) -> bool {
        let turns = self.turns.iter().flat_map(|turn| &turn.replies);
        let children = self.sub_agents.values().flat_map(|child| &child.replies);
        turns.chain(children).flatten().any(wanted)
    }
}

/// Whether a reply breaks off before it is whole, so that the agent may ask again.
pub(crate) fn breaks_off(reply: &Reply) -> bool {
    reply.iter().any(|step| matches!(step, Step::Refuse { .. } | Step::Fail { .. } | Step::Cut | Step::Stall(None)))
}

//! The parsed form of a scenario file.

mod answer;
mod check;
mod parse;
mod step;

use std::collections::BTreeMap;
use std::time::Duration;

pub use answer::{HostAction, HostAnswer, Trigger, TriggeredAction};
pub use parse::InvalidScenario;
use semver::{Version, VersionReq};

/// Session of the turns that name no other session.
pub const MAIN_SESSION: &str = "main";

/// A conversation between a user, a host, an agent and a model, written down in advance.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scenario {
    /// Name of the scenario: its file name without the extension.
    pub name: String,
    /// What the scenario shows, in one sentence.
    pub about: String,
    /// State of the agent and the workspace before the first turn.
    pub setup: Setup,
    /// Agents that cannot play the scenario.
    pub unsupported: Vec<UnsupportedAgent>,
    /// Turns in order.
    pub turns: Vec<Turn>,
    /// Sub-agents, by the name that a `delegate` step uses.
    pub sub_agents: BTreeMap<String, SubAgent>,
}

/// An agent that cannot play a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedAgent {
    /// Id of the agent.
    pub agent: String,
    /// The versions that cannot; `None` if none can.
    pub versions: Option<VersionReq>,
    /// Why not.
    pub reason: String,
}

impl Scenario {
    /// Why a version of an agent cannot play the scenario; `None` if it can.
    #[must_use]
    pub fn unsupported_reason(&self, agent: &str, version: &str) -> Option<&str> {
        let version = Version::parse(version).ok();
        let applies = |entry: &&UnsupportedAgent| {
            let has_version = |versions: &VersionReq| version.as_ref().is_some_and(|version| versions.matches(version));
            entry.agent == agent && entry.versions.as_ref().is_none_or(has_version)
        };
        self.unsupported.iter().find(applies).map(|entry| entry.reason.as_str())
    }
}

/// State of the agent and the workspace before a scenario starts.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "the switches are independent of each other in the file")]
#[non_exhaustive]
pub struct Setup {
    /// Whether the agent asks for permission before it acts.
    pub permissions: PermissionPolicy,
    /// Whether the agent starts in plan mode.
    pub plan_mode: bool,
    /// Whether the agent gets an MCP server (`tiny`, with the tools `add` and `fail`).
    pub mcp: bool,
    /// Whether the agent is configured with a model that prefers patches. Some agents then offer a different edit tool.
    pub patches: bool,
    /// Whether the model asks to run its commands outside of the agent's sandbox, if the agent has a parameter for
    /// that. An agent that runs sandboxed commands without asking requests permission only then.
    pub escalates: bool,
    /// Files in the workspace: path → content.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// Whether the agent asks for permission before it acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermissionPolicy {
    /// Everything is allowed.
    #[default]
    Allow,
    /// The agent asks.
    Ask,
}

/// One message of the user, and everything that follows from it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// The user's message. No other message of the scenario may contain it, because the model recognises the turn by
    /// it.
    pub prompt: String,
    /// Files attached to the message, as paths in the workspace.
    pub attachments: Vec<String>,
    /// Session in which the message is sent.
    pub session: String,
    /// Whether the agent is restarted and the session resumed before the message is sent.
    pub resume: bool,
    /// Whether the next turn starts before this one has ended.
    pub overlaps_next: bool,
    /// What the model answers: one reply per request.
    pub replies: Vec<ModelReply>,
    /// What the host answers, in the order in which the agent asks.
    pub answers: Vec<HostAnswer>,
    /// What the host does without being asked.
    pub actions: Vec<TriggeredAction>,
}

/// A sub-agent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SubAgent {
    /// The sub-agent's task. No other message of the scenario may contain it.
    pub task: String,
    /// What the model answers to the sub-agent.
    pub replies: Vec<ModelReply>,
}

/// The model's reply to one request: its steps in order.
pub type ModelReply = Vec<Step>;

/// One step of a model's reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Text of the assistant.
    Text(StreamedText),
    /// Reasoning ("thinking").
    Reasoning(StreamedText),
    /// A tool call.
    ToolCall(ToolAction),
    /// An HTTP error instead of a reply. It is the only step of its reply.
    HttpError {
        /// HTTP status.
        status: u16,
        /// Error message.
        message: String,
        /// Seconds after which the client may retry (`retry-after`).
        retry_after: Option<u64>,
        /// Number of requests that get this error.
        times: u32,
    },
    /// An error event in the stream, which ends it.
    StreamError {
        /// Error message.
        message: String,
    },
    /// The connection is reset.
    Disconnect,
    /// Nothing is sent for this long; `None`: nothing more is sent, for as long as the agent waits.
    Stall(Option<Duration>),
    /// Nothing is sent until the turn of this session has ended.
    WaitForTurn(String),
    /// The reply ends for another reason than being complete.
    Stop(StopReason),
}

/// Text that is streamed in chunks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StreamedText {
    /// Chunks in order.
    pub chunks: Vec<String>,
    /// Pause between two chunks.
    pub interval: Duration,
}

impl StreamedText {
    /// Splits a text into one chunk per word, without pauses.
    pub(crate) fn word_by_word(text: &str) -> Self {
        Self { chunks: text.split_inclusive(' ').map(str::to_owned).collect(), interval: Duration::ZERO }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        self.chunks.concat()
    }
}

/// Why a model stops before its reply is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The output limit is reached.
    Length,
    /// The model refuses to continue.
    Refusal,
}

/// What a tool call does. Which tool does it depends on the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolAction {
    /// Run a shell command.
    Run {
        /// The command.
        command: String,
    },
    /// Read a file.
    Read {
        /// Path relative to the workspace.
        path: String,
    },
    /// Write a file.
    Write {
        /// Path relative to the workspace.
        path: String,
        /// New content.
        content: String,
    },
    /// Replace a text in a file.
    Edit {
        /// Path relative to the workspace.
        path: String,
        /// Text to replace.
        old: String,
        /// Replacement.
        new: String,
    },
    /// Change several files at once.
    Patch(Vec<FileChange>),
    /// Search in files.
    Search {
        /// Regular expression.
        pattern: String,
    },
    /// Ask the user.
    Ask(Vec<Question>),
    /// Submit a plan for the user's approval.
    Plan {
        /// The plan, in Markdown.
        text: String,
    },
    /// Write a to-do list.
    Todo(Vec<Todo>),
    /// Start a sub-agent.
    Delegate {
        /// Name of the sub-agent in the scenario.
        name: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// Name of the server.
        server: String,
        /// Name of the tool.
        tool: String,
        /// Arguments.
        arguments: serde_json::Value,
    },
    /// Call a tool by its exact name, whether or not the agent offers it.
    Tool {
        /// Name of the tool.
        name: String,
        /// Arguments, as the text that is sent.
        arguments: String,
    },
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected { add, content }, { update, old, new } or { delete }")]
pub enum FileChange {
    /// Adds a file.
    Add {
        /// Path relative to the workspace.
        add: String,
        /// Content.
        content: String,
    },
    /// Replaces lines of a file.
    Update {
        /// Path relative to the workspace.
        update: String,
        /// Whole lines to replace.
        old: String,
        /// Replacement: whole lines.
        new: String,
    },
    /// Deletes a file.
    Delete {
        /// Path relative to the workspace.
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
    /// Short title.
    pub header: String,
    /// Options to choose from.
    pub options: Vec<String>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub several: bool,
}

/// An entry of a to-do list.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Todo {
    /// What to do.
    pub task: String,
    /// Its state.
    pub state: TodoState,
}

/// State of a to-do entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// Not started.
    Pending,
    /// Started.
    InProgress,
    /// Done.
    Completed,
}

impl TodoState {
    /// The name that all agents use for the state.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

impl Scenario {
    /// Names of its sessions, in the order of their first turns.
    #[must_use]
    pub fn session_names(&self) -> Vec<&str> {
        let mut sessions = Vec::new();
        for turn in &self.turns {
            if !sessions.contains(&turn.session.as_str()) {
                sessions.push(turn.session.as_str());
            }
        }
        sessions
    }

    /// Whether any reply, of a turn or of a sub-agent, has a step that matches the predicate.
    #[must_use]
    pub fn has_step(&self, predicate: impl Fn(&Step) -> bool) -> bool {
        let turns = self.turns.iter().flat_map(|turn| &turn.replies);
        let sub_agents = self.sub_agents.values().flat_map(|sub_agent| &sub_agent.replies);
        turns.chain(sub_agents).flatten().any(predicate)
    }
}

/// Whether a reply fails before it is complete, so that the agent may retry.
pub(crate) fn is_failing(reply: &ModelReply) -> bool {
    reply.iter().any(|step| {
        matches!(step, Step::HttpError { .. } | Step::StreamError { .. } | Step::Disconnect | Step::Stall(None))
    })
}

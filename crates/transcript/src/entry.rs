//! Entries of a transcript: what a person sees as one thing.

use interlingua_schema::{
    ErrorEvent, Permission, Question, Role, SessionEnded, SessionStarted, Timestamp, ToolInput, ToolKind, TurnEnded,
};

/// One entry of a transcript, complete.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Sequence of the event that began it.
    pub(crate) sequence: u64,
    pub(crate) time: Timestamp,
    pub(crate) body: EntryBody,
}

#[derive(Debug)]
pub(crate) enum EntryBody {
    SessionStarted(SessionStarted),
    SessionEnded(SessionEnded),
    TurnStarted,
    TurnEnded(TurnEnded),
    Message(MessageEntry),
    Tool(Box<ToolEntry>),
    /// The result of a tool call that was written before, because its turn ended.
    LateResult {
        title: String,
        result: ResultEntry,
    },
    Status(StatusEntry),
    Permission(Permission),
    Question(Question),
    Error(ErrorEvent),
    /// A payload that could not be understood, with the reason.
    Unparsed(String),
    /// An event of a type that this version does not know.
    Unknown(String),
}

/// A message, reasoning, or an item without a kind of its own.
#[derive(Debug)]
pub(crate) struct MessageEntry {
    pub(crate) role: Role,
    pub(crate) blocks: Vec<Block>,
    /// Whether the message was cut off.
    pub(crate) is_failed: bool,
    /// Whether the log ends before the message does.
    pub(crate) is_open: bool,
}

/// A piece of content.
#[derive(Debug)]
pub(crate) enum Block {
    Text(String),
    Reasoning(String),
    Json(String),
    Image { path: String, mime: Option<String> },
    File { path: String, diff: Option<String> },
}

/// A tool call with its result.
#[derive(Debug, Default)]
pub(crate) struct ToolEntry {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) arguments: String,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) input: Option<Box<ToolInput>>,
    pub(crate) result: Option<ResultEntry>,
    /// What the sub-agent did that the call started.
    pub(crate) children: Vec<Entry>,
}

impl ToolEntry {
    /// What the call does, in one line.
    pub(crate) fn headline(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// The kind of the tool, where the headline does not begin with a verb that says it.
    pub(crate) fn label(&self) -> Option<&str> {
        match &self.kind {
            Some(ToolKind::Mcp) => Some("mcp"),
            None | Some(ToolKind::Other | ToolKind::Unknown(_)) => Some("tool"),
            Some(kind) if self.title.is_none() => Some(kind_name(kind)),
            Some(_) => None,
        }
    }
}

/// The result of a tool call.
#[derive(Debug, Default)]
pub(crate) struct ResultEntry {
    pub(crate) output: String,
    pub(crate) exit_code: Option<i32>,
    pub(crate) duration_ms: Option<u64>,
    pub(crate) is_failed: bool,
    /// Files, images and texts beside the output.
    pub(crate) blocks: Vec<Block>,
}

/// A status item.
#[derive(Debug)]
pub(crate) struct StatusEntry {
    pub(crate) label: String,
    pub(crate) detail: Option<String>,
    /// The steps of a plan.
    pub(crate) steps: Vec<interlingua_schema::PlanStep>,
}

/// The kind of a tool for people.
fn kind_name(kind: &ToolKind) -> &str {
    match kind {
        ToolKind::Command => "command",
        ToolKind::FileChange => "edit",
        ToolKind::FileRead => "read",
        ToolKind::Search => "search",
        ToolKind::Mcp => "mcp",
        ToolKind::Web => "web",
        ToolKind::SubAgent => "sub-agent",
        ToolKind::Plan => "plan",
        ToolKind::Question => "question",
        ToolKind::Other | ToolKind::Unknown(_) => "tool",
    }
}

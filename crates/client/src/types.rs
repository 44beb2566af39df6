//! Request and response types.
//!
//! Where a caller may want to pass a response on, fields that this version does not know are kept in `other`.

mod agents;
mod history;
mod sessions;

use std::collections::BTreeMap;

use interlingua_schema::UniversalEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use agents::*;
pub use history::*;
pub use sessions::*;

/// The server is up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Health {
    /// Always `ok`.
    pub status: String,
    /// The server's version.
    pub version: String,
    /// The server's store: its `kind`, `sqlite` or `postgres`, and what the server says about other servers that share it.
    #[serde(default)]
    pub store: Map<String, Value>,
}

/// The server can take work.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Ready {
    /// Always `ready`.
    pub status: String,
    /// Time that a commit takes now, in milliseconds.
    pub store_lag_ms: u64,
    /// Free space on the disk of the data directory, in bytes.
    pub free_bytes: u64,
}

/// A message for an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MessageRequest {
    /// Id of the message, unique in its session. A message with an id can be sent again after a broken connection: it is
    /// queued once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The text.
    pub message: String,
    /// Attached files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachedFile>,
}

impl MessageRequest {
    /// A message without attachments.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { id: None, message: message.into(), attachments: Vec::new() }
    }

    /// Sets the id of the message.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// A message whose turn has not begun.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QueuedMessage {
    /// Id of the message: that of its [`MessageRequest`], or a generated one.
    pub id: String,
    /// The text.
    pub message: String,
    /// Attached files.
    pub attachments: Vec<AttachedFile>,
    /// Time at which it was queued, in milliseconds since 1970.
    pub created_at: i64,
}

/// The queue of a session.
#[derive(Debug, Deserialize)]
pub(crate) struct MessageList {
    pub(crate) messages: Vec<QueuedMessage>,
}

/// A file that is attached to a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct AttachedFile {
    /// Path on the server's machine, absolute or relative to the session's directory.
    pub path: String,
    /// Media type; guessed from the path if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// File name; the last part of the path if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}

impl AttachedFile {
    /// The file at this path.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), ..Self::default() }
    }
}

/// Options for streaming a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnQuery {
    /// Whether events include their native payload.
    pub include_raw: bool,
    /// Whether the stream stays open while the turn waits for an answer to a permission request or a question.
    pub hold: bool,
}

impl TurnQuery {
    /// Options that keep the stream open until the turn ends.
    #[must_use]
    pub fn held() -> Self {
        Self { hold: true, ..Self::default() }
    }
}

/// Which events of a session to read. The default is all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventQuery {
    /// Only events with a higher sequence.
    pub after: u64,
    /// Maximum number of events per page, 10,000 at most; all if `None`. Streams have no limit.
    pub limit: Option<u64>,
    /// Whether events include their native payload.
    pub include_raw: bool,
}

impl EventQuery {
    /// Events with a sequence higher than `after`.
    #[must_use]
    pub fn after(after: u64) -> Self {
        Self { after, ..Self::default() }
    }

    /// Sets the maximum number of events per page.
    #[must_use]
    pub fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Whether events include their native payload.
    #[must_use]
    pub fn include_raw(mut self, include_raw: bool) -> Self {
        self.include_raw = include_raw;
        self
    }
}

/// A page of a session's events.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct EventPage {
    /// The events, in the order of their sequence.
    pub events: Vec<UniversalEvent>,
    /// Whether the session had more events at the time of the request.
    pub has_more: bool,
}

/// The answer to a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PermissionAnswer {
    /// Yes, this time.
    Once,
    /// Yes, from now on.
    Always,
    /// No.
    Reject,
}

/// The format of an exported session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExportFormat {
    /// The events, one JSON object per line.
    JsonLines,
    /// A transcript in Markdown.
    Markdown,
    /// A transcript as one HTML file without scripts.
    Html,
}

impl ExportFormat {
    /// The value of the query parameter `format`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::JsonLines => "jsonl",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }
}

/// Whether a session follows the lifecycle rules.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CheckReport {
    /// Whether it follows all of them.
    pub valid: bool,
    /// Number of events that were checked.
    pub events: u64,
    /// Number of events by type.
    pub types: BTreeMap<String, u64>,
    /// Number of violations.
    pub violation_count: u64,
    /// The violations, at most 1000.
    pub violations: Vec<RuleViolation>,
}

/// A breach of a lifecycle rule.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct RuleViolation {
    /// The rule, such as `L5`; `None` if the event could not be read.
    pub rule: Option<String>,
    /// Sequence of the event that breaks the rule.
    pub sequence: u64,
    /// What was expected and what was found.
    pub message: String,
}

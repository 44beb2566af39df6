//! Request and response types.
//!
//! Where a caller may want to pass a response on, fields that this version does not know are kept in `other`.

use std::collections::BTreeMap;

use interlingua_schema::{UniversalEvent, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The server is up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Health {
    /// Always `ok`.
    pub status: String,
    /// The server's version.
    pub version: String,
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

/// The server's agents.
#[derive(Debug, Deserialize)]
pub(crate) struct AgentList {
    pub(crate) agents: Vec<AgentInfo>,
}

/// An agent and its installation on the server's machine.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentInfo {
    /// Agent id: `claude`, `codex`, `opencode`, `amp`, `mock`.
    pub id: String,
    /// Whether its program is installed.
    pub installed: bool,
    /// Whether the server's environment has credentials for the agent, or it needs none.
    pub credentials_available: bool,
    /// Installed version; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Path of the program; `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Capabilities: `planMode`, `permissions`, `questions` and so on.
    pub capabilities: BTreeMap<String, bool>,
    /// The process that its sessions share; `None` for agents with a process per session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_status: Option<SharedProcess>,
}

/// A process that the sessions of an agent share.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SharedProcess {
    /// Whether it runs.
    pub status: SharedProcessState,
    /// Address that it listens on; `None` if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Time since it started; `None` if it does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uptime_ms: Option<u64>,
    /// Number of restarts.
    pub restart_count: u64,
    /// Why it last failed; `None` if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// State of a [`SharedProcess`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SharedProcessState {
    /// It runs.
    Running,
    /// It was not needed yet, or was stopped.
    Stopped,
    /// It failed and could not be restarted.
    Error,
    /// A state that this version does not know.
    #[serde(untagged)]
    Unknown(String),
}

/// What to install. The default is the version that the server supports, unless the agent is installed already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InstallRequest {
    /// Whether to install the agent again if it is installed already.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reinstall: bool,
    /// Version to install; `None` for the version that the server supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The last installation of an agent since the server was started.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct InstallStatus {
    /// How far it is.
    pub state: InstallState,
    /// How far a running installation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<InstallProgress>,
    /// Why it failed; `None` if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// State of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum InstallState {
    /// There was none.
    None,
    /// It runs.
    Running,
    /// It has finished.
    Done,
    /// It has failed.
    Failed,
    /// A state that this version does not know.
    #[serde(untagged)]
    Unknown(String),
}

/// How far an installation is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct InstallProgress {
    /// Number of bytes on disk so far.
    pub bytes: u64,
}

/// The modes of an agent.
#[derive(Debug, Deserialize)]
pub(crate) struct ModeList {
    pub(crate) modes: Vec<ModeInfo>,
}

/// A mode that a session can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ModeInfo {
    /// Value for [`CreateSessionRequest::agent_mode`].
    pub id: String,
    /// Name for people.
    pub name: String,
    /// What the mode does.
    pub description: String,
}

/// The models that an agent's sessions can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AgentModels {
    /// The models.
    pub models: Vec<ModelInfo>,
    /// Model that is used when none is given; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Whether the agent is not installed and could not be asked: it may have other models.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback: bool,
}

/// A model that a session can be created with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelInfo {
    /// Value for [`CreateSessionRequest::model`].
    pub id: String,
    /// Name for people; `None` if it is the same as the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Values for [`CreateSessionRequest::variant`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// Variant that is used when none is given; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_variant: Option<String>,
}

/// A session to create.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateSessionRequest {
    /// Agent id: `claude`, `codex`, `opencode`, `amp`, `mock`.
    pub agent: String,
    /// The agent's mode: `build`, `plan`, `custom`, or one of [`crate::Client::modes`]; the agent's default if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_mode: Option<String>,
    /// What the agent may do without asking: `default`, `plan`, `bypass`, `acceptEdits`; `default` if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The model; the agent's default if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Variant of the model; the model's default if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The agent's version; the installed one if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// The agent's working directory on the server's machine; the server's working directory if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Labels, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Environment variables for the agent's process. The server keeps them in memory only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// MCP servers for the agent, by name: `{"command", "args", "env"}` or `{"type", "url", "headers"}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Value>,
    /// Milliseconds that a permission request or question waits for an answer before it is denied or rejected; the
    /// server's timeout if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_timeout_ms: Option<u64>,
}

impl CreateSessionRequest {
    /// A session with this agent and the agent's defaults.
    #[must_use]
    pub fn new(agent: impl Into<String>) -> Self {
        Self { agent: agent.into(), ..Self::default() }
    }
}

/// A session was created.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreatedSession {
    /// Always true.
    pub healthy: bool,
    /// The agent's own id of the session; `None` until it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_session_id: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionInfo {
    /// Session id.
    pub session_id: String,
    /// Agent id.
    pub agent: String,
    /// The agent's mode; `default` if the agent has not said which.
    #[serde(default)]
    pub agent_mode: String,
    /// What the agent may do without asking.
    pub permission_mode: Option<String>,
    /// The model; `default` if the agent has not said which.
    #[serde(default)]
    pub model: String,
    /// Variant of the model, if one was chosen.
    pub variant: Option<String>,
    /// The agent's own id of the session; `None` until it is known.
    pub native_session_id: Option<String>,
    /// What the session is doing.
    pub state: SessionState,
    /// Status of the last turn that ended: `completed`, `failed`, `interrupted`; `None` before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn_status: Option<String>,
    /// Permission requests and questions that wait for an answer, oldest first.
    #[serde(default)]
    pub pending: Vec<PendingRequest>,
    /// Number of messages whose turns have not begun.
    #[serde(default)]
    pub queued: u64,
    /// Total usage of all turns; `None` if the agent has reported none.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Labels, by name.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Names of the values that the session waits for in the state [`SessionState::NeedsSecrets`]; see
    /// [`crate::Client::set_secrets`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets_missing: Vec<String>,
    /// Whether the session has ended.
    pub ended: bool,
    /// Number of events, which is also the sequence of the last one.
    pub event_count: u64,
    /// Time of creation in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last change in milliseconds since 1970.
    pub updated_at: i64,
    /// The agent's working directory.
    pub directory: Option<String>,
    /// Title for people.
    pub title: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A permission request or question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct PendingRequest {
    /// `permission` or `question`.
    pub kind: String,
    /// The data of the event that made the request, with its `permission_id` or `question_id`.
    #[serde(flatten)]
    pub data: Map<String, Value>,
}

impl PendingRequest {
    /// Id for [`crate::Client::reply_permission`] or [`crate::Client::reply_question`].
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.data.get(&format!("{}_id", self.kind)).and_then(Value::as_str)
    }
}

/// Changes of a session. A field that is `None` does not change; `Some(None)` goes back to the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateSessionRequest {
    /// Title for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<String>>,
    /// Labels to set, or to remove where the value is `None`. Other labels stay.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, Option<String>>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Option<String>>,
    /// What the agent may do without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<Option<String>>,
}

/// What a session is doing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionState {
    /// Nothing runs and nothing is queued. The next message starts a turn.
    Idle,
    /// The agent works, or a message waits for its turn.
    Running,
    /// The agent waits for the answer to a permission request or a question.
    Waiting,
    /// Values that the session was created with were lost in a restart of the server. Messages wait for them.
    NeedsSecrets,
    /// The session has ended.
    Ended,
    /// A state that this version does not know.
    #[serde(untagged)]
    Unknown(String),
}

impl std::fmt::Display for SessionState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// Values that a session was created with. Names that are left out keep their values, or stay missing. `Debug` does not
/// show the values.
#[derive(Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SecretsRequest {
    /// Environment variables of the agent's process.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Values of MCP servers, by name: `{"env": {…}}` or `{"headers": {…}}`. The objects that the session was created with
    /// can be given too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Value>,
}

impl std::fmt::Debug for SecretsRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let servers = self.mcp.as_ref().and_then(Value::as_object).map(|servers| servers.keys().collect::<Vec<_>>());
        f.debug_struct("SecretsRequest")
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("mcp", &servers.unwrap_or_default())
            .finish()
    }
}

/// Which sessions to list. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionQuery {
    /// Only sessions with this agent.
    pub agent: Option<String>,
    /// Only sessions in this state, as `needs_secrets`.
    pub state: Option<String>,
    /// Only sessions with all of these labels: `NAME=VALUE`, or `NAME` for any value.
    pub labels: Vec<String>,
    /// Only sessions whose agent works in this directory.
    pub directory: Option<String>,
    /// Only sessions that have changed since: milliseconds since 1970, or a time such as `2026-01-31T08:00:00Z`.
    pub since: Option<String>,
    /// Only sessions whose id, title or directory contains this text.
    pub text: Option<String>,
    /// Maximum number of sessions per page, 10,000 at most; all if `None`.
    pub limit: Option<u64>,
    /// [`SessionPage::next_cursor`] of the previous page; `None` for the first page.
    pub cursor: Option<String>,
}

/// A page of sessions, newest first.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
    /// Value for [`SessionQuery::cursor`] to get the next page; `None` on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Number of sessions on all pages.
    #[serde(default)]
    pub total: u64,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
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

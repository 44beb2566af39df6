//! Sessions: creating, listing and changing them.

use std::collections::BTreeMap;

use interlingua_schema::Usage;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
    /// Skills for the agent: `{"sources": [{"type": "local", "source": "/path"}]}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Value>,
    /// Where the agent can run, if servers share the store: `any`, or the name of a server; where its files will be if
    /// `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
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
    /// Where the agent can run: `any`, or the name of a server; `None` unless servers share the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The server that owns the session now; `None` while it is idle, and unless servers share the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
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

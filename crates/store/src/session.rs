//! Sessions: everything that is stored about them except their events and messages.

use std::collections::BTreeMap;

use interlingua_schema::{NativeSessionId, RawJson, SessionId, Timestamp};

/// Maximum number of labels of a session.
pub const MAX_LABELS: usize = 64;

/// The store's own key of a session. It is cheap to copy and never reused, so a stale key of a deleted session does
/// not refer to a later session with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub(crate) i64);

/// A session to create. Only `id` and `agent` are required.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewSession {
    /// Session id, chosen by the client.
    pub id: SessionId,
    /// Id of the agent.
    pub agent: String,
    /// The agent's mode; `None` for the agent's default.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking; `None` for the agent's default.
    pub permission_mode: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    /// The requested variant of the model.
    pub variant: Option<String>,
    /// The agent's own id of the session, if it is known already.
    pub native_session_id: Option<NativeSessionId>,
    /// The agent's working directory.
    pub directory: Option<String>,
    /// Title for people.
    pub title: Option<String>,
    /// Labels, by name.
    pub labels: BTreeMap<String, String>,
    /// Whether the session was created with values that may be secret, which are not stored.
    pub has_secrets: bool,
    /// Other settings of the session, in a form that only the runtime understands. Never credentials.
    pub config: Option<RawJson>,
    /// When the session began, if it is older than the store's session; `None` for now.
    pub created_at: Option<Timestamp>,
    /// Where the agent can run, in a store that servers share: [`ANY_SERVER`], or the name of a server.
    pub placement: Option<String>,
    /// The shared home of the agents that the session's files are in, if servers share one.
    pub home: Option<String>,
}

/// The placement of a session that every server can run.
pub const ANY_SERVER: &str = "any";

impl NewSession {
    /// A session with this id and agent, without any options.
    #[must_use]
    pub fn new(id: impl Into<SessionId>, agent: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            agent: agent.into(),
            agent_mode: None,
            permission_mode: None,
            model: None,
            variant: None,
            native_session_id: None,
            directory: None,
            title: None,
            labels: BTreeMap::new(),
            has_secrets: false,
            config: None,
            created_at: None,
            placement: None,
            home: None,
        }
    }
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// The store's key of the session.
    pub key: SessionKey,
    /// Session id.
    pub id: SessionId,
    /// Id of the agent.
    pub agent: String,
    /// The agent's mode, if one was chosen.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking, if it was chosen.
    pub permission_mode: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    /// The requested variant of the model.
    pub variant: Option<String>,
    /// The agent's own id of the session; `None` until it is known.
    pub native_session_id: Option<NativeSessionId>,
    /// The agent's working directory.
    pub directory: Option<String>,
    /// Title for people.
    pub title: Option<String>,
    /// Labels, by name.
    pub labels: BTreeMap<String, String>,
    /// The model that the agent reported last.
    pub reported_model: Option<String>,
    /// The agent's mode that it reported last.
    pub reported_mode: Option<String>,
    /// Status of the last turn that ended: `completed`, `failed`, `interrupted`.
    pub last_turn_status: Option<String>,
    /// Total usage of all turns, as JSON; `None` if the agent has reported none.
    pub usage: Option<RawJson>,
    /// Requests that wait for an answer, as a JSON array of the events' data with their `kind`; `None` if there are none.
    pub pending: Option<RawJson>,
    /// Number of messages in the queue.
    pub queued: u64,
    /// Whether the session has ended.
    pub ended: bool,
    /// Whether the session is busy; see [`Append::busy`](crate::Append::busy).
    pub busy: bool,
    /// Number of events, which is also the sequence of the last one.
    pub event_count: u64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// [`NewSession::config`], as the session was created with.
    pub config: Option<RawJson>,
    /// [`NewSession::placement`].
    pub placement: Option<String>,
    /// The server that owns the session now, in a store that servers share.
    pub owner: Option<String>,
    /// Whether a server that runs has all values that may be secret in memory, in a store that servers share.
    pub has_secret_holder: bool,
}

/// Changes of what a session was created with. A field that is `None` does not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionChanges {
    /// The new title; `Some(None)` removes it.
    pub title: Option<Option<String>>,
    /// The new model; `Some(None)` is the agent's default.
    pub model: Option<Option<String>>,
    /// What the agent may do without asking.
    pub permission_mode: Option<String>,
    /// Labels to set, or to remove where the value is `None`. Other labels stay.
    pub labels: BTreeMap<String, Option<String>>,
}

impl SessionChanges {
    interlingua_schema::setters! {
        pub title: Option<Option<String>>,
        pub model: Option<Option<String>>,
        pub permission_mode: Option<String>,
        pub labels: BTreeMap<String, Option<String>>,
    }
}

/// What the runtime stores with a session. The store does not interpret it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredState {
    /// The state that was last given to [`Append::state`](crate::Append::state).
    pub state: Option<RawJson>,
}

/// A page of sessions, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Where the next page starts; `None` on the last page.
    pub next: Option<SessionKey>,
}

impl SessionKey {
    /// The key as a number, so that it can be part of a client's cursor.
    #[must_use]
    pub const fn to_number(self) -> i64 {
        self.0
    }

    /// The key from a client's cursor. The session need not exist.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }
}

/// Labels as they are stored; `None` if there are none.
pub(crate) fn encode_labels(labels: &BTreeMap<String, String>) -> Option<String> {
    if labels.is_empty() { None } else { serde_json::to_string(labels).ok() }
}

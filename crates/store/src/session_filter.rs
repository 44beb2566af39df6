//! Which sessions a list shows.

use std::collections::BTreeSet;

use interlingua_schema::Timestamp;
use serde::Serialize;

use crate::{Session, SessionKey};

/// Which sessions a list shows. The default shows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionFilter {
    /// Only sessions with one of these ids; all if empty.
    pub ids: Vec<String>,
    /// Only sessions with this agent.
    pub agent: Option<String>,
    /// Only sessions in this state.
    pub state: Option<StateFilter>,
    /// Only sessions with all of these labels: a name, and its value or any.
    pub labels: Vec<(String, Option<String>)>,
    /// Only sessions whose agent works in this directory.
    pub directory: Option<String>,
    /// Only sessions that have changed since.
    pub since: Option<Timestamp>,
    /// Only sessions whose id, title or directory contains this text, in upper or lower case.
    pub text: Option<String>,
}

/// What a session is doing, for a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateFilter {
    /// What the session is doing.
    pub state: SessionState,
    /// The sessions of which all values that may be secret are known. The others need them.
    pub complete: BTreeSet<SessionKey>,
}

impl StateFilter {
    /// Sessions in this state.
    #[must_use]
    pub fn new(state: SessionState, complete: BTreeSet<SessionKey>) -> Self {
        Self { state, complete }
    }
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionState {
    /// Nothing runs and nothing is queued. The next message starts a turn.
    Idle,
    /// The agent works, or a message waits for its turn.
    Running,
    /// The agent waits for the answer to a permission request or a question.
    Waiting,
    /// Values that the session was created with were lost in a restart of the server. Messages wait until a client has
    /// supplied them again.
    NeedsSecrets,
    /// The session has ended.
    Ended,
}

impl SessionState {
    /// All states.
    pub const ALL: [Self; 5] = [Self::Idle, Self::Running, Self::Waiting, Self::NeedsSecrets, Self::Ended];

    /// The name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::NeedsSecrets => "needs_secrets",
            Self::Ended => "ended",
        }
    }

    /// The state of a stored session. `misses_secrets` says whether values that may be secret are not known.
    #[must_use]
    pub fn from_session(session: &Session, misses_secrets: bool) -> Self {
        // The `STATE` of each database says the same in SQL.
        if session.ended {
            Self::Ended
        } else if misses_secrets {
            Self::NeedsSecrets
        } else if session.pending.is_some() {
            Self::Waiting
        } else if session.busy || session.queued > 0 {
            Self::Running
        } else {
            Self::Idle
        }
    }
}

impl SessionFilter {
    interlingua_schema::setters! {
        pub ids: Vec<String>,
        pub agent: Option<String>,
        pub state: Option<StateFilter>,
        pub labels: Vec<(String, Option<String>)>,
        pub directory: Option<String>,
        pub since: Option<Timestamp>,
        pub text: Option<String>,
    }

    /// Whether all sessions pass.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

//! Which sessions a list shows.

use std::collections::BTreeSet;

use interlingua_schema::Timestamp;
use rusqlite::types::Value;
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
    /// Only sessions whose id, title or directory contains this text; ASCII letters in either case.
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
        // `STATE` says the same in SQL.
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

/// The state of a session in SQL, as [`SessionState::from_session`]. Its parameter is a JSON array of the sessions of which all
/// values that may be secret are known.
const STATE: &str = "CASE \
    WHEN ended THEN 'ended' \
    WHEN has_secrets AND sessions.key NOT IN (SELECT value FROM json_each(?)) THEN 'needs_secrets' \
    WHEN EXISTS (SELECT 1 FROM pending_requests WHERE session = sessions.key) THEN 'waiting' \
    WHEN busy OR EXISTS (SELECT 1 FROM messages WHERE session = sessions.key AND state = 0) THEN 'running' \
    ELSE 'idle' END";

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

    /// The condition and its parameters.
    pub(crate) fn to_sql(&self) -> (String, Vec<Value>) {
        let mut conditions = vec!["true".to_owned()];
        let mut values = Vec::new();
        let mut require = |condition: &str, more: Vec<Value>| {
            conditions.push(condition.to_owned());
            values.extend(more);
        };
        if !self.ids.is_empty() {
            // A list of strings can always be encoded.
            let ids = serde_json::to_string(&self.ids).unwrap_or_default();
            require("id IN (SELECT value FROM json_each(?))", vec![ids.into()]);
        }
        if let Some(agent) = &self.agent {
            require("agent = ?", vec![agent.clone().into()]);
        }
        if let Some(directory) = &self.directory {
            require("directory = ?", vec![directory.clone().into()]);
        }
        if let Some(since) = self.since {
            require("updated_at >= ?", vec![since.as_millis().into()]);
        }
        if let Some(text) = &self.text {
            let text = format!("%{}%", escape_pattern(text));
            require(
                r"(id LIKE ? ESCAPE '\' OR title LIKE ? ESCAPE '\' OR directory LIKE ? ESCAPE '\')",
                vec![text.clone().into(), text.clone().into(), text.into()],
            );
        }
        for (name, value) in &self.labels {
            match value {
                Some(value) => require(
                    "EXISTS (SELECT 1 FROM json_each(labels) AS label WHERE label.key = ? AND label.value = ?)",
                    vec![name.clone().into(), value.clone().into()],
                ),
                None => require(
                    "EXISTS (SELECT 1 FROM json_each(labels) AS label WHERE label.key = ?)",
                    vec![name.clone().into()],
                ),
            }
        }
        if let Some(filter) = &self.state {
            let keys: Vec<String> = filter.complete.iter().map(|key| key.0.to_string()).collect();
            let keys = format!("[{}]", keys.join(","));
            require(&format!("{STATE} = ?"), vec![keys.into(), filter.state.name().to_owned().into()]);
        }
        (conditions.join(" AND "), values)
    }
}

/// Escapes a text for `LIKE`.
fn escape_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

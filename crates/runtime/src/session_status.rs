//! What a session is doing, for clients.

use interlingua_store::Session;
use serde::Serialize;

use crate::create::StoredConfig;
use crate::secrets::Secrets;

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionState {
    /// Nothing runs. The next message starts a turn.
    Idle,
    /// The agent works.
    Running,
    /// Values that the session was created with were lost in a restart of the server. Messages wait until a client has
    /// handed them in again.
    NeedsSecrets,
    /// The session has ended.
    Ended,
}

/// What a session is doing, and what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionStatus {
    /// What the session is doing.
    pub state: SessionState,
    /// Names of the values that the session waits for; empty if none is missing.
    pub secrets_missing: Vec<String>,
}

impl SessionStatus {
    /// The status of a stored session, of which these values are in memory.
    pub(crate) fn new(session: &Session, secrets: Option<&Secrets>) -> Self {
        if session.ended {
            return Self { state: SessionState::Ended, secrets_missing: Vec::new() };
        }
        let names = StoredConfig::decode(session).secret_names();
        let secrets_missing = secrets.unwrap_or(&Secrets::default()).missing(&names);
        let state = match (secrets_missing.is_empty(), session.busy) {
            (false, _) => SessionState::NeedsSecrets,
            (true, true) => SessionState::Running,
            (true, false) => SessionState::Idle,
        };
        Self { state, secrets_missing }
    }
}

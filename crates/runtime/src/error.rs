//! Errors of the runtime.

use interlingua_schema::SessionId;

use crate::driver::ServeError;

use crate::agents::InstallRemedy;

/// Why a request was refused or failed. Each variant is a problem kind of the HTTP API. Clients read the text; it never
/// contains a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The request is invalid, or a field of it cannot be honoured.
    #[error("{}", .0.detail)]
    InvalidRequest(InvalidRequest),
    /// There is no agent with this name.
    #[error("unknown agent `{agent}`; expected one of {}", known.join(", "))]
    UnsupportedAgent {
        /// The unknown name.
        agent: String,
        /// The known agents.
        known: Vec<&'static str>,
    },
    /// The agent has no such mode.
    #[error("{agent} has no {field} `{mode}`; expected one of {}", known.join(", "))]
    ModeNotSupported {
        /// The agent.
        agent: &'static str,
        /// The field: `agentMode` or `permissionMode`.
        field: &'static str,
        /// The unknown mode.
        mode: String,
        /// The agent's modes.
        known: Vec<String>,
    },
    /// The agent's program was not found.
    #[error("{agent} is not installed; {remedy}")]
    AgentNotInstalled {
        /// The agent.
        agent: &'static str,
        /// How to install it.
        remedy: InstallRemedy,
    },
    /// There is no session with this id.
    #[error("there is no session `{0}`")]
    SessionNotFound(SessionId),
    /// The agent never made this permission request.
    #[error("session `{session}` has no permission request `{id}`")]
    PermissionNotFound {
        /// The session.
        session: SessionId,
        /// The unknown id.
        id: String,
    },
    /// The agent never asked this question.
    #[error("session `{session}` has no question `{id}`")]
    QuestionNotFound {
        /// The session.
        session: SessionId,
        /// The unknown id.
        id: String,
    },
    /// A session with this id exists.
    #[error("session `{0}` already exists")]
    SessionAlreadyExists(SessionId),
    /// The session has ended.
    #[error("session `{0}` has ended")]
    SessionEnded(SessionId),
    /// The request was answered before, or the agent does not wait for an answer any more.
    #[error("`{id}` in session `{session}` is already resolved")]
    AlreadyResolved {
        /// The session.
        session: SessionId,
        /// Id of the permission request or question.
        id: String,
    },
    /// A message with this id exists, with another content.
    #[error("{detail}")]
    MessageConflict {
        /// The session.
        session: SessionId,
        /// What was expected and what was found.
        detail: String,
    },
    /// The session never had a message with this id.
    #[error("session `{session}` has no message `{id}`")]
    MessageNotFound {
        /// The session.
        session: SessionId,
        /// The unknown id.
        id: String,
    },
    /// The agent cannot change this now, or at all after the session has started.
    #[error("session `{session}` cannot be changed: {reason}")]
    ChangeRefused {
        /// The session.
        session: SessionId,
        /// Why, and when it can be changed.
        reason: String,
    },
    /// The agent could not be started, exited, or did not answer.
    #[error("{agent} is unavailable: {reason}")]
    AgentProcessExited {
        /// The agent.
        agent: &'static str,
        /// What happened.
        reason: String,
    },
    /// The agent could not be installed.
    #[error("cannot install {agent}: {reason}")]
    InstallFailed {
        /// The agent.
        agent: &'static str,
        /// What happened.
        reason: String,
    },
    /// The agent took too long.
    #[error("{0}")]
    Timeout(String),
    /// The runtime shuts down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// Another server owns the session and has to execute the command.
    #[error("server `{}` owns the session", .0.server)]
    OwnedByOther(interlingua_store::LeaseHolder),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] interlingua_store::StoreError),
}

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRequest {
    /// What was expected and what was found.
    pub detail: String,
    /// The field with the error, if it is one field.
    pub field: Option<&'static str>,
}

impl RuntimeError {
    pub(crate) fn message_id_taken(session: SessionId, id: impl std::fmt::Display) -> Self {
        let detail = format!("session `{session}` has another message with the id `{id}`: choose a new id");
        Self::MessageConflict { session, detail }
    }

    pub(crate) fn message_begun(session: SessionId) -> Self {
        let detail = "the turn of the message has begun: interrupt the turn to stop it".to_owned();
        Self::MessageConflict { session, detail }
    }

    /// An error about one field.
    pub(crate) fn field(field: &'static str, detail: impl Into<String>) -> Self {
        Self::InvalidRequest(InvalidRequest { detail: detail.into(), field: Some(field) })
    }
}

/// Why a driver refuses a session or a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The agent has no such mode.
    Mode {
        /// `agentMode` or `permissionMode`.
        field: &'static str,
        /// The unknown mode.
        mode: String,
        /// The agent's modes.
        known: Vec<String>,
    },
    /// Another field cannot be honoured.
    Field {
        /// The field.
        field: &'static str,
        /// What was expected and what was found.
        detail: String,
    },
}

impl Refusal {
    /// A field cannot be honoured, for the reason in `detail`.
    #[must_use]
    pub fn field(field: &'static str, detail: impl Into<String>) -> Self {
        Self::Field { field, detail: detail.into() }
    }

    /// The agent has no such mode. `field` is `agentMode` or `permissionMode`; `known` are the agent's modes.
    #[must_use]
    pub fn mode(field: &'static str, mode: impl Into<String>, known: &[&str]) -> Self {
        Self::Mode { field, mode: mode.into(), known: known.iter().map(|mode| (*mode).to_owned()).collect() }
    }

    pub(crate) fn into_runtime_error(self, agent: &'static str) -> RuntimeError {
        match self {
            Self::Mode { field, mode, known } => RuntimeError::ModeNotSupported { agent, field, mode, known },
            Self::Field { field, detail } => RuntimeError::field(field, detail),
        }
    }
}

/// The error of a request that an agent could not answer.
pub(crate) fn to_runtime_error(agent: &'static str, error: ServeError) -> RuntimeError {
    match error {
        ServeError::NotInstalled { agent, remedy } => RuntimeError::AgentNotInstalled { agent, remedy },
        ServeError::Unavailable(reason) | ServeError::Unauthorized(reason) | ServeError::SessionLost(reason) => {
            RuntimeError::AgentProcessExited { agent, reason }
        }
    }
}

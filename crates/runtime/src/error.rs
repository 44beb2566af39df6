//! Why something that was asked of the runtime is not done.

use interlingua_schema::SessionId;

/// Why a request was refused or failed. Each kind is a problem kind of the HTTP API; the text is what a client reads,
/// and never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The request cannot be honoured as it stands.
    #[error("{}", .0.detail)]
    InvalidRequest(InvalidRequest),
    /// There is no agent of that name.
    #[error("there is no agent `{agent}`: expected one of {}", known.join(", "))]
    UnsupportedAgent {
        /// The name that was given.
        agent: String,
        /// The agents there are.
        known: Vec<&'static str>,
    },
    /// The agent has no such mode.
    #[error("{agent} has no {field} `{mode}`: expected one of {}", known.join(", "))]
    ModeNotSupported {
        /// The agent.
        agent: &'static str,
        /// Which kind of mode: `agentMode` or `permissionMode`.
        field: &'static str,
        /// The mode that was given.
        mode: String,
        /// The modes there are.
        known: Vec<String>,
    },
    /// The agent's program is not there.
    #[error("{agent} is not installed: `{command}` installs it")]
    AgentNotInstalled {
        /// The agent.
        agent: &'static str,
        /// The command that installs it.
        command: String,
    },
    /// There is no session of that name.
    #[error("there is no session `{0}`")]
    SessionNotFound(SessionId),
    /// The agent never asked for this permission.
    #[error("session `{session}` has no permission request `{id}`")]
    PermissionNotFound {
        /// The session.
        session: SessionId,
        /// The id that was given.
        id: String,
    },
    /// The agent never asked this question.
    #[error("session `{session}` has no question `{id}`")]
    QuestionNotFound {
        /// The session.
        session: SessionId,
        /// The id that was given.
        id: String,
    },
    /// There is a session of that name.
    #[error("session `{0}` already exists")]
    SessionAlreadyExists(SessionId),
    /// The session is over.
    #[error("session `{0}` has ended")]
    SessionEnded(SessionId),
    /// Somebody answered before, or the agent no longer waits.
    #[error("`{id}` in session `{session}` is already resolved")]
    AlreadyResolved {
        /// The session.
        session: SessionId,
        /// The permission or question.
        id: String,
    },
    /// The agent could not be spoken to.
    #[error("{agent} cannot be reached: {reason}")]
    AgentProcessExited {
        /// The agent.
        agent: &'static str,
        /// What happened.
        reason: String,
    },
    /// The agent could not be installed.
    #[error("{agent} could not be installed: {reason}")]
    InstallFailed {
        /// The agent.
        agent: &'static str,
        /// What happened.
        reason: String,
    },
    /// It took too long.
    #[error("{0}")]
    Timeout(String),
    /// The runtime is being shut down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] interlingua_store::StoreError),
}

/// What is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRequest {
    /// What was expected and what was found.
    pub detail: String,
    /// The field it is about, if it is about one.
    pub field: Option<&'static str>,
}

impl RuntimeError {
    /// A field cannot be honoured, for this reason.
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
        /// The mode that was given.
        mode: String,
        /// The modes there are.
        known: Vec<String>,
    },
    /// Something else that was given cannot be honoured.
    Field {
        /// Which field.
        field: &'static str,
        /// What was expected and what was found.
        detail: String,
    },
}

impl Refusal {
    /// A field cannot be honoured, for this reason.
    #[must_use]
    pub fn field(field: &'static str, detail: impl Into<String>) -> Self {
        Self::Field { field, detail: detail.into() }
    }

    /// The agent has no such mode (`agentMode`) or permission mode (`permissionMode`), but these.
    #[must_use]
    pub fn mode(field: &'static str, mode: impl Into<String>, known: &[&str]) -> Self {
        Self::Mode { field, mode: mode.into(), known: known.iter().map(|mode| (*mode).to_owned()).collect() }
    }

    pub(crate) fn by(self, agent: &'static str) -> RuntimeError {
        match self {
            Self::Mode { field, mode, known } => RuntimeError::ModeNotSupported { agent, field, mode, known },
            Self::Field { field, detail } => RuntimeError::field(field, detail),
        }
    }
}

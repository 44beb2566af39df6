//! Start and end of a session.

use crate::{SessionMetadata, lenient, wire_enum, wire_struct};

wire_struct! {
    /// Data of `session.started`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct SessionStarted {
        /// The agent and what it reports about the session. Omitted only in streams of other producers.
        #[serde(deserialize_with = "lenient::deserialize_session_metadata")]
        pub metadata?: Option<Box<SessionMetadata>>,
    }
    /// A session start without metadata.
    new()
}

wire_enum! {
    /// Why a session ended.
    pub enum EndReason {
        /// The agent exited with code 0.
        Completed = "completed",
        /// The agent exited with another code, or was killed.
        Error = "error",
        /// A client of the Interlingua API ended it.
        Terminated = "terminated",
    } else Unknown
}

wire_enum! {
    /// Who ended a session.
    pub enum TerminatedBy {
        /// The agent exited.
        Agent = "agent",
        /// A client of the Interlingua API.
        Daemon = "daemon",
    } else Unknown
}

wire_struct! {
    /// Data of `session.ended`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct SessionEnded {
        /// Why the session ended.
        pub reason: EndReason,
        /// Who ended the session.
        pub terminated_by: TerminatedBy,
        /// Error message for a person. Omitted unless the reason is `error`.
        pub message?: Option<String>,
        /// Exit code of the agent; negative if a signal killed it. Omitted unless the reason is `error`, and if it is not
        /// known.
        pub exit_code?: Option<i32>,
        /// Standard error output of the agent. Omitted unless the reason is `error`, and if there was no output.
        pub stderr?: Option<StderrOutput>,
    }
}

impl SessionEnded {
    /// The agent exited with code 0.
    #[must_use]
    pub const fn completed() -> Self {
        Self::new(EndReason::Completed, TerminatedBy::Agent)
    }

    /// A client of the Interlingua API ended the session.
    #[must_use]
    pub const fn terminated() -> Self {
        Self::new(EndReason::Terminated, TerminatedBy::Daemon)
    }

    /// The agent exited with an error.
    #[must_use]
    pub fn error(message: impl Into<String>, exit_code: Option<i32>, stderr: Option<StderrOutput>) -> Self {
        Self { message: Some(message.into()), exit_code, stderr, ..Self::new(EndReason::Error, TerminatedBy::Agent) }
    }

    const fn new(reason: EndReason, terminated_by: TerminatedBy) -> Self {
        Self { reason, terminated_by, message: None, exit_code: None, stderr: None }
    }
}

wire_struct! {
    /// Standard error output of an agent. Up to 70 lines are kept completely; of more, the first 20 and the last 50.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct StderrOutput {
        /// The first 20 lines, or all lines if none are missing. Omitted if there are none.
        pub head?: Option<String>,
        /// The last 50 lines. Omitted if no lines are missing.
        pub tail?: Option<String>,
        /// Whether lines between `head` and `tail` are missing.
        pub truncated: bool,
        /// Total number of lines. Omitted if it is not known.
        pub total_lines?: Option<u64>,
    }
    /// Standard error output without lines. `truncated` says whether lines are missing.
    new(truncated: bool)
}

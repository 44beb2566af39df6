//! How a session begins and ends.

use crate::{SessionMetadata, lenient, wire_enum, wire_struct};

wire_struct! {
    /// Data of `session.started`.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct SessionStarted {
        /// Which agent it is, and what it says of itself. Left out only in streams from elsewhere.
        #[serde(deserialize_with = "lenient::session")]
        pub metadata?: Option<Box<SessionMetadata>>,
    }
    /// The start of a session of which nothing is known.
    new()
}

wire_enum! {
    /// Why a session ended.
    pub enum EndReason {
        /// The agent left with exit code 0.
        Completed = "completed",
        /// The agent left with another code, or was killed.
        Error = "error",
        /// Our own API ended it.
        Terminated = "terminated",
    } else Unknown
}

wire_enum! {
    /// Who ended a session.
    pub enum TerminatedBy {
        /// The agent, by leaving.
        Agent = "agent",
        /// Our own API.
        Daemon = "daemon",
    } else Unknown
}

wire_struct! {
    /// Data of `session.ended`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct SessionEnded {
        /// Why.
        pub reason: EndReason,
        /// By whom.
        pub terminated_by: TerminatedBy,
        /// What went wrong, for a person. Left out unless the reason is `error`.
        pub message?: Option<String>,
        /// The agent's exit code; a signal is a negative one. Left out unless the reason is `error`, and when it is not
        /// known.
        pub exit_code?: Option<i32>,
        /// What the agent wrote to its standard error. Left out unless the reason is `error`, and when it wrote nothing.
        pub stderr?: Option<StderrOutput>,
    }
}

impl SessionEnded {
    /// The agent left in good order.
    #[must_use]
    pub const fn completed() -> Self {
        Self::plain(EndReason::Completed, TerminatedBy::Agent)
    }

    /// Our own API ended the session.
    #[must_use]
    pub const fn terminated() -> Self {
        Self::plain(EndReason::Terminated, TerminatedBy::Daemon)
    }

    /// The agent failed.
    #[must_use]
    pub fn error(message: impl Into<String>, exit_code: Option<i32>, stderr: Option<StderrOutput>) -> Self {
        Self { message: Some(message.into()), exit_code, stderr, ..Self::plain(EndReason::Error, TerminatedBy::Agent) }
    }

    const fn plain(reason: EndReason, terminated_by: TerminatedBy) -> Self {
        Self { reason, terminated_by, message: None, exit_code: None, stderr: None }
    }
}

wire_struct! {
    /// An agent's standard error: all of it up to 70 lines, else the first 20 and the last 50.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct StderrOutput {
        /// The first 20 lines, or all of them when nothing was cut. Left out when there are none.
        pub head?: Option<String>,
        /// The last 50 lines. Left out when nothing was cut.
        pub tail?: Option<String>,
        /// Whether lines between head and tail are missing.
        pub truncated: bool,
        /// How many lines there were. Left out when nobody counted.
        pub total_lines?: Option<u64>,
    }
    /// Standard error from which lines are missing if `truncated`; what is kept of it is to be set.
    new(truncated: bool)
}

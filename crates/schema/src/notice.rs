//! What went wrong: errors, and payloads that could not be read.

use crate::{ErrorDetails, lenient, wire_enum, wire_struct};

wire_enum! {
    /// A stable name for a kind of failure.
    pub enum ErrorCode {
        /// Too many requests; trying later helps.
        RateLimited = "rate_limited",
        /// The model's provider has no capacity.
        Overloaded = "overloaded",
        /// No key, a wrong key, or one without the right.
        Auth = "auth",
        /// The provider or the agent refuses the request as it stands.
        InvalidRequest = "invalid_request",
        /// The conversation is too long for the model.
        ContextOverflow = "context_overflow",
        /// The network, or a server that cannot be reached.
        Connection = "connection",
        /// A limit that was set was reached: turns, budget, quota.
        Limit = "limit",
        /// The agent itself failed.
        AgentError = "agent_error",
    } else Unknown
}

wire_struct! {
    /// Data of `error`: a failure the user must know of.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct ErrorEvent {
        /// The agent's own words, without escape codes.
        pub message: String,
        /// What kind of failure it is; null only in streams from elsewhere.
        pub code: Option<ErrorCode>,
        /// What else the agent says about it; null when nothing.
        #[serde(default, deserialize_with = "lenient::error")]
        pub details: Option<Box<ErrorDetails>>,
    }
}

impl ErrorEvent {
    /// A failure of this kind, in the agent's words.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { message: message.into(), code: Some(code), details: None }
    }
}

wire_struct! {
    /// Data of `agent.unparsed`: a payload that did not fit what we know of the agent. The stream goes on.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct AgentUnparsed {
        /// What was expected and what was found.
        pub error: String,
        /// Who could not read it.
        pub location: String,
        /// SHA-256 of the payload's bytes, in lower-case hexadecimal.
        pub raw_hash: String,
        /// The payload's own type. Left out when it has none.
        pub native_type?: Option<String>,
    }
    /// A payload with this hash, and why it could not be read where.
    new(error: impl Into<String>, location: impl Into<String>, raw_hash: impl Into<String>)
}

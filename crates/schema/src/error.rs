//! Errors, and native payloads that could not be decoded.

use crate::{ErrorDetails, lenient, wire_enum, wire_struct};

wire_enum! {
    /// Stable code of a kind of failure.
    pub enum ErrorCode {
        /// Too many requests; a later retry helps.
        RateLimited = "rate_limited",
        /// The model's provider has no capacity.
        Overloaded = "overloaded",
        /// The API key is missing, wrong or not authorised.
        Auth = "auth",
        /// The provider or the agent rejected the request as invalid.
        InvalidRequest = "invalid_request",
        /// The conversation is too long for the model.
        ContextOverflow = "context_overflow",
        /// The network failed, or a server could not be reached.
        Connection = "connection",
        /// A configured limit was reached: turns, budget, quota.
        Limit = "limit",
        /// The agent itself failed.
        AgentError = "agent_error",
    } else Unknown
}

wire_struct! {
    /// Data of `error`: a failure that the user should see.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct ErrorEvent {
        /// The agent's message, without terminal escape codes.
        pub message: String,
        /// Code of the failure; null only in streams of other producers.
        pub code: Option<ErrorCode>,
        /// Details of the failure; null if there are none.
        #[serde(default, deserialize_with = "lenient::deserialize_error_details")]
        pub details: Option<Box<ErrorDetails>>,
    }
}

impl ErrorEvent {
    /// A failure with this code and message.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { message: message.into(), code: Some(code), details: None }
    }
}

wire_struct! {
    /// Data of `agent.unparsed`: a native payload that does not fit the agent's schema. The stream continues.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct AgentUnparsed {
        /// What was expected and what was found.
        pub error: String,
        /// The component that could not decode the payload.
        pub location: String,
        /// SHA-256 hash of the payload, in lower-case hexadecimal.
        pub raw_hash: String,
        /// Native type of the payload. Omitted if it has none.
        pub native_type?: Option<String>,
    }
    /// A payload with this hash that could not be decoded.
    new(error: impl Into<String>, location: impl Into<String>, raw_hash: impl Into<String>)
}

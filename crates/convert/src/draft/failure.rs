//! Draft of an error.

use interlingua_schema::{ErrorCode, ErrorDetails, RawJson};
use serde_json::Value;

/// An error that is reported to the user. The running turn ends `failed`, unless the agent reports another status.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) details: ErrorDetails,
    pub(crate) outside_turn: bool,
    /// Payload that the failure comes from, if that is not the payload that is being converted.
    pub(crate) raw: Option<RawJson>,
}

impl Failure {
    /// A failure with this code, and the agent's own message.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: ErrorDetails::default(), outside_turn: false, raw: None }
    }

    /// Sets the HTTP status that the agent received, if there is one.
    #[must_use]
    pub fn status(mut self, status: Option<u16>) -> Self {
        self.details.status = status;
        self
    }

    /// Sets the agent's own name for the failure, if it has one.
    #[must_use]
    pub fn kind(mut self, kind: Option<impl Into<String>>) -> Self {
        self.details.kind = kind.map(Into::into);
        self
    }

    /// Sets whether a retry may help, if the agent reports that.
    #[must_use]
    pub fn retryable(mut self, retryable: Option<bool>) -> Self {
        self.details.retryable = retryable;
        self
    }

    /// Sets everything else, in the agent's own format.
    #[must_use]
    pub fn native(mut self, native: Option<Value>) -> Self {
        self.details.native = native;
        self
    }

    /// Marks a failure that has nothing to do with the turn, such as a rejected request of the host. It does not fail
    /// the turn, and no prompt is shown before it.
    #[must_use]
    pub fn outside_turn(mut self) -> Self {
        self.outside_turn = true;
        self
    }

    /// Sets the payload that the failure comes from, from [`Drafts::raw`](crate::Drafts::raw), if that is not the
    /// payload that is being converted.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.raw = raw;
        self
    }
}

//! Why a request failed.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The base URL cannot be that of a server.
    #[error("{url:?} is not the address of a server: {reason}; expected an address such as http://127.0.0.1:2468")]
    InvalidBaseUrl {
        /// The base URL.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The token cannot be sent in a header.
    #[error("the token is empty, or has characters that no Authorization header can carry")]
    InvalidToken,
    /// An id would change the path of the request: `.` or `..`.
    #[error("`{id}` cannot be part of an address")]
    InvalidId {
        /// The id.
        id: String,
    },
    /// The server refused the request, or failed.
    #[error("{0}")]
    Problem(Box<ProblemDocument>),
    /// Nobody listens at the address.
    #[error("there is no server at {url} ({reason}); `interlingua server` starts one")]
    Connect {
        /// The address.
        url: String,
        /// Why the connection failed.
        reason: String,
    },
    /// The request was not answered, or the answer broke off.
    #[error("{url} cannot be reached: {reason}")]
    Transport {
        /// The address.
        url: String,
        /// What happened to the connection.
        reason: String,
    },
    /// The answer is none of this API. The base URL may be that of another server.
    #[error("{url} answered {status}, and not as this API does: {reason}; check the address of the server")]
    UnexpectedResponse {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What is unexpected.
        reason: String,
    },
    /// A stream of events ended before it was complete.
    #[error("the stream of events from {url} broke off: {reason}")]
    BrokenStream {
        /// The address.
        url: String,
        /// How it ended.
        reason: String,
    },
    /// A stream of events left events out.
    #[error("the stream of events from {url} goes on with event {found}, expected {expected}")]
    MissingEvents {
        /// The address.
        url: String,
        /// The sequence that should have come next.
        expected: u64,
        /// The sequence that came.
        found: u64,
    },
}

impl ClientError {
    pub(crate) fn from_reqwest(base: &str, error: &reqwest::Error) -> Self {
        let url = error.url().map_or_else(|| base.to_owned(), ToString::to_string);
        let reason = root_cause(error);
        if error.is_connect() {
            Self::Connect { url: base.to_owned(), reason }
        } else {
            Self::Transport { url, reason }
        }
    }

    /// The server's problem document, if the server answered with one.
    #[must_use]
    pub fn problem(&self) -> Option<&ProblemDocument> {
        match self {
            Self::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    /// Whether the same request may succeed later: the server was not reached, or failed on its own side.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Problem(problem) => problem.status >= 500,
            Self::UnexpectedResponse { status, .. } => *status >= 500,
            Self::Connect { .. } | Self::Transport { .. } | Self::BrokenStream { .. } => true,
            Self::InvalidBaseUrl { .. } | Self::InvalidToken | Self::InvalidId { .. } | Self::MissingEvents { .. } => {
                false
            }
        }
    }
}

/// The innermost error, which is the one that says what happened.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// A problem document (RFC 9457): how the server says what is wrong.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProblemDocument {
    /// The kind of problem as a URN: `urn:interlingua:error:session_not_found`. See [`ProblemDocument::kind`].
    #[serde(rename = "type")]
    pub type_urn: String,
    /// The kind in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was expected, what was found and what to do.
    pub detail: String,
    /// The agent it is about; `None` when it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session it is about; `None` when it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// More about it for a program to read, such as `field`; `None` when there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ProblemDocument {
    /// The kind of problem: `session_not_found`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.type_urn.rsplit(':').next().unwrap_or_default()
    }
}

impl fmt::Display for ProblemDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = if self.detail.is_empty() { &self.title } else { &self.detail };
        write!(f, "{detail} ({}, {})", self.kind(), self.status)
    }
}

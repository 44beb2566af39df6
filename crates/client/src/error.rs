//! Errors of the client, and problem documents.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The base URL is not a valid address of a server.
    #[error("invalid server address {url:?}: {reason}; expected an address such as http://127.0.0.1:2468")]
    InvalidBaseUrl {
        /// The base URL.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The token cannot be sent in a header.
    #[error("the token is empty or contains characters that cannot be sent in an Authorization header")]
    InvalidToken,
    /// An id would change the path of the request: `.` or `..`.
    #[error("`{id}` cannot be used as an id")]
    InvalidId {
        /// The id.
        id: String,
    },
    /// The server refused the request, or failed.
    #[error("{0}")]
    Problem(Box<ProblemDocument>),
    /// The connection to the server failed.
    #[error("cannot connect to the server at {url}: {reason}; start one with `interlingua server`")]
    Connect {
        /// The address.
        url: String,
        /// Why the connection failed.
        reason: String,
    },
    /// The request or its answer was interrupted.
    #[error("the request to {url} failed: {reason}")]
    Transport {
        /// The address.
        url: String,
        /// What happened to the connection.
        reason: String,
    },
    /// The answer does not match the API. The base URL may belong to another server.
    #[error("unexpected answer from {url} (status {status}): {reason}; check the address of the server")]
    UnexpectedResponse {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What is unexpected.
        reason: String,
    },
    /// An event stream ended before it was complete.
    #[error("the event stream from {url} was interrupted: {reason}")]
    BrokenStream {
        /// The address.
        url: String,
        /// Why it ended.
        reason: String,
    },
    /// An event stream has a gap.
    #[error("the event stream from {url} has a gap: expected sequence {expected}, found {found}")]
    MissingEvents {
        /// The address.
        url: String,
        /// The next sequence.
        expected: u64,
        /// The sequence that was received.
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

    /// Whether the same request may succeed later: the server could not be reached, or had an internal error.
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

/// Text of the innermost error, which is the specific one.
fn root_cause(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// A problem document (RFC 9457): the body of an HTTP error.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProblemDocument {
    /// Kind of the problem as a URN: `urn:interlingua:error:session_not_found`. See [`ProblemDocument::kind`].
    #[serde(rename = "type")]
    pub type_urn: String,
    /// Title of the kind, for people.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What was expected, what was found and what to do.
    pub detail: String,
    /// The agent concerned, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The session concerned, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Machine-readable details such as `field`, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl ProblemDocument {
    /// Kind of the problem, e.g. `session_not_found`.
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

//! One line of `codex app-server`, whatever it is.

use interlingua_native_runtime::{DecodeError, Decoded, Native};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::codex::{JsonrpcError, JsonrpcResponse, ServerNotificationEnvelope, ServerRequestEnvelope};

/// A line that `codex app-server` writes.
#[derive(Debug, Clone, PartialEq)]
pub enum CodexServerLine {
    /// Something has happened.
    Notification(ServerNotificationEnvelope),
    /// The server asks the host, which answers with the same id.
    Request(ServerRequestEnvelope),
    /// The answer to a request of the host. The type of the result depends on that request: see
    /// [`codex::Response`](crate::codex::Response).
    Response(JsonrpcResponse),
    /// The server refuses a request of the host.
    Error(JsonrpcError),
}

/// The keys that tell the kinds of lines apart.
#[derive(Deserialize)]
struct Keys {
    #[serde(default)]
    method: Option<IgnoredAny>,
    #[serde(default)]
    id: Option<IgnoredAny>,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

impl CodexServerLine {
    /// Decodes a line of any kind. A method of a later release is the `Unknown` variant of its union.
    ///
    /// # Errors
    /// If the line is not a JSON object, or does not fit its kind; see [`Native::decode`].
    pub fn decode(line: &str) -> Result<Decoded<Self>, DecodeError> {
        let keys: Keys =
            serde_json::from_str(line).map_err(|error| DecodeError::NotJson { reason: error.to_string() })?;
        match (keys.method, keys.id, keys.error) {
            (Some(_), None, _) => decode_as(line, Self::Notification),
            (Some(_), Some(_), _) => decode_as(line, Self::Request),
            (None, _, Some(_)) => decode_as(line, Self::Error),
            (None, _, None) => decode_as(line, Self::Response),
        }
    }
}

fn decode_as<T: Native>(
    line: &str,
    kind: impl FnOnce(T) -> CodexServerLine,
) -> Result<Decoded<CodexServerLine>, DecodeError> {
    Ok(T::decode(line)?.map(kind))
}

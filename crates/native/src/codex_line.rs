//! One line of `codex app-server`, whatever it is.

use std::fmt;

use interlingua_native_runtime::{DecodeError, Decoded, Native};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

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

/// The keys that tell the kinds of lines apart. Of a key that is there twice, the last counts, as in all generated types.
#[derive(Default)]
struct Keys {
    has_method: bool,
    has_id: bool,
    has_error: bool,
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeysVisitor;

        impl<'de> Visitor<'de> for KeysVisitor {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Keys::default();
                while let Some(key) = map.next_key::<String>()? {
                    // Null is like a key that is missing.
                    let is_present = map.next_value::<Option<IgnoredAny>>()?.is_some();
                    match key.as_str() {
                        "method" => keys.has_method = is_present,
                        "id" => keys.has_id = is_present,
                        "error" => keys.has_error = is_present,
                        _ => {}
                    }
                }
                Ok(keys)
            }
        }

        deserializer.deserialize_map(KeysVisitor)
    }
}

impl CodexServerLine {
    /// Decodes a line of any kind. A method of a later release is the `Unknown` variant of its union.
    ///
    /// # Errors
    /// If the line is not a JSON object, or does not fit its kind; see [`Native::decode`].
    pub fn decode(line: &str) -> Result<Decoded<Self>, DecodeError> {
        let keys: Keys =
            serde_json::from_str(line).map_err(|error| DecodeError::NotJson { reason: error.to_string() })?;
        match (keys.has_method, keys.has_id, keys.has_error) {
            (true, false, _) => decode_as(line, Self::Notification),
            (true, true, _) => decode_as(line, Self::Request),
            (false, _, true) => decode_as(line, Self::Error),
            (false, _, false) => decode_as(line, Self::Response),
        }
    }
}

fn decode_as<T: Native>(
    line: &str,
    kind: impl FnOnce(T) -> CodexServerLine,
) -> Result<Decoded<CodexServerLine>, DecodeError> {
    Ok(T::decode(line)?.map(kind))
}

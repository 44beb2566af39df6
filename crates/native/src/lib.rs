//! The wire protocols of the coding agents as Rust types.
//!
//! Each agent has its own JSON protocol, which its vendor describes with a schema and changes with every release. This
//! crate generates the types from these schemas at build time: one module per agent, each behind a feature of the same
//! name (all enabled by default). The types are forward compatible, so that payloads of a later release still decode:
//!
//! * A union is an enum with one variant per tag, and `Unknown` with the raw payload for any other tag.
//! * A string enum has `Unknown(String)` for any other value.
//! * Unknown fields are ignored, and missing fields are `None`. Only tags, a few ids and the fields without which a payload
//!   is meaningless (`needed` in `source.toml`) must be present.
//! * [`Native::decode`] removes parts that do not fit their type and keeps the rest of the payload. [`Decoded::losses`]
//!   lists what was removed or is missing, and every unknown tag and value.
//! * `Deserialize` is implemented as well. It is strict, and reads JSON only: text, or a `serde_json::Value`.
//!
//! A struct that is only received is `#[non_exhaustive]`, because a later release of its agent may add fields. A union is
//! not: a new variant of it is a breaking change of this crate, so that the compiler shows where it has to be handled.
//!
//! A field that has another name in Rust than in JSON has its JSON key in its documentation.
//!
//! ```
//! use interlingua_native::Native as _;
//! use interlingua_native::codex::ServerNotification;
//!
//! let line = r#"{"method":"turn/started","params":{"threadId":"t","turn":{"id":"1","items":[],"status":"inProgress"}}}"#;
//! let decoded = ServerNotification::decode(line)?;
//! assert!(matches!(decoded.value, ServerNotification::TurnStarted(_)));
//! # Ok::<(), interlingua_native::DecodeError>(())
//! ```
//!
//! # Sending
//!
//! Types that a host sends are constructed with [`new!`] from the fields that the schema requires. All other fields are
//! public and can be set afterwards. If a later schema renames a required field or requires another one, the code that
//! constructs the type does not compile.

pub use interlingua_native_runtime::{
    DecodeError, Decoded, HttpRequest, Json, LossList, Losses, MissingFields, Native, Repair, Request, Union,
    UnknownKind, UnknownPart, new,
};

#[cfg(feature = "acp")]
mod acp_error;
#[cfg(feature = "acp")]
mod acp_form;
#[cfg(feature = "acp")]
mod acp_login;
#[cfg(feature = "codex")]
mod codex_line;
#[cfg(feature = "acp")]
mod file_uri;

#[cfg(feature = "acp")]
pub use acp_form::FormQuestion;
#[cfg(feature = "codex")]
pub use codex_line::CodexServerLine;
#[cfg(feature = "acp")]
pub use file_uri::{file_uri, path_of_file_uri};

include!(concat!(env!("OUT_DIR"), "/agents.rs"));

/// Formats a request id: the digits of a number, or a string. A string has quotes only if it would read as a number
/// without them, because `7` and `"7"` are different ids.
///
/// The agent and the host number their requests independently, so ids of the two directions must be kept apart.
macro_rules! display_request_id {
    ($id:ty) => {
        impl std::fmt::Display for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    Self::Number(number) => number.fmt(f),
                    Self::Text(text) if text.parse::<i64>().is_ok() => write!(f, "\"{text}\""),
                    Self::Text(text) => f.write_str(text),
                    Self::Unknown(json) => f.write_str(json.get()),
                }
            }
        }
    };
}

#[cfg(feature = "acp")]
display_request_id!(acp::RequestId);
#[cfg(feature = "codex")]
display_request_id!(codex::RequestId);

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

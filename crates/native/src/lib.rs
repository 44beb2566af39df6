//! The native events of each coding agent, as Rust types that survive the agent's next release.
//!
//! One module per agent, each behind a feature of the same name (all on by default), generated at build time from the
//! schema the agent's vendor publishes. What every generated type promises:
//!
//! * A union is an enum with one variant per tag, and `Unknown` with the raw payload for a tag of a later release.
//! * A string enum has `Unknown(String)` for a value of a later release.
//! * Fields the schema does not know are ignored; fields that are missing are `None`. Only tags, a few ids and the
//!   fields that a payload's meaning needs (`needed` in `source.toml`) must be there.
//! * [`Native::decode`] reads strictly first. Where a part does not fit its type, that part is left out, and the rest of
//!   the event stands. [`Decoded::losses`] names what was left out or is missing, and every unknown tag and value.
//! * `Deserialize` is there, too. It reads strictly, and from JSON only: text, or a `serde_json::Value`.
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
//! Types that a host sends are constructed with [`new!`] from the fields that the schema requires. The others are public
//! fields, absent at first. A field that a later schema renames or begins to require is a compile error.

pub use interlingua_native_runtime::{
    DecodeError, Decoded, HttpRequest, Json, LossList, Losses, MissingFields, Native, Repair, Request, Union,
    UnknownKind, UnknownPart, new,
};

include!(concat!(env!("OUT_DIR"), "/agents.rs"));

/// The id as text, by which a request is known: the digits of a number, a string without quotes.
///
/// The agent and the host count for themselves, so ids of the two directions have to be kept apart.
#[cfg(feature = "codex")]
impl std::fmt::Display for codex::RequestId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Unknown(json) => f.write_str(json.get()),
        }
    }
}

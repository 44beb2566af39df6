//! The support library of Interlingua's generated native types.
//!
//! `interlingua-codegen` turns an agent's JSON Schema into Rust types, and the generated code calls this crate to read
//! and write them. Users get at it through `interlingua-native`, which re-exports everything that is documented here:
//!
//! * [`Native::decode`] reads one payload into a type and returns a [`Decoded`] value, or a [`DecodeError`].
//! * [`Losses`] names what a payload lost on the way: parts that were removed because they do not fit their type,
//!   expected fields that are missing, and tags and values that the schema does not list.
//! * [`Json`] is a value without a declared type, kept as the text that the agent sent.
//! * [`Request`] and [`HttpRequest`] say which answer belongs to a request that is sent.
//! * [`Union`] tells which variant of a generated union a value is.
//!
//! Decoding reads the text directly into the types, without a tree or buffered values between them. If that fails, the
//! payload is repaired: the part that does not fit is removed and the rest is read again, so that one wrong field costs
//! that field and not the payload.

#![allow(clippy::missing_errors_doc, reason = "what generated code calls fails when the text does not fit the type")]

mod adjacent;
mod decode;
mod error;
mod field;
#[doc(hidden)]
pub mod generated;
mod json;
mod kind;
mod losses;
mod object;
mod open_enum;
mod reader;
mod repair;
mod request;
mod tagged;

pub use crate::decode::{DecodeError, Decoded, Native, Union};
pub use crate::json::Json;
pub use crate::losses::{LossList, Losses, MissingFields, Repair, UnknownKind, UnknownPart};
pub use crate::request::{HttpRequest, Request};

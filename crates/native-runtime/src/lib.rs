//! Runtime support of Interlingua's generated native types.
//!
//! `interlingua-codegen` turns an agent's JSON Schema into Rust types. The generated code contains only declarations; it
//! calls this crate to decode and encode the types.
//!
//! Agents change faster than their schemas are refreshed, so decoding must not fail because of one field. It works in two
//! steps:
//!
//! 1. The text is decoded directly into the types, without an intermediate JSON tree.
//! 2. If that fails, the payload is *repaired*: the part that does not fit its type is removed, and the rest is decoded
//!    again. So one wrong field costs that field and not the payload.
//!
//! `interlingua-native` re-exports everything that is documented here:
//!
//! * [`Native::decode`] decodes one payload and returns a [`Decoded`] value, or a [`DecodeError`].
//! * [`Losses`] lists what was lost: parts that were removed because they do not fit their type, expected fields that are
//!   missing, and tags and values that the schema does not list.
//! * [`Json`] is a value without a declared type, kept as the text that the agent sent.
//! * [`Request`] and [`HttpRequest`] connect a request with the type of its response.
//! * [`Union`] gives the name of a union value's variant.

#![allow(clippy::missing_errors_doc, reason = "functions for generated code fail if the text does not fit the type")]

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

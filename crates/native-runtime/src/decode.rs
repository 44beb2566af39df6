//! Entry points of decoding: strict first, then a repair if that fails.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize as _, DeserializeOwned, Deserializer, Error as _};
use serde::ser::Serialize;
use serde_json::value::RawValue;

use crate::error::ReadResult;
use crate::field::Field;
use crate::losses::{Losses, clear_reports, take_losses};
use crate::reader::Reader;
use crate::repair::repair;

/// A type that an agent's payload decodes into.
pub trait Native: DeserializeOwned + Serialize {
    /// The tag keys of all unions in this module.
    #[doc(hidden)]
    const TAG_KEYS: &'static [&'static str];

    /// The tag keys of this type, in the order in which they are read.
    #[doc(hidden)]
    const OWN_TAG_KEYS: &'static [&'static str];

    /// Decodes one payload.
    ///
    /// Unknown tags and unknown enum values are not errors; [`LossList::unknown`] lists them. Unknown fields are skipped.
    /// If a known part does not fit its type or lacks a needed field, the nearest optional field or list element around
    /// it is removed, and [`LossList::repairs`] lists it.
    ///
    /// # Errors
    /// If the text is not JSON, or if a part does not fit and no optional part around it can be removed.
    ///
    /// [`LossList::unknown`]: crate::LossList::unknown
    /// [`LossList::repairs`]: crate::LossList::repairs
    fn decode(text: &str) -> Result<Decoded<Self>, DecodeError>;
}

/// Implements [`Native`] for types that are not generated. They can be the response to an HTTP request.
macro_rules! impl_native {
    ($($name:ty),*) => {
        $(impl Native for $name {
            const TAG_KEYS: &'static [&'static str] = &[];
            const OWN_TAG_KEYS: &'static [&'static str] = &[];

            fn decode(text: &str) -> Result<Decoded<Self>, DecodeError> {
                decode(text)
            }
        })*
    };
}

impl_native!(bool, String, crate::Json);

impl<T: Native + Field> Native for Vec<T> {
    const TAG_KEYS: &'static [&'static str] = T::TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];

    fn decode(text: &str) -> Result<Decoded<Self>, DecodeError> {
        decode(text)
    }
}

impl<T: Native + Field> Native for BTreeMap<String, T> {
    const TAG_KEYS: &'static [&'static str] = T::TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];

    fn decode(text: &str) -> Result<Decoded<Self>, DecodeError> {
        decode(text)
    }
}

/// A response without content. Any content is ignored.
impl Native for () {
    const TAG_KEYS: &'static [&'static str] = &[];
    const OWN_TAG_KEYS: &'static [&'static str] = &[];

    fn decode(_: &str) -> Result<Decoded<Self>, DecodeError> {
        Ok(Decoded { value: (), losses: Losses::default() })
    }
}

/// A generated union: its tags, and the variant of a value.
pub trait Union: Sized {
    /// Each tag with the name of its variant.
    const TAGS: &'static [(&'static str, &'static str)];

    /// The name of this value's variant; `Unknown` for a tag that is not in [`Self::TAGS`].
    fn variant(&self) -> &'static str;
}

/// A decoded payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded<T> {
    /// The typed value.
    pub value: T,
    /// What was lost in decoding; empty for nearly every payload.
    pub losses: Losses,
}

impl<T> Decoded<T> {
    /// Sets the tag of a response, which has no tag in the payload, to the method of its request.
    #[doc(hidden)]
    #[must_use]
    pub fn with_request(mut self, request: &str) -> Self {
        self.losses.set_tag(request);
        self
    }

    /// Maps the value and keeps the losses.
    pub fn map<U>(self, wrap: impl FnOnce(T) -> U) -> Decoded<U> {
        Decoded { value: wrap(self.value), losses: self.losses }
    }
}

/// Why a payload could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// The text is not one JSON value.
    NotJson {
        /// The parser's message.
        reason: String,
    },
    /// The text is JSON that does not fit the type.
    Mismatch {
        /// The payload's tag; empty if it has none.
        tag: String,
        /// Path of the part that does not fit; `.` is the payload itself.
        path: String,
        /// Why the part does not fit.
        reason: String,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson { reason } => write!(f, "not JSON: {reason}"),
            Self::Mismatch { tag, path, reason } if tag.is_empty() => {
                write!(f, "unknown payload, at {path}: {reason}")
            }
            Self::Mismatch { tag, path, reason } => write!(f, "`{tag}` does not fit its type at {path}: {reason}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Decodes `text`; see [`Native::decode`].
pub fn decode<T: Native + Field>(text: &str) -> Result<Decoded<T>, DecodeError> {
    clear_reports();
    let mut place = None;
    // The value may be large, so it is moved as rarely as possible.
    if read_text(&mut place, text).is_ok()
        && let Some(value) = place
    {
        let losses = take_losses(Vec::new(), text, <[String]>::to_vec, || find_tag(text, T::OWN_TAG_KEYS));
        return Ok(Decoded { value, losses });
    }
    repair(text)
}

/// Reads the one value of a text into its final place.
pub(crate) fn read_text<T: Field>(place: &mut Option<T>, text: &str) -> ReadResult<()> {
    let mut reader = Reader::new(text);
    T::read_into(place, &mut reader)?;
    reader.finish()
}

/// Decodes a value through serde. The deserializer must be a JSON deserializer.
pub fn deserialize<'de, T: Field, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    let value = T::read(&mut Reader::new(text.get())).map_err(D::Error::custom);
    // Serde cannot return losses.
    clear_reports();
    value
}

/// The tag of a decoded payload: the values of `keys`, joined by `/`.
#[cold]
fn find_tag(text: &str, keys: &[&str]) -> String {
    let mut tag = String::new();
    for value in keys.iter().filter_map(|key| find_string(text, key)) {
        if !tag.is_empty() {
            tag.push('/');
        }
        tag.push_str(&value);
    }
    tag
}

/// The string under `key` of the object in `text`.
fn find_string<'a>(text: &'a str, key: &str) -> Option<Cow<'a, str>> {
    let mut reader = Reader::new(text);
    let mut members = reader.enter_object().ok()?;
    while members.next_key(&mut reader).ok()?? != key {
        reader.skip().ok()?;
    }
    reader.read_string().ok()
}

/// Implements serde's `Deserialize` with [`Field`](crate::generated::Field).
#[doc(hidden)]
#[macro_export]
macro_rules! impl_deserialize {
    ($name:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::generated::deserialize(deserializer)
            }
        }
    };
}

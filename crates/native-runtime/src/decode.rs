//! The entry points of decoding: strict first, and a repair if that fails.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize as _, DeserializeOwned, Deserializer, Error as _};
use serde::ser::Serialize;
use serde_json::value::RawValue;

use crate::error::ReadResult;
use crate::field::Field;
use crate::losses::{Losses, forget_noted, take_noted};
use crate::reader::Reader;
use crate::repair::repair;

/// A type that an agent's payload decodes into.
pub trait Native: DeserializeOwned + Serialize {
    /// The tag keys of all unions in this module.
    #[doc(hidden)]
    const TAG_KEYS: &'static [&'static str];

    /// The tag keys of this type itself, in the order in which they are read.
    #[doc(hidden)]
    const OWN_TAG_KEYS: &'static [&'static str];

    /// Decodes one payload.
    ///
    /// Unknown tags and unknown enum values are no failure; [`LossList::unknown`] names them. Unknown fields are
    /// skipped. If a known part does not fit its declared type or lacks a field that its meaning needs, the nearest
    /// optional field or list element around it is removed, and [`LossList::repairs`] names it.
    ///
    /// # Errors
    /// When the text is not JSON, or no optional part is left to remove.
    ///
    /// [`LossList::unknown`]: crate::LossList::unknown
    /// [`LossList::repairs`]: crate::LossList::repairs
    fn decode(text: &str) -> Result<Decoded<Self>, DecodeError>;
}

/// Implements [`Native`] for types that are no part of a schema, such as the whole answer to an HTTP request.
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

/// No content. Whatever there is instead is ignored.
impl Native for () {
    const TAG_KEYS: &'static [&'static str] = &[];
    const OWN_TAG_KEYS: &'static [&'static str] = &[];

    fn decode(_: &str) -> Result<Decoded<Self>, DecodeError> {
        Ok(Decoded { value: (), losses: Losses::default() })
    }
}

/// A generated union: the tags that it knows, and the variant of a value.
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
    /// What the payload lost in decoding; empty for nearly every payload.
    pub losses: Losses,
}

impl<T> Decoded<T> {
    /// Sets the tag of a payload that has none of its own to the request that it answers.
    #[doc(hidden)]
    #[must_use]
    pub fn with_request(mut self, request: &str) -> Self {
        self.losses.set_tag(request);
        self
    }

    /// Wraps the value into another type and keeps the losses.
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
        /// The payload's tag, empty if it has none.
        tag: String,
        /// The path of the part that does not fit; `.` is the payload itself.
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
                write!(f, "no known payload, at {path}: {reason}")
            }
            Self::Mismatch { tag, path, reason } => write!(f, "`{tag}` does not fit its type at {path}: {reason}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Decodes `text`; see [`Native::decode`].
pub fn decode<T: Native + Field>(text: &str) -> Result<Decoded<T>, DecodeError> {
    forget_noted();
    let mut place = None;
    // The value may be wide, so it is moved as rarely as possible.
    if read_text(&mut place, text).is_ok()
        && let Some(value) = place
    {
        let losses = take_noted(Vec::new(), text, <[String]>::to_vec, || find_tag(text, T::OWN_TAG_KEYS));
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

/// Reads a value through serde. The deserializer has to be one of JSON.
pub fn deserialize<'de, T: Field, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    let value = T::read(&mut Reader::new(text.get())).map_err(D::Error::custom);
    // Serde has no place for losses.
    forget_noted();
    value
}

/// The tag of a payload that has been read: the values of `keys`, joined by `/`.
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

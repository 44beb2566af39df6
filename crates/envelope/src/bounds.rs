//! The size limits of an event, and what happens to values that exceed them.
//!
//! All limits count bytes of UTF-8. Texts are cut only between characters.
//!
//! Each limit has a private type that only this module can construct: `Piece` for `text`, `Channel`, `Message`, `Data` and
//! `FinalText`. Events consist of these types, so an event that exceeds a limit cannot be constructed.

use std::borrow::Cow;
use std::sync::Arc;

use interlingua_schema::wire::WriteJson;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum size of an event's `channel`. A longer one is omitted.
pub const MAX_CHANNEL_BYTES: usize = 128;
/// Maximum size of an event's `text`. A longer one is split into several events.
pub const MAX_TEXT_BYTES: usize = 65_536;
/// Maximum size of an event's `message`. A longer one is truncated and ends with [`TRUNCATION_SUFFIX`].
pub const MAX_MESSAGE_BYTES: usize = 4096;
/// Maximum size of the `data` of an event or a completion, as compact JSON. Larger data is replaced by
/// [`OVERSIZE_DATA`].
pub const MAX_DATA_BYTES: usize = 65_536;
/// Maximum size of a completion's `final_text`. A longer one is truncated like a `message`.
pub const MAX_FINAL_TEXT_BYTES: usize = MAX_TEXT_BYTES;
/// Suffix of a truncated text.
pub const TRUNCATION_SUFFIX: &str = "…(truncated)";
/// Initial capacity of the buffer for data. Nearly all data fits into it.
pub(crate) const DATA_CAPACITY: usize = 448;
/// Replacement for data that is too large.
pub const OVERSIZE_DATA: &str = r#"{"dropped":{"reason":"oversize"}}"#;

/// An event's `channel`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel(Cow<'static, str>);

impl Channel {
    /// The channel with this name; `None` if the name is too long.
    pub(crate) fn new(name: impl Into<Cow<'static, str>>) -> Option<Self> {
        let name = name.into();
        (name.len() <= MAX_CHANNEL_BYTES).then_some(Self(name))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that fits into one event: a whole text, or a piece of a longer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'a>(&'a str);

impl<'a> Piece<'a> {
    /// The text as one piece; `None` if it is too long.
    pub(crate) fn new(text: &'a str) -> Option<Self> {
        (text.len() <= MAX_TEXT_BYTES).then_some(Self(text))
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }
}

/// Splits a text into pieces, in order. Joined, they are the text. An empty text has no pieces.
#[derive(Debug, Clone)]
pub(crate) struct Pieces<'a>(&'a str);

impl<'a> Pieces<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self(text)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (piece, rest) = self.0.split_at(prefix(self.0, MAX_TEXT_BYTES).len());
        self.0 = rest;
        (!piece.is_empty()).then_some(Piece(piece))
    }
}

/// An event's `message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message(Cow<'static, str>);

impl Message {
    /// A fixed message.
    pub(crate) fn fixed(message: &'static str) -> Self {
        Self(prefix(message, MAX_MESSAGE_BYTES).into())
    }

    /// A message from outside, truncated if it is too long.
    pub(crate) fn new(message: &str) -> Self {
        Self(Cow::Owned(truncate(message, MAX_MESSAGE_BYTES)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A completion's `final_text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FinalText(String);

impl<'de> Deserialize<'de> for FinalText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer).map(|text| Self::new(&text))
    }
}

impl WriteJson for FinalText {
    fn write_json(&self, out: &mut Vec<u8>) {
        self.0.write_json(out);
    }
}

impl FinalText {
    /// The text, truncated if it is too long.
    pub(crate) fn new(text: &str) -> Self {
        Self(truncate(text, MAX_FINAL_TEXT_BYTES))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text if it fits, else its beginning with [`TRUNCATION_SUFFIX`]. Copies only the part that is kept.
fn truncate(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes { text.to_owned() } else { cut(text, max_bytes) }
}

/// The beginning of a text that is too long, with [`TRUNCATION_SUFFIX`]. If the suffix does not fit either, the result is
/// an ellipsis, or empty if that does not fit.
fn cut(text: &str, max_bytes: usize) -> String {
    if max_bytes > TRUNCATION_SUFFIX.len() {
        let kept = prefix(text, max_bytes - TRUNCATION_SUFFIX.len());
        format!("{kept}{TRUNCATION_SUFFIX}")
    } else {
        prefix("…", max_bytes).to_owned()
    }
}

/// The longest prefix of whole characters with at most `max_bytes` bytes.
fn prefix(text: &str, max_bytes: usize) -> &str {
    let mut end = max_bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The `data` of an event or a completion. It is stored as compact JSON, because its limit is in bytes of compact JSON.
#[derive(Debug, Clone)]
pub(crate) struct Data(Bytes);

#[derive(Debug, Clone)]
enum Bytes {
    Owned(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Data {
    /// A value, or [`OVERSIZE_DATA`] if it is too large.
    pub(crate) fn new(value: &Value) -> Self {
        Self::from_json(value.to_string().into_bytes())
    }

    /// Compact JSON, or [`OVERSIZE_DATA`] if it is too large.
    pub(crate) fn from_json(json: Vec<u8>) -> Self {
        Self(Bytes::Owned(if json.len() <= MAX_DATA_BYTES { json } else { OVERSIZE_DATA.as_bytes().to_vec() }))
    }

    /// The same data, cheap to clone.
    pub(crate) fn into_shared(self) -> Self {
        match self.0 {
            Bytes::Owned(json) => Self(Bytes::Shared(json.into())),
            Bytes::Shared(_) => self,
        }
    }

    /// The JSON text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Owned(json) => json,
            Bytes::Shared(json) => json,
        }
    }

    /// Parses the JSON text.
    pub(crate) fn to_value(&self) -> Value {
        serde_json::from_slice(self.as_bytes()).unwrap_or_default()
    }
}

/// Compares the values, so that the order of keys does not matter.
impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes() || self.to_value() == other.to_value()
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_slice::<&RawValue>(self.as_bytes()).map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::new(&value))
    }
}

impl WriteJson for Data {
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_small_for_the_suffix_leaves_an_ellipsis_or_nothing() {
        for (max_bytes, expected) in [(14, "…"), (4, "…"), (3, "…"), (2, ""), (0, "")] {
            assert_eq!(cut(&"x".repeat(40), max_bytes), expected, "{max_bytes}");
        }
        assert_eq!(TRUNCATION_SUFFIX.len(), 14);
        assert_eq!(cut(&"x".repeat(40), 15), "x…(truncated)");
        assert_eq!(cut(&"é".repeat(40), 17), "é…(truncated)");
        assert_eq!(cut(&"é".repeat(40), 15), "…(truncated)");
    }
}

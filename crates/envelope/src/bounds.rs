//! The limits of an event, and what becomes of that which exceeds them. All of them count bytes of UTF-8, and nothing
//! is cut but between two characters.
//!
//! Each limit is a type that only this module can fill: [`Piece`] for `text`, [`Channel`], [`Message`], [`Data`] and
//! [`FinalText`]. Events are made of these, so one that exceeds a limit cannot be made.

use std::borrow::Cow;
use std::sync::Arc;

use interlingua_schema::wire::WriteJson;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;

/// The most bytes of an event's `channel`; a longer one is left out.
pub const MAX_CHANNEL_BYTES: usize = 128;
/// The most bytes of an event's `text`; a longer one is split into several events.
pub const MAX_TEXT_BYTES: usize = 65_536;
/// The most bytes of an event's `message`; a longer one is cut, and [`TRUNCATION_SUFFIX`] tells of it.
pub const MAX_MESSAGE_BYTES: usize = 4096;
/// The most bytes of `data` as compact JSON, of an event and of a completion; larger data gives way to [`OVERSIZE_DATA`].
pub const MAX_DATA_BYTES: usize = 65_536;
/// The most bytes of a completion's `final_text`; a longer one is cut as a `message` is.
pub const MAX_FINAL_TEXT_BYTES: usize = MAX_TEXT_BYTES;
/// The end of a text that was cut.
pub const TRUNCATION_SUFFIX: &str = "…(truncated)";
/// The room that is made for data before it is written. Nearly all of it fits.
pub(crate) const DATA_CAPACITY: usize = 448;
/// What stands in for data that is too large.
pub const OVERSIZE_DATA: &str = r#"{"dropped":{"reason":"oversize"}}"#;

/// An event's `channel`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Channel(Cow<'static, str>);

impl Channel {
    /// The channel of this name; none where the name is too long.
    pub(crate) fn new(name: impl Into<Cow<'static, str>>) -> Option<Self> {
        let name = name.into();
        (name.len() <= MAX_CHANNEL_BYTES).then_some(Self(name))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// An event's `text`, or one piece of a text that is too long for one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece<'a>(&'a str);

impl<'a> Piece<'a> {
    /// The text as one piece, if it is short enough.
    pub(crate) fn whole(text: &'a str) -> Option<Self> {
        (text.len() <= MAX_TEXT_BYTES).then_some(Self(text))
    }

    pub(crate) fn as_str(self) -> &'a str {
        self.0
    }
}

/// A text in pieces, in order; joined, they are the text again. An empty text has none.
#[derive(Debug, Clone)]
pub(crate) struct Pieces<'a>(&'a str);

impl<'a> Pieces<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self(text)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (piece, rest) = self.0.split_at(head(self.0, MAX_TEXT_BYTES).len());
        self.0 = rest;
        (!piece.is_empty()).then_some(Piece(piece))
    }
}

/// An event's `message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message(Cow<'static, str>);

impl Message {
    /// A message of ours, which is short.
    pub(crate) fn fixed(message: &'static str) -> Self {
        Self(head(message, MAX_MESSAGE_BYTES).into())
    }

    /// A message from elsewhere, cut where it is too long.
    pub(crate) fn new(message: &str) -> Self {
        Self(Cow::Owned(bounded(message, MAX_MESSAGE_BYTES)))
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
    /// The text, cut where it is too long.
    pub(crate) fn new(text: &str) -> Self {
        Self(bounded(text, MAX_FINAL_TEXT_BYTES))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text if it fits, else as much of it as leaves room for [`TRUNCATION_SUFFIX`]. No more is copied than is kept.
fn bounded(text: &str, bound: usize) -> String {
    if text.len() <= bound { text.to_owned() } else { cut(text, bound) }
}

/// The beginning of a text that is longer than the bound, with a mark that it was cut. Where not even the mark fits
/// there is but an ellipsis, or as much of it as the bound allows.
fn cut(text: &str, bound: usize) -> String {
    if bound > TRUNCATION_SUFFIX.len() {
        let kept = head(text, bound - TRUNCATION_SUFFIX.len());
        format!("{kept}{TRUNCATION_SUFFIX}")
    } else {
        head("…", bound).to_owned()
    }
}

/// As many whole characters of a text as fit into so many bytes.
fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The `data` of an event or a completion. Its size is that of compact JSON, so that is how it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Data(Json);

#[derive(Debug, Clone)]
enum Json {
    Own(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Data {
    /// A value, or [`OVERSIZE_DATA`] where that is too large.
    pub(crate) fn new(value: &Value) -> Self {
        Self::written(value.to_string().into_bytes())
    }

    /// Compact JSON, or [`OVERSIZE_DATA`] where that is too large.
    pub(crate) fn written(json: Vec<u8>) -> Self {
        Self(Json::Own(if json.len() <= MAX_DATA_BYTES { json } else { OVERSIZE_DATA.as_bytes().to_vec() }))
    }

    /// The same, for many copies.
    pub(crate) fn shared(self) -> Self {
        match self.0 {
            Json::Own(json) => Self(Json::Shared(json.into())),
            Json::Shared(_) => self,
        }
    }

    /// The JSON text.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Json::Own(json) => json,
            Json::Shared(json) => json,
        }
    }

    /// The value.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(self.as_bytes()).unwrap_or_default()
    }
}

/// Two are equal when their values are: the order of keys says nothing.
impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes() || self.value() == other.value()
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
    fn a_bound_without_room_for_the_mark_leaves_an_ellipsis_or_nothing() {
        for (bound, expected) in [(14, "…"), (4, "…"), (3, "…"), (2, ""), (0, "")] {
            assert_eq!(cut(&"x".repeat(40), bound), expected, "{bound}");
        }
        assert_eq!(TRUNCATION_SUFFIX.len(), 14);
        assert_eq!(cut(&"x".repeat(40), 15), "x…(truncated)");
        assert_eq!(cut(&"é".repeat(40), 17), "é…(truncated)");
        assert_eq!(cut(&"é".repeat(40), 15), "…(truncated)");
    }
}

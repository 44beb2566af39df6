//! JSON that no schema describes, kept as the text the agent sent.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::fault::Result as Read;
use super::reader::Reader;

/// A JSON value of no declared type, kept byte for byte.
///
/// Two are equal when they mean the same JSON; white space and the order of keys do not count.
#[derive(Clone)]
pub struct Json(Box<str>);

impl Json {
    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }

    /// Wraps a text that is already known to be one JSON value.
    ///
    /// # Errors
    /// When the text is not exactly one JSON value.
    pub fn from_text(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(Self::from)
    }

    /// Keeps the next value of a text.
    pub(crate) fn read(reader: &mut Reader<'_>) -> Read<Self> {
        reader.raw().map(|text| Self(text.into()))
    }

    /// Parses the text into a tree.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        // The text was checked when it was taken in; only a nesting too deep to parse can fail here.
        serde_json::from_str(self.get()).unwrap_or_default()
    }

    /// Decodes the text into a type of the caller's.
    ///
    /// # Errors
    /// When the value does not fit `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get() || self.to_value() == other.to_value()
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw.into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl super::Native for Json {
    const TAG_KEYS: &'static [&'static str] = &[];
    const OWN_TAG_KEYS: &'static [&'static str] = &[];

    fn decode(text: &str) -> Result<super::Decoded<Self>, super::DecodeError> {
        super::decode(text)
    }
}

//! JSON that no schema describes, kept as the text the agent sent.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON value of no declared type, kept byte for byte.
///
/// Two are equal when they mean the same JSON; white space and the order of keys do not count.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Wraps a text that is already known to be one JSON value.
    ///
    /// # Errors
    /// When the text is not exactly one JSON value.
    pub fn from_text(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(Self)
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
        let text = value.to_string();
        Self(RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl super::Native for Json {
    const TAG_KEYS: &'static [&'static str] = &[];

    fn decode(text: &str) -> Result<super::Decoded<Self>, super::DecodeError> {
        super::decode(text)
    }
}

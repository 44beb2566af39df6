//! JSON without a declared type, kept as the text that the agent sent.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::ReadResult;
use crate::field::Field;
use crate::reader::Reader;

/// A JSON value without a declared type, kept byte for byte.
///
/// Two values are equal if they are the same JSON: white space and the order of keys do not matter.
#[derive(Clone)]
pub struct Json(Box<str>);

impl Json {
    /// The JSON text.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }

    /// Checks that a text is JSON, and keeps it.
    ///
    /// # Errors
    /// If the text is not exactly one JSON value.
    pub fn from_text(text: String) -> serde_json::Result<Self> {
        RawValue::from_string(text).map(Self::from)
    }

    /// Checks that a text is JSON. This is several times as fast as with `serde_json`.
    ///
    /// # Errors
    /// The error of `serde_json` if the text is not exactly one JSON value.
    pub fn check(text: &str) -> serde_json::Result<()> {
        let mut reader = Reader::new(text);
        match reader.skip().and_then(|()| reader.finish()) {
            Ok(()) => Ok(()),
            Err(_) => serde_json::from_str::<IgnoredAny>(text).map(drop),
        }
    }

    /// Keeps a text that has been read as one value.
    pub(crate) fn from_valid(text: &str) -> Self {
        Self(text.into())
    }

    /// Parses the text into a tree.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        // The text was checked when it was read. Only a value that is nested too deeply for serde_json fails here.
        serde_json::from_str(self.get()).unwrap_or_default()
    }

    /// Decodes the text into `T`.
    ///
    /// # Errors
    /// If the value does not fit `T`.
    pub fn decode<'a, T: Deserialize<'a>>(&'a self) -> serde_json::Result<T> {
        serde_json::from_str(self.get())
    }
}

impl Field for Json {
    #[inline]
    fn read(reader: &mut Reader<'_>) -> ReadResult<Self> {
        reader.read_raw().map(Self::from_valid)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_is_kept_byte_for_byte() {
        let text = r#"{"b": 1.50, "a": "\u00e9"}"#;
        let json = Json::from_text(text.to_owned()).unwrap();
        assert_eq!(json.get(), text);
        assert_eq!(serde_json::to_string(&json).unwrap(), text);
        assert_eq!(serde_json::from_str::<Json>(text).unwrap().get(), text);
    }

    #[test]
    fn white_space_and_the_order_of_keys_do_not_matter() {
        let json = Json::from_text(r#"{ "b": [1], "a": null }"#.to_owned()).unwrap();
        assert_eq!(json, Json::from(json!({ "a": null, "b": [1] })));
        assert_ne!(json, Json::from(json!({ "a": null, "b": [2] })));
    }

    #[test]
    fn a_text_that_is_not_one_value_is_an_error() {
        for text in ["", "{", "1 2"] {
            assert!(Json::from_text(text.to_owned()).is_err(), "{text:?}");
            assert!(Json::check(text).is_err(), "{text:?}");
        }
        assert!(Json::check(" [1, {\"a\": null}]\n").is_ok());
    }

    #[test]
    fn a_value_decodes_into_any_type() {
        let json = Json::from(json!(["a", "b"]));
        assert_eq!(json.decode::<Vec<&str>>().unwrap(), ["a", "b"]);
        assert!(json.decode::<bool>().is_err());
    }
}

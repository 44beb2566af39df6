//! JSON kept as the original bytes.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON text that is written exactly as it was read, including number formats, key order and duplicate keys, but
/// always on one line. Cloning is cheap: the events made from one payload share the text.
///
/// It is stored as a string, because that takes one copy of a payload; a shared `RawValue` would take two. Every
/// constructor checks that the text is JSON.
#[derive(Clone)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Keeps a native payload. A payload that is not JSON (plain text in an agent's output) becomes a JSON string.
    ///
    /// Line breaks between JSON tokens become spaces, so that an event always fits on one line.
    #[must_use]
    pub fn from_payload(payload: &str) -> Self {
        let text = payload.trim();
        Self::parse(text).unwrap_or_else(|| Self::string(payload))
    }

    fn parse(text: &str) -> Option<Self> {
        let one_line = one_line(text);
        let json: &RawValue = serde_json::from_str(&one_line).ok()?;
        Some(Self(json.get().into()))
    }

    fn string(text: &str) -> Self {
        Self(serde_json::to_string(text).map_or_else(|_| RawValue::NULL.get().into(), Into::into))
    }

    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(raw: Box<RawValue>) -> Self {
        Self(one_line(raw.get()).into())
    }
}

/// Replaces line breaks by spaces. In JSON strings they are escaped, so that a bare line break is always white space.
fn one_line(json: &str) -> Cow<'_, str> {
    match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
        Some(_) => Cow::Owned(json.replace(['\n', '\r'], " ")),
        None => Cow::Borrowed(json),
    }
}

/// Compares the bytes.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // `RawValue` has no unchecked constructor, so the text is checked again. The event writer does not use serde.
        let json: &RawValue = serde_json::from_str(self.as_str()).map_err(S::Error::custom)?;
        json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_kept_byte_for_byte() {
        let payload = r#"{"b": 1.0,  "a":1e2, "a":"\u0041"}"#;
        assert_eq!(serde_json::to_string(&RawJson::from_payload(payload)).unwrap(), payload);
    }

    #[test]
    fn json_is_written_as_it_was_read() {
        let text = r#"[{"b" : 1.0, "b":"\u0041"},null]"#;
        let read: Vec<RawJson> = serde_json::from_str(text).unwrap();
        assert_eq!(read[0].as_str(), r#"{"b" : 1.0, "b":"\u0041"}"#);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn a_payload_that_is_not_json_becomes_a_json_string() {
        assert_eq!(RawJson::from_payload("No API key \"x\"").as_str(), r#""No API key \"x\"""#);
        assert_eq!(RawJson::from_payload("").as_str(), r#""""#);
    }

    #[test]
    fn json_is_kept_on_one_line() {
        let read: RawJson = serde_json::from_str("[1,\n\"x\\ny\"]").unwrap();
        assert_eq!(read.as_str(), r#"[1, "x\ny"]"#);
        assert_eq!(RawJson::from_payload("{\n\"a\":\"x\\ny\"\r\n}").as_str(), r#"{ "a":"x\ny"  }"#);
    }
}

//! Metadata under the agent's own keys: the value of `native`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Metadata that has no key in the universal schema, under the agent's own keys.
///
/// A map that is sorted by key. Strings and lists of strings are kept as they are instead of as a JSON tree: most
/// metadata is only written out again, and a tree would cost an allocation per value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NativeMetadata(Vec<(Cow<'static, str>, MetadataValue)>);

/// A value of [`NativeMetadata`].
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// A string.
    String(String),
    /// A list of strings, such as the names of tools.
    Strings(Vec<String>),
    /// Any other JSON.
    Json(Value),
}

impl NativeMetadata {
    /// Empty metadata.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets the value of a key, if there is a value. It replaces an earlier value.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: Option<impl Into<MetadataValue>>) -> Self {
        if let Some(value) = value {
            self.set(Cow::Borrowed(key), value.into());
        }
        self
    }

    /// Adds the entries of `newer`. They replace entries with the same key.
    #[must_use]
    pub fn merge(mut self, newer: Self) -> Self {
        for (key, value) in newer.0 {
            self.set(key, value);
        }
        self
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        let index = self.0.binary_search_by_key(&key, |(key, _)| key).ok()?;
        self.0.get(index).map(|(_, value)| value)
    }

    /// The metadata, or `None` if there are no entries.
    #[must_use]
    pub fn non_empty(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }

    /// The entries in the order of their keys, which is the order of a JSON tree.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &MetadataValue)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    fn set(&mut self, key: Cow<'static, str>, value: MetadataValue) {
        if self.0.last().is_none_or(|(last, _)| *last < key) {
            return self.0.push((key, value));
        }
        match self.0.binary_search_by(|(existing, _)| existing.cmp(&key)) {
            Ok(index) => self.0[index].1 = value,
            Err(index) => self.0.insert(index, (key, value)),
        }
    }
}

impl Serialize for NativeMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Serialize for MetadataValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(string) => string.serialize(serializer),
            Self::Strings(strings) => strings.serialize(serializer),
            Self::Json(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NativeMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetadataVisitor;

        impl<'de> Visitor<'de> for MetadataVisitor {
            type Value = NativeMetadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NativeMetadata, A::Error> {
                let mut metadata = NativeMetadata::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    metadata.set(Cow::Owned(key), value.into());
                }
                Ok(metadata)
            }
        }

        deserializer.deserialize_map(MetadataVisitor)
    }
}

impl From<NativeMetadata> for Value {
    fn from(metadata: NativeMetadata) -> Self {
        let entries = metadata.0.into_iter().map(|(key, value)| (key.into_owned(), value.into()));
        Self::Object(entries.collect::<Map<_, _>>())
    }
}

impl From<MetadataValue> for Value {
    fn from(value: MetadataValue) -> Self {
        match value {
            MetadataValue::String(string) => string.into(),
            MetadataValue::Strings(strings) => strings.into(),
            MetadataValue::Json(json) => json,
        }
    }
}

impl From<String> for MetadataValue {
    fn from(string: String) -> Self {
        Self::String(string)
    }
}

impl From<&str> for MetadataValue {
    fn from(string: &str) -> Self {
        Self::String(string.to_owned())
    }
}

impl From<Vec<String>> for MetadataValue {
    fn from(strings: Vec<String>) -> Self {
        Self::Strings(strings)
    }
}

/// A JSON string or list of strings becomes the variant for it, so that equal JSON is always an equal value.
impl From<Value> for MetadataValue {
    fn from(json: Value) -> Self {
        match json {
            Value::String(string) => Self::String(string),
            Value::Array(list) if list.iter().all(Value::is_string) => {
                let strings = list.into_iter().filter_map(|element| match element {
                    Value::String(string) => Some(string),
                    _ => None,
                });
                Self::Strings(strings.collect())
            }
            json => Self::Json(json),
        }
    }
}

impl From<bool> for MetadataValue {
    fn from(value: bool) -> Self {
        Self::Json(value.into())
    }
}

impl From<u64> for MetadataValue {
    fn from(number: u64) -> Self {
        Self::Json(number.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_keys_with_a_value_are_set_and_the_newer_value_wins() {
        let metadata = NativeMetadata::new()
            .with("tools", Some(vec!["b".to_owned(), "a".to_owned()]))
            .with("cwd", Some("/w"))
            .with("mode", None::<String>)
            .with("model", Some("old"))
            .merge(NativeMetadata::new().with("servers", Some(json!([{ "name": "s" }]))).with("model", Some("new")));
        let expected = json!({ "cwd": "/w", "model": "new", "servers": [{ "name": "s" }], "tools": ["b", "a"] });
        assert_eq!(Value::from(metadata), expected);
        assert!(NativeMetadata::new().with("mode", None::<String>).is_empty());
    }

    #[test]
    fn metadata_round_trips_through_json() {
        let metadata =
            NativeMetadata::new().with("a", Some("x")).with("b", Some(vec!["y".to_owned()])).with("c", Some(json!(1)));
        let text = serde_json::to_string(&metadata).unwrap();
        assert_eq!(text, r#"{"a":"x","b":["y"],"c":1}"#);
        assert_eq!(serde_json::from_str::<NativeMetadata>(&text).unwrap(), metadata);
    }
}

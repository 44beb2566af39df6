//! What an agent says of something in its own words, each fact by its name.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// What an agent tells about itself or a turn, each fact by its name.
///
/// Most events are only written down; for that the facts are enough as the agent gave them, and no JSON tree is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NativeMetadata(Vec<(Cow<'static, str>, MetadataValue)>);

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub enum MetadataValue {
    /// A text.
    String(String),
    /// A list of texts, such as the names of tools.
    Strings(Vec<String>),
    /// Anything else.
    Json(Value),
}

impl NativeMetadata {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a fact if it is known. One of the same name gives way to it.
    #[must_use]
    pub fn with(mut self, name: &'static str, fact: Option<impl Into<MetadataValue>>) -> Self {
        if let Some(fact) = fact {
            self.set(Cow::Borrowed(name), fact.into());
        }
        self
    }

    /// Adds these facts, which are newer.
    #[must_use]
    pub fn merge(mut self, newer: Self) -> Self {
        for (name, fact) in newer.0 {
            self.set(name, fact);
        }
        self
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fact of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&MetadataValue> {
        let place = self.0.binary_search_by_key(&name, |(name, _)| name).ok()?;
        self.0.get(place).map(|(_, fact)| fact)
    }

    /// These facts, or nothing when nothing is known.
    #[must_use]
    pub fn non_empty(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }

    /// The facts in the order of their names, in which a tree has them too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &MetadataValue)> {
        self.0.iter().map(|(name, fact)| (&**name, fact))
    }

    fn set(&mut self, name: Cow<'static, str>, fact: MetadataValue) {
        if self.0.last().is_none_or(|(last, _)| *last < name) {
            return self.0.push((name, fact));
        }
        match self.0.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(known) => self.0[known].1 = fact,
            Err(place) => self.0.insert(place, (name, fact)),
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
            Self::String(text) => text.serialize(serializer),
            Self::Strings(texts) => texts.serialize(serializer),
            Self::Json(json) => json.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for NativeMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = NativeMetadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NativeMetadata, A::Error> {
                let mut facts = NativeMetadata::new();
                while let Some((name, fact)) = map.next_entry::<String, Value>()? {
                    facts.set(Cow::Owned(name), fact.into());
                }
                Ok(facts)
            }
        }

        deserializer.deserialize_map(Names)
    }
}

impl From<NativeMetadata> for Value {
    fn from(facts: NativeMetadata) -> Self {
        Self::Object(facts.0.into_iter().map(|(name, fact)| (name.into_owned(), fact.into())).collect::<Map<_, _>>())
    }
}

impl From<MetadataValue> for Value {
    fn from(fact: MetadataValue) -> Self {
        match fact {
            MetadataValue::String(text) => text.into(),
            MetadataValue::Strings(texts) => texts.into(),
            MetadataValue::Json(json) => json,
        }
    }
}

impl From<String> for MetadataValue {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&str> for MetadataValue {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<Vec<String>> for MetadataValue {
    fn from(texts: Vec<String>) -> Self {
        Self::Strings(texts)
    }
}

/// A text or a list of texts is the fact of that form, so that equal facts are equal wherever they come from.
impl From<Value> for MetadataValue {
    fn from(json: Value) -> Self {
        match json {
            Value::String(text) => Self::String(text),
            Value::Array(list) if list.iter().all(Value::is_string) => {
                let texts = list.into_iter().filter_map(|text| match text {
                    Value::String(text) => Some(text),
                    _ => None,
                });
                Self::Strings(texts.collect())
            }
            json => Self::Json(json),
        }
    }
}

impl From<bool> for MetadataValue {
    fn from(yes: bool) -> Self {
        Self::Json(yes.into())
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
    fn facts_become_the_tree_of_what_is_known() {
        let facts = NativeMetadata::new()
            .with("tools", Some(vec!["b".to_owned(), "a".to_owned()]))
            .with("cwd", Some("/w"))
            .with("mode", None::<String>)
            .with("model", Some("old"))
            .merge(NativeMetadata::new().with("servers", Some(json!([{ "name": "s" }]))).with("model", Some("new")));
        let expected = json!({ "cwd": "/w", "model": "new", "servers": [{ "name": "s" }], "tools": ["b", "a"] });
        assert_eq!(Value::from(facts), expected);
        assert!(NativeMetadata::new().with("mode", None::<String>).is_empty());
    }

    #[test]
    fn facts_that_are_read_equal_those_that_were_written() {
        let facts =
            NativeMetadata::new().with("a", Some("x")).with("b", Some(vec!["y".to_owned()])).with("c", Some(json!(1)));
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(text, r#"{"a":"x","b":["y"],"c":1}"#);
        assert_eq!(serde_json::from_str::<NativeMetadata>(&text).unwrap(), facts);
    }
}

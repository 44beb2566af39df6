//! The metadata of an event before it is one.

use serde_json::{Map, Value};

/// What an agent tells about itself or a turn, each fact by its name.
///
/// Metadata in an event is a JSON tree, so that anything can be read from it. Most events are only written down; for
/// that the facts are enough as the agent gave them, and no tree is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(Vec<(&'static str, Fact)>);

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A text.
    Text(String),
    /// A list of texts, such as the names of tools.
    Texts(Vec<String>),
    /// Anything else.
    Json(Value),
}

impl Facts {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a fact if it is known. One of the same name gives way to it.
    #[must_use]
    pub fn with(mut self, name: &'static str, fact: Option<impl Into<Fact>>) -> Self {
        if let Some(fact) = fact {
            self.set(name, fact.into());
        }
        self
    }

    /// Adds these facts, which are newer.
    #[must_use]
    pub fn and(mut self, newer: Self) -> Self {
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

    /// The facts in the order of their names, in which a tree has them too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(&'static str, Fact)> {
        self.0.iter()
    }

    fn set(&mut self, name: &'static str, fact: Fact) {
        if self.0.last().is_none_or(|(last, _)| *last < name) {
            return self.0.push((name, fact));
        }
        match self.0.binary_search_by_key(&name, |(name, _)| name) {
            Ok(known) => self.0[known].1 = fact,
            Err(place) => self.0.insert(place, (name, fact)),
        }
    }
}

impl From<Facts> for Value {
    fn from(facts: Facts) -> Self {
        Self::Object(facts.0.into_iter().map(|(name, fact)| (name.to_owned(), fact.into())).collect::<Map<_, _>>())
    }
}

impl From<Fact> for Value {
    fn from(fact: Fact) -> Self {
        match fact {
            Fact::Text(text) => text.into(),
            Fact::Texts(texts) => texts.into(),
            Fact::Json(json) => json,
        }
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Fact {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<String>> for Fact {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl From<Value> for Fact {
    fn from(json: Value) -> Self {
        Self::Json(json)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn facts_become_the_tree_of_what_is_known() {
        let facts = Facts::new()
            .with("tools", Some(vec!["b".to_owned(), "a".to_owned()]))
            .with("cwd", Some("/w"))
            .with("mode", None::<String>)
            .with("model", Some("old"))
            .and(Facts::new().with("servers", Some(json!([{ "name": "s" }]))).with("model", Some("new")));
        let expected = json!({ "cwd": "/w", "model": "new", "servers": [{ "name": "s" }], "tools": ["b", "a"] });
        assert_eq!(Value::from(facts), expected);
        assert!(Facts::new().with("mode", None::<String>).is_empty());
    }
}

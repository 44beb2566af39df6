//! Names of TypeScript declarations.

use std::collections::BTreeSet;

/// The names that are taken.
pub(super) struct NameTable(BTreeSet<String>);

impl NameTable {
    pub(super) fn new(names: impl Iterator<Item = String>) -> Self {
        Self(names.chain(["JsonObject".to_owned(), "UnknownTag".to_owned()]).collect())
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Takes a name. Appends a number if it is taken already.
    pub(super) fn add(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut number = 2;
        while !self.0.insert(unique.clone()) {
            unique = format!("{name}{number}");
            number += 1;
        }
        unique
    }
}

/// `session.started` and `session_started` become `SessionStarted`.
pub(super) fn pascal_case(tag: &str) -> String {
    tag.split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
        })
        .collect()
}

/// Whether a property needs no quotes.
pub(super) fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_' || first == '$')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '$')
}

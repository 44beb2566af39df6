//! Environment variables whose values may be secret.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Environment variables of a session. Their values are never written anywhere: not to the store, not to an event, and
/// not by `Debug`, which shows the names. Cloning copies a pointer.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// The names and values, for a process that is about to start.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The same variables, and another one unless they have one of this name.
    #[must_use]
    pub(crate) fn with_default(&self, name: &str, value: &str) -> Self {
        let mut variables = BTreeMap::clone(&self.0);
        variables.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        Self(Arc::new(variables))
    }

    /// Whether there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_names_and_no_values() {
        let env = Environment::from_iter([("KEY".to_owned(), "s3cret".to_owned())]);
        assert_eq!(format!("{env:?}"), r#"{"KEY"}"#);
    }
}

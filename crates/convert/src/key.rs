//! Names that converters give to things.

use std::fmt;
use std::sync::Arc;

/// The name by which a converter speaks of a session, an item, a tool, a request: the agent's own id, or one made
/// up. Keys of messages, notes, tools and requests are apart from each other, and a sub-agent's are its own.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Self(key.into())
    }
}

impl From<String> for Key {
    fn from(key: String) -> Self {
        Self(key.into())
    }
}

impl From<&String> for Key {
    fn from(key: &String) -> Self {
        Self(key.as_str().into())
    }
}

impl From<&Key> for Key {
    fn from(key: &Key) -> Self {
        key.clone()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

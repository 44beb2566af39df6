//! Names that converters give to things.

use std::fmt;

use interlingua_schema::NativeItemId;
use smol_str::{SmolStr, SmolStrBuilder};

/// The name by which a converter speaks of a session, an item, a tool, a request: the agent's own id, or one made
/// up. Keys of messages, notes, tools and requests are apart from each other, and a sub-agent's are its own.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(SmolStr);

impl Key {
    /// The key of the n-th part of something: `"msg_1:0"`. One is made for most messages, so this does without the
    /// formatting machinery.
    pub(crate) fn numbered(of: &str, number: u64) -> Self {
        let mut key = SmolStrBuilder::new();
        key.push_str(of);
        key.push(':');
        key.push_str(itoa::Buffer::new().format(number));
        Self(key.finish())
    }

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

/// The agent's own id, where that is the key.
impl From<&Key> for NativeItemId {
    fn from(key: &Key) -> Self {
        key.0.clone().into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_follows_a_colon() {
        for number in [0, 7, 10, 99, 1_000_203, u64::MAX] {
            assert_eq!(Key::numbered("msg", number).as_str(), format!("msg:{number}"));
        }
    }
}

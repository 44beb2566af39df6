//! Names that converters give to things.

use std::fmt;

use interlingua_schema::{NativeItemId, NativeSessionId};
use smol_str::SmolStr;

/// The name by which a converter speaks of a session, an item, a tool, a request: the agent's own id, or one made
/// up. Keys of messages, notes, tools and requests are apart from each other, and a sub-agent's are its own.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(SmolStr);

impl Key {
    /// The key of the n-th part of something: `"msg_1:0"`. One is made for most messages, so this does without the
    /// formatting machinery.
    pub(crate) fn numbered(of: &str, number: u64) -> Self {
        Self(joined([of, ":", itoa::Buffer::new().format(number)]))
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

impl From<&Key> for NativeSessionId {
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

/// The texts behind each other. As long as they are short they are joined on the stack, so that at most the result is
/// allocated.
pub(crate) fn joined<const N: usize>(texts: [&str; N]) -> SmolStr {
    const SHORT: usize = 64;
    let mut buffer = [0; SHORT];
    let mut end = 0;
    for text in texts {
        let Some(place) = buffer.get_mut(end..end + text.len()) else { return texts.concat().into() };
        place.copy_from_slice(text.as_bytes());
        end += text.len();
    }
    // Texts behind each other are a text.
    str::from_utf8(&buffer[..end]).unwrap_or_default().into()
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

    #[test]
    fn texts_are_joined_however_long_they_are() {
        for length in [0, 1, 22, 23, 30, 31, 32, 33, 100] {
            let text = "é".repeat(length);
            assert_eq!(joined([&text, ":", &text]), format!("{text}:{text}"));
        }
    }
}

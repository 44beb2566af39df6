//! Keys by which converters refer to items.

use std::fmt;

use interlingua_schema::{NativeItemId, NativeSessionId};
use smol_str::SmolStr;

/// The name by which a converter refers to a session, item, tool call or request: the native id, or one made from it.
/// Messages, notes, tools and requests have separate keys, and so has each sub-agent.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(SmolStr);

impl Key {
    /// Key of the n-th part of `base`: `"msg_1:0"`. Most messages need one, so this avoids the cost of `format!`.
    pub(crate) fn numbered(base: &str, number: u64) -> Self {
        Self(concat([base, ":", itoa::Buffer::new().format(number)]))
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

/// The native id, if the key is one.
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

/// Concatenates texts. Short ones are copied to the stack, so that at most the result is allocated.
pub(crate) fn concat<const N: usize>(texts: [&str; N]) -> SmolStr {
    const BUFFER_SIZE: usize = 64;
    let mut buffer = [0; BUFFER_SIZE];
    let mut end = 0;
    for text in texts {
        let Some(target) = buffer.get_mut(end..end + text.len()) else { return texts.concat().into() };
        target.copy_from_slice(text.as_bytes());
        end += text.len();
    }
    // The concatenation of UTF-8 texts is UTF-8.
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
    fn texts_of_any_length_are_concatenated() {
        for length in [0, 1, 22, 23, 30, 31, 32, 33, 100] {
            let text = "é".repeat(length);
            assert_eq!(concat([&text, ":", &text]), format!("{text}:{text}"));
        }
    }
}

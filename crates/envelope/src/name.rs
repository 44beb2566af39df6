//! Ids and names from outside.

use std::borrow::{Borrow, Cow};
use std::fmt;

use interlingua_schema::wire::{WriteJson, write_string};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::shared_str::SharedStr;

/// An id or a name: at most 128 bytes of letters, digits and `_ - . : / @ # + ~ $ = | *`. Cloning is cheap.
///
/// Models, MCP servers and agents choose the names of tools and the ids of calls, so that a payload could be hidden in
/// them. A text with white space, quotes or brackets, or with more than 128 bytes, is not a name and becomes `null`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(SharedStr);

impl Name {
    /// Maximum size of a name.
    pub const MAX_BYTES: usize = 128;
    /// Characters of a name beside letters and digits.
    const PUNCTUATION: &'static str = "_-.:/@#+~$=|*";
    /// For each byte, whether it is an ASCII character that a name may have. A lookup table, because every event has names.
    const ALLOWED_ASCII: [bool; 256] = {
        let mut allowed = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            allowed[byte as usize] = byte.is_ascii_alphanumeric();
            byte += 1;
        }
        let punctuation = Self::PUNCTUATION.as_bytes();
        let mut index = 0;
        while index < punctuation.len() {
            allowed[punctuation[index] as usize] = true;
            index += 1;
        }
        allowed
    };

    /// The text as a name; `None` if it is not a valid name.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::is_valid(text).then(|| Self(SharedStr::Shared(text.into())))
    }

    /// Whether the text is a valid name. A valid name needs no escapes in JSON.
    pub(crate) fn is_valid(text: &str) -> bool {
        let is_allowed_byte = |byte: u8| Self::ALLOWED_ASCII[usize::from(byte)];
        let is_allowed_char = |c: char| c.is_alphanumeric() || Self::PUNCTUATION.contains(c);
        // Nearly all names are ASCII.
        !text.is_empty()
            && text.len() <= Self::MAX_BYTES
            && (text.bytes().all(is_allowed_byte) || text.chars().all(is_allowed_char))
    }

    /// The text as a name. Reuses `known` if it is the same name, to avoid an allocation.
    pub(crate) fn new_or_reuse(known: Option<Self>, text: Option<&str>) -> Option<Self> {
        let text = text?;
        match known {
            Some(known) if known.as_str() == text => Some(known),
            _ => Self::new(text),
        }
    }

    /// A fixed name, which must be valid.
    pub(crate) fn fixed(name: &'static str) -> Self {
        Self(SharedStr::Static(name))
    }

    /// The name as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let error = || {
            let (max, punctuation) = (Self::MAX_BYTES, Self::PUNCTUATION);
            de::Error::custom(format_args!("expected a name: 1 to {max} bytes of letters, digits and {punctuation}"))
        };
        Self::new(&text).ok_or_else(error)
    }
}

impl WriteJson for Name {
    fn write_json(&self, out: &mut Vec<u8>) {
        write_string(out, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_of_agents_are_valid() {
        for name in ["Bash", "mcp__tiny__add", "tiny/wipe", "toolu_01AbC", "exec-c42855e6-0667", "T-1:0", "número"] {
            assert_eq!(Name::new(name).unwrap().as_str(), name);
        }
        assert!(Name::new(&"é".repeat(64)).is_some());
    }

    #[test]
    fn a_payload_is_not_a_name() {
        for payload in ["", "rm -rf x", "{\"a\":1}", "a\nb", "\"quoted\"", "<tag>", "a\u{0}", "a\\b", "a;b", "a\u{301}"]
        {
            assert_eq!(Name::new(payload), None, "{payload:?}");
            assert!(serde_json::from_value::<Name>(payload.into()).is_err(), "{payload:?}");
        }
        assert_eq!(Name::new(&"x".repeat(129)), None);
        assert_eq!(Name::new(&"é".repeat(65)), None);
    }
}

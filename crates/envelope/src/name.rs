//! Ids and names that come from outside.

use std::borrow::{Borrow, Cow};
use std::fmt;

use interlingua_schema::wire::{WriteJson, write_string};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::short::Short;

/// An id or a name: at most 128 bytes of letters, digits and `_ - . : / @ # + ~ $ = | *`. Cloning copies a pointer.
///
/// Models, MCP servers and agents choose the names of tools and the ids of calls, so a payload could hide in one.
/// What has white space, quotes, brackets or more than 128 bytes is no name, and `null` stands in its place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Short);

impl Name {
    /// The most bytes of a name.
    pub const MAX_BYTES: usize = 128;
    const MARKS: &'static str = "_-.:/@#+~$=|*";
    /// The bytes of ASCII that a name may have: every event has names, so they are looked up.
    const PLAIN: [bool; 256] = {
        let mut plain = [false; 256];
        let mut byte = 0_u8;
        while byte < 128 {
            plain[byte as usize] = byte.is_ascii_alphanumeric();
            byte += 1;
        }
        let marks = Self::MARKS.as_bytes();
        let mut mark = 0;
        while mark < marks.len() {
            plain[marks[mark] as usize] = true;
            mark += 1;
        }
        plain
    };

    /// The name, if it is one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        Self::fits(text).then(|| Self(Short::Shared(text.into())))
    }

    /// Whether it is a name. None has anything in it that JSON escapes.
    pub(crate) fn fits(text: &str) -> bool {
        let plain = |byte: u8| Self::PLAIN[usize::from(byte)];
        let also_plain = |c: char| c.is_alphanumeric() || Self::MARKS.contains(c);
        // Nearly all are ASCII.
        !text.is_empty() && text.len() <= Self::MAX_BYTES && (text.bytes().all(plain) || text.chars().all(also_plain))
    }

    /// The name, if it is one; `known` if it is that one.
    pub(crate) fn refreshed(known: Option<Self>, text: Option<&str>) -> Option<Self> {
        let text = text?;
        match known {
            Some(known) if known.as_str() == text => Some(known),
            _ => Self::new(text),
        }
    }

    /// A name of ours.
    pub(crate) fn fixed(name: &'static str) -> Self {
        Self(Short::Ours(name))
    }

    /// The name as text.
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
        let misfit =
            || format!("expected a name: 1 to {} bytes of letters, digits and {}", Self::MAX_BYTES, Self::MARKS);
        Self::new(&text).ok_or_else(|| de::Error::custom(misfit()))
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
    fn what_agents_call_things_are_names() {
        for name in ["Bash", "mcp__tiny__add", "tiny/wipe", "toolu_01AbC", "exec-c42855e6-0667", "T-1:0", "número"] {
            assert_eq!(Name::new(name).unwrap().as_str(), name);
        }
        assert!(Name::new(&"é".repeat(64)).is_some());
    }

    #[test]
    fn a_payload_is_no_name() {
        for payload in ["", "rm -rf x", "{\"a\":1}", "a\nb", "\"quoted\"", "<tag>", "a\u{0}", "a\\b", "a;b", "a\u{301}"]
        {
            assert_eq!(Name::new(payload), None, "{payload:?}");
            assert!(serde_json::from_value::<Name>(payload.into()).is_err(), "{payload:?}");
        }
        assert_eq!(Name::new(&"x".repeat(129)), None);
        assert_eq!(Name::new(&"é".repeat(65)), None);
    }
}

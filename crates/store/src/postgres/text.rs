//! Text that may contain NUL, which Postgres does not store.
//!
//! NUL is stored as two characters: U+0001 and a `0`. U+0001 itself is stored as U+0001 and a `1`. Other text, which is
//! practically all of it, is stored as it is and can be searched in SQL.

use std::borrow::Cow;

const ESCAPE: char = '\u{1}';

/// The text as it is stored.
pub(crate) fn encode(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(text.len() + 2);
    for character in text.chars() {
        match character {
            '\0' => encoded.extend([ESCAPE, '0']),
            ESCAPE => encoded.extend([ESCAPE, '1']),
            other => encoded.push(other),
        }
    }
    Cow::Owned(encoded)
}

/// The text that was stored.
pub(crate) fn decode(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE => text.extend(match characters.next() {
                Some('0') => Some('\0'),
                _ => Some(ESCAPE),
            }),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_can_be_stored_without_nul() {
        for text in ["", "plain", "a\0b", "\u{1}", "\0\u{1}0\u{1}1\0", "ä\0東"] {
            let encoded = encode(text);
            assert!(!encoded.contains('\0'));
            assert_eq!(decode(encoded.into_owned()), text);
        }
        assert!(matches!(encode("plain"), Cow::Borrowed(_)));
        assert_eq!(encode("a\0"), "a\u{1}0");
    }
}

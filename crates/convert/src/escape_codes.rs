//! Removal of terminal escape codes from messages.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// Removes terminal escape codes from a text: colours, cursor movements, window titles.
pub(crate) fn without_escape_codes(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != ESCAPE {
            plain.push(character);
            continue;
        }
        match rest.next() {
            // A control sequence ends with its first letter.
            Some('[') => {
                rest.find(|character| ('@'..='~').contains(character));
            }
            // An operating system command ends with a bell, or with an escape and a backslash.
            Some(']') => {
                let end = rest.find(|character| matches!(*character, '\u{7}' | ESCAPE));
                end.filter(|end| *end == ESCAPE).and_then(|_| rest.next());
            }
            _ => {}
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_titles_and_cursors_are_removed() {
        assert_eq!(without_escape_codes("\u{1b}[31mno\u{1b}[0m key"), "no key");
        assert_eq!(without_escape_codes("\u{1b}]0;title\u{7}a\u{1b}]8;;x\u{1b}\\b"), "ab");
        assert_eq!(without_escape_codes("cut\u{1b}["), "cut");
        assert_eq!(without_escape_codes("plain"), "plain");
    }
}

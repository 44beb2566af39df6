//! Words: how text is divided into them for the index, and the words of a query.

use std::borrow::Cow;

/// Whether a character is a word of its own: scripts that put no spaces between words.
pub(crate) fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}'         // Hiragana, Katakana
        | '\u{3400}'..='\u{4dbf}'       // CJK, extension A
        | '\u{4e00}'..='\u{9fff}'       // CJK
        | '\u{ac00}'..='\u{d7af}'       // Hangul
        | '\u{f900}'..='\u{faff}'       // CJK, compatibility
        | '\u{ff66}'..='\u{ff9d}'       // Katakana, half width
        | '\u{20000}'..='\u{3ffff}') // CJK, further extensions
}

/// The text with spaces around the characters that are words of their own. The index divides it at the spaces.
pub(crate) fn separate_ideographs(text: &str) -> Cow<'_, str> {
    if !text.contains(is_ideograph) {
        return Cow::Borrowed(text);
    }
    let mut separated = String::with_capacity(text.len());
    for character in text.chars() {
        if is_ideograph(character) {
            separated.extend([' ', character, ' ']);
        } else {
            separated.push(character);
        }
    }
    Cow::Owned(separated)
}

/// A part of a query: words that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase {
    text: String,
    /// Whether the last word is only the beginning of one.
    is_prefix: bool,
}

/// The words of a text: runs of letters and digits, and characters that are words of their own. With their offsets.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let mut characters = text[rest..].char_indices().skip_while(|(_, character)| !character.is_alphanumeric());
        let (start, first) = characters.next()?;
        let end = if is_ideograph(first) {
            start + first.len_utf8()
        } else {
            let next = characters.find(|(_, character)| !character.is_alphanumeric() || is_ideograph(*character));
            next.map_or(text.len() - rest, |(end, _)| end)
        };
        let word = (rest + start, &text[rest + start..rest + end]);
        rest += end;
        Some(word)
    })
}

/// Parses a query. Nothing in it is invalid.
pub(crate) fn parse_query(query: &str) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    // Odd parts are quoted.
    for (index, part) in query.split('"').enumerate() {
        if index % 2 == 1 {
            phrases.extend(Phrase::new(part));
        } else {
            phrases.extend(part.split_whitespace().filter_map(Phrase::new));
        }
    }
    phrases
}

impl Phrase {
    /// The phrase of a text; `None` if it has no words.
    pub(crate) fn new(text: &str) -> Option<Self> {
        // Only words, because other characters could mean something to the index.
        let found: Vec<&str> = words(text).map(|(_, word)| word).collect();
        (!found.is_empty()).then(|| Self { text: found.join(" "), is_prefix: text.ends_with('*') })
    }

    /// The words, separated by spaces.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the last word is only the beginning of one.
    pub(crate) fn is_prefix(&self) -> bool {
        self.is_prefix
    }

    /// Whether it has several words, so that their order matters.
    pub(crate) fn has_order(&self) -> bool {
        self.text.contains(' ')
    }

    /// The words, and whether the last one is only the beginning of a word.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, bool)> {
        let count = self.text.split(' ').count();
        self.text.split(' ').enumerate().map(move |(index, word)| (word, self.is_prefix && index + 1 == count))
    }

    /// The words in lower case, and whether the last one is only the beginning of a word.
    pub(crate) fn lowercase_words(&self) -> impl Iterator<Item = (String, bool)> {
        self.words().map(|(word, is_prefix)| (word.to_lowercase(), is_prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_with_their_offsets() {
        let found: Vec<_> = words("src/main.rs: Größe 東京x1").collect();
        let expected = [(0, "src"), (4, "main"), (9, "rs"), (13, "Größe"), (21, "東"), (24, "京"), (27, "x1")];
        assert_eq!(found, expected);
        assert_eq!(words(" -- \u{0} 🎉").count(), 0);
    }

    #[test]
    fn text_without_words_is_no_query() {
        for nothing in ["", "  ", "\"\"", "***", "-", "🎉 \u{0}"] {
            assert!(parse_query(nothing).is_empty(), "{nothing}");
        }
    }

    #[test]
    fn ideographs_are_separated() {
        assert_eq!(separate_ideographs("a 東京 b").split_whitespace().collect::<Vec<_>>(), ["a", "東", "京", "b"]);
        assert_eq!(separate_ideographs("plain"), "plain");
    }
}

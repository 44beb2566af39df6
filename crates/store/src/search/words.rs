//! Words: how text is divided into them for the index, and the words of a query.

/// Maximum number of words of a query. Further ones are ignored.
const MAX_WORDS: usize = 32;

/// Whether a character is a word of its own: scripts that put no spaces between words.
pub(super) fn is_ideograph(character: char) -> bool {
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
pub(super) fn separate_ideographs(text: &str) -> String {
    let mut separated = String::with_capacity(text.len());
    for character in text.chars() {
        if is_ideograph(character) {
            separated.extend([' ', character, ' ']);
        } else {
            separated.push(character);
        }
    }
    separated
}

/// A part of a query: words that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Phrase {
    text: String,
    /// Whether the last word is only the beginning of one.
    is_prefix: bool,
}

/// The words of a text: runs of letters and digits, and characters that are words of their own. With their offsets.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
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
pub(super) fn parse_query(query: &str) -> Vec<Phrase> {
    let mut phrases = Vec::new();
    // Odd parts are quoted.
    for (index, part) in query.split('"').enumerate() {
        if index % 2 == 1 {
            phrases.extend(Phrase::new(part));
        } else {
            phrases.extend(part.split_whitespace().filter_map(Phrase::new));
        }
    }
    phrases.truncate(MAX_WORDS);
    phrases
}

impl Phrase {
    /// The phrase of a text; `None` if it has no words.
    fn new(text: &str) -> Option<Self> {
        // Only words, because other characters could mean something to the index.
        let found: Vec<&str> = words(text).map(|(_, word)| word).take(MAX_WORDS).collect();
        (!found.is_empty()).then(|| Self { text: found.join(" "), is_prefix: text.ends_with('*') })
    }

    /// The words in lower case, and whether the last one is only the beginning of a word.
    pub(super) fn lowercase_words(&self) -> impl Iterator<Item = (String, bool)> {
        let count = self.text.split(' ').count();
        let is_prefix = self.is_prefix;
        self.text
            .split(' ')
            .enumerate()
            .map(move |(index, word)| (word.to_lowercase(), is_prefix && index + 1 == count))
    }
}

/// The condition on the index for documents with all phrases, of an agent if one is given.
pub(super) fn match_expression(phrases: &[Phrase], agent: Option<&str>) -> String {
    let quote = |phrase: &Phrase| format!("\"{}\"{}", phrase.text, if phrase.is_prefix { " *" } else { "" });
    let phrases: Vec<String> = phrases.iter().map(quote).collect();
    let expression = format!("text : ({})", phrases.join(" AND "));
    match agent.and_then(Phrase::new) {
        Some(agent) => format!("{expression} AND agent : \"{}\"", agent.text),
        None => expression,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(query: &str) -> String {
        match_expression(&parse_query(query), None)
    }

    #[test]
    fn words_are_found_with_their_offsets() {
        let found: Vec<_> = words("src/main.rs: Größe 東京x1").collect();
        let expected = [(0, "src"), (4, "main"), (9, "rs"), (13, "Größe"), (21, "東"), (24, "京"), (27, "x1")];
        assert_eq!(found, expected);
        assert_eq!(words(" -- \u{0} 🎉").count(), 0);
    }

    #[test]
    fn a_query_is_words_and_phrases_and_nothing_else() {
        for (query, expected) in [
            ("fix build", r#"text : ("fix" AND "build")"#),
            (r#""fix the build" now"#, r#"text : ("fix the build" AND "now")"#),
            ("src/main.rs", r#"text : ("src main rs")"#),
            ("err*", r#"text : ("err" *)"#),
            ("NEAR(a b) OR -c ^d text:e", r#"text : ("NEAR a" AND "b" AND "OR" AND "c" AND "d" AND "text e")"#),
            (r#"an "open quote"#, r#"text : ("an" AND "open quote")"#),
            ("a\u{0}b", r#"text : ("a b")"#),
            ("東京", r#"text : ("東 京")"#),
        ] {
            assert_eq!(expression(query), expected, "{query}");
        }
        for nothing in ["", "  ", "\"\"", "***", "-", "🎉 \u{0}"] {
            assert!(parse_query(nothing).is_empty(), "{nothing}");
        }
        assert_eq!(match_expression(&parse_query("a"), Some("claude")), r#"text : ("a") AND agent : "claude""#);
        assert_eq!(parse_query(&"word ".repeat(500)).len(), MAX_WORDS);
    }

    #[test]
    fn ideographs_are_separated() {
        assert_eq!(separate_ideographs("a 東京 b").split_whitespace().collect::<Vec<_>>(), ["a", "東", "京", "b"]);
        assert_eq!(separate_ideographs("plain"), "plain");
    }
}

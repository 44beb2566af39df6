//! The place in a text where the words of a query are.

use std::collections::BTreeSet;

use super::text::char_boundary;
use super::words::{Phrase, words};

/// Approximate length of a snippet, in bytes.
const SNIPPET_BYTES: usize = 200;
/// How much of it comes before the first word that was found.
const BYTES_BEFORE: usize = 60;
/// Maximum number of words that are compared for the best place.
const MAX_MATCHES: usize = 500;

/// The part of a text with most of the words.
pub(crate) struct Snippet {
    /// The part, on one line.
    pub(crate) text: String,
    /// Number of different words that it has, and whether these are all.
    pub(crate) words: usize,
    pub(crate) is_complete: bool,
}

impl Snippet {
    /// Finds the part of a text with most of the words.
    pub(crate) fn find(text: &str, phrases: &[Phrase]) -> Self {
        let mut wanted: Vec<(String, bool)> = phrases.iter().flat_map(Phrase::lowercase_words).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let (offset, words) = find_best(text, &wanted);
        Self { text: excerpt(text, offset), words, is_complete: words == wanted.len() }
    }
}

/// The offset of the place with most of the words, and their number.
fn find_best(text: &str, wanted: &[(String, bool)]) -> (usize, usize) {
    let is_wanted = |word: &str| {
        let word = word.to_lowercase();
        wanted.iter().position(|(wanted, is_prefix)| *wanted == word || *is_prefix && word.starts_with(wanted.as_str()))
    };
    let matches: Vec<(usize, usize)> = words(text)
        .filter_map(|(offset, word)| is_wanted(word).map(|index| (offset, index)))
        .take(MAX_MATCHES)
        .collect();
    let window = SNIPPET_BYTES - BYTES_BEFORE;
    let distinct = |first: usize| {
        let start = matches[first].0;
        let inside = matches[first..].iter().take_while(|(offset, _)| *offset < start + window);
        inside.map(|(_, index)| index).collect::<BTreeSet<_>>().len()
    };
    // The first of the best places. Words with marks that the index ignores may not be found here.
    let counts = (0..matches.len()).map(|first| (matches[first].0, distinct(first)));
    counts.rev().max_by_key(|(_, words)| *words).unwrap_or_default()
}

/// The text around an offset, on one line, with `…` where it was cut.
fn excerpt(text: &str, offset: usize) -> String {
    let mut start = char_boundary(text, offset.saturating_sub(BYTES_BEFORE));
    if start > 0 {
        // At the beginning of a word, unless the word is long.
        start += text[start..offset].find(char::is_whitespace).unwrap_or(0);
    }
    let mut end = char_boundary(text, (start + SNIPPET_BYTES).min(text.len()));
    if end < text.len() {
        let least = char_boundary(text, offset.max(start + SNIPPET_BYTES / 2).min(end));
        end = text[least..end].rfind(char::is_whitespace).map_or(end, |space| least + space);
    }
    let mut line = String::with_capacity(end - start + 6);
    if start > 0 {
        line.push('…');
    }
    for (index, word) in text[start..end]
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .enumerate()
    {
        if index > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    if end < text.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::super::words::parse_query;
    use super::*;

    fn snippet_of(text: &str, query: &str) -> String {
        Snippet::find(text, &parse_query(query)).text
    }

    #[test]
    fn a_short_text_is_its_own_snippet_on_one_line() {
        assert_eq!(snippet_of("one\n\ttwo \u{1b}[31mthree", "two"), "one two [31mthree");
        assert_eq!(snippet_of("", "two"), "");
    }

    #[test]
    fn the_place_with_most_of_the_words_is_shown() {
        let filler = "filler text that says nothing ".repeat(20);
        let text = format!("build {filler}the build of Größe fails {filler}");
        let found = snippet_of(&text, "größe build fail*");
        assert!(
            found.contains("the build of Größe fails") && found.starts_with('…') && found.ends_with('…'),
            "{found}"
        );
        assert!(found.len() < SNIPPET_BYTES + 20, "{found}");
        assert!(snippet_of(&text, "absent").starts_with("build filler"));
    }

    #[test]
    fn no_text_is_cut_inside_a_character() {
        let text = "東京".repeat(500);
        for query in ["東京", "京", "x"] {
            assert!(snippet_of(&text, query).contains('東'));
        }
        snippet_of(&"€".repeat(1000), "€");
        snippet_of(&format!("{}needle{}", "ä".repeat(300), "ö".repeat(300)), "needle");
    }
}

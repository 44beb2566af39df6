//! Making letters comparable: lower case, without marks such as accents.

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// The text in lower case, without the marks of its letters.
pub(crate) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(text);
    let is_mark = |character: &char| matches!(character, '\u{300}'..='\u{36f}');
    let without_marks: String = decomposed.chars().filter(|character| !is_mark(character)).collect();
    // Composed again, because decomposing also divides Hangul syllables.
    ComposingNormalizerBorrowed::new_nfc().normalize(&without_marks).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_upper_case_are_removed() {
        for (text, folded) in [
            ("Plain", "plain"),
            ("Größe", "große"),
            ("Ångström", "angstrom"),
            ("e\u{301}", "e"),
            ("東京", "東京"),
            ("한국", "한국"),
        ] {
            assert_eq!(fold(text), folded);
        }
    }
}

//! Making text from agents safe to show.

use std::fmt::Write as _;

/// Whether a character changes the direction in which the text around it is shown.
const fn is_direction_control(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Removes escape sequences and control characters, except for line breaks and tabs. A character that changes the
/// direction of text is replaced by its number, because it makes text look different from what it is.
#[must_use]
pub fn sanitize(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for piece in anstream::adapter::strip_str(text) {
        for character in piece.chars() {
            if is_direction_control(character) {
                // Writing to a `String` does not fail.
                let _ = write!(clean, "[U+{:04X}]", u32::from(character));
            } else if !character.is_control() || matches!(character, '\n' | '\t') {
                clean.push(character);
            }
        }
    }
    clean
}

/// Like [`sanitize`], with all white space as single spaces, so that the text is one line.
#[must_use]
pub fn sanitize_line(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Appends text with HTML special characters escaped.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
}

/// A number of bytes or tokens, short: `950`, `12.3k`, `4.5M`.
pub(crate) fn format_count(count: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", count / unit, count % unit / (unit / 10));
    match count {
        0..=9_999 => count.to_string(),
        10_000..=999_999 => format!("{}k", tenths(1_000)),
        _ => format!("{}M", tenths(1_000_000)),
    }
}

/// A duration, short: `850 ms`, `2.4 s`, `3 min 5 s`.
pub(crate) fn format_duration(millis: u64) -> String {
    match millis {
        0..=999 => format!("{millis} ms"),
        1_000..=59_999 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_control_characters_are_removed() {
        assert_eq!(sanitize("a\u{1b}[31mred\u{1b}[0m\u{7}\u{0}\tb\r\nc\u{9b}d"), "ared\tb\ncd");
        assert_eq!(sanitize_line(" a\n\n b\tc "), "a b c");
    }

    #[test]
    fn characters_that_reorder_text_are_shown_by_number() {
        assert_eq!(sanitize("user\u{202e}nimda\u{2066} שלום"), "user[U+202E]nimda[U+2066] שלום");
    }

    #[test]
    fn numbers_are_short() {
        let counts = [0, 9_999, 10_000, 123_456, 4_560_000].map(format_count);
        assert_eq!(counts, ["0", "9999", "10.0k", "123.4k", "4.5M"]);
        let durations = [5, 2_450, 65_000].map(format_duration);
        assert_eq!(durations, ["5 ms", "2.4 s", "1 min 5 s"]);
    }
}

//! The beginning of a text.

/// As much of a text as fits into so many bytes.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

//! Searching and unescaping in the bytes of a JSON text.

/// The index of the first quotation mark, backslash or control character from `at` on, searched in steps of eight bytes.
#[inline]
pub(super) fn find_special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*chunk);
        // Flipping this bit turns a quotation mark into 0x20 and leaves control characters below that, so that one
        // comparison finds both. The subtraction sets the high bit of each such byte. A borrow can set it wrongly only
        // in bytes after such a byte, and only the first one counts.
        let flipped = word ^ (ONES * 0x02);
        let quote_or_control = flipped.wrapping_sub(ONES * 0x21) & !flipped;
        let differing = word ^ (ONES * 0x5c);
        let backslash = differing.wrapping_sub(ONES) & !differing;
        let special = (quote_or_control | backslash) & HIGH_BITS;
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(byte) = bytes.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

/// The index of the first byte from `at` on that is not a digit.
pub(super) fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    at
}

/// The character of the escape at `at`, and the length of the escape.
pub(super) fn escaped_char(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    if bytes.get(at + 1) != Some(&b'u') {
        return simple_escape(bytes, at).map(|character| (character, 2));
    }
    let first = utf16_unit(bytes, at)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|character| (character, 6));
    }
    let second = utf16_unit(bytes, at + 6).filter(|second| (0xdc00..0xe000).contains(second))?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|character| (character, 12))
}

/// The character of the two-byte escape at `at`, such as `\n`.
pub(super) fn simple_escape(bytes: &[u8], at: usize) -> Option<char> {
    Some(match bytes.get(at + 1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

/// The UTF-16 code unit of the escape `\uXXXX` at `at`.
pub(super) fn utf16_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

//! Searching, unescaping and numbers in the bytes of a JSON text.

use wide::u8x16;

/// Number of bytes that are searched at a time.
const CHUNK_BYTES: usize = 16;

/// The next 16 bytes from `at` on; `None` if there are fewer.
#[inline]
pub(super) fn chunk_at(bytes: &[u8], at: usize) -> Option<&[u8; CHUNK_BYTES]> {
    bytes.get(at..)?.first_chunk()
}

/// One bit for each byte, the lowest for the first one: whether it is a quotation mark, a backslash or a control character.
#[expect(clippy::inline_always, reason = "a call would cost as much as the work")]
#[inline(always)]
pub(super) fn special_bits(chunk: &[u8; CHUNK_BYTES]) -> u32 {
    let chunk = u8x16::new(*chunk);
    // Flipping this bit turns a quotation mark into 0x20, a space into 0x22, and leaves control characters below 0x20. So
    // one comparison finds both quotation marks and control characters.
    let flipped = chunk ^ u8x16::splat(0x02);
    let quote_or_control = flipped.min(u8x16::splat(0x20)).simd_eq(flipped);
    let backslash = chunk.simd_eq(u8x16::splat(b'\\'));
    (quote_or_control | backslash).to_bitmask()
}

/// The index of the first quotation mark, backslash or control character from `at` on. If there is none, it is the number of
/// bytes.
#[inline]
pub(super) fn find_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = chunk_at(bytes, at) {
        let special = special_bits(chunk);
        if special != 0 {
            return at + special.trailing_zeros() as usize;
        }
        at += CHUNK_BYTES;
    }
    find_special_at_end(bytes, at)
}

/// [`find_special`] if fewer than 16 bytes are left. Reads the last 16 bytes, and ignores those before `at`.
fn find_special_at_end(bytes: &[u8], mut at: usize) -> usize {
    if let Some(chunk) = bytes.last_chunk() {
        let before = at.saturating_sub(bytes.len() - CHUNK_BYTES);
        let special = special_bits(chunk) >> before.min(CHUNK_BYTES);
        return if special == 0 { bytes.len() } else { at + special.trailing_zeros() as usize };
    }
    while let Some(byte) = bytes.get(at) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        at += 1;
    }
    at
}

/// The digits from `at` on, at most eight: their value and their number. `None` if the text has fewer than eight bytes.
#[inline]
pub(super) fn leading_digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let word = match bytes.get(at..)?.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        // The last eight bytes, without those before `at`. In their place are zeros at the end, which are no digits.
        None => u64::from_le_bytes(*bytes.last_chunk()?).unbounded_shr(8 * missing_bytes(bytes, at)),
    };
    let (values, count) = digit_values(word);
    if count == 0 {
        return Some((0, 0));
    }
    // Zeros before the first digit, so that there are eight.
    let eight = values << (64 - 8 * count);
    // Adds neighbours: eight digits become four numbers of two digits, two of four, and one of eight.
    let pairs = eight * 10 + (eight >> 8);
    let even = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(100 + (1_000_000 << 32));
    let odd = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(1 + (10_000 << 32));
    Some((even.wrapping_add(odd) >> 32, count))
}

/// How many of eight bytes from `at` on are beyond the end.
#[inline]
fn missing_bytes(bytes: &[u8], at: usize) -> u32 {
    u32::try_from((at + 8).saturating_sub(bytes.len())).unwrap_or(u32::MAX)
}

/// The value of each byte that is a digit, up to the first byte that is none, and the number of these digits. The first byte
/// is the lowest.
#[inline]
fn digit_values(word: u64) -> (u64, usize) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A digit becomes its value. Any other byte becomes more than 9.
    let values = word ^ (ONES * 0x30);
    // The addition sets the high bit of a byte from 10 to 127. A carry can set it wrongly only in a byte after one that is no
    // digit, and only the first one counts.
    let not_digit = (values.wrapping_add(ONES * 0x76) | values) & (ONES * 0x80);
    (values, (not_digit.trailing_zeros() / 8) as usize)
}

/// The index of the first byte from `at` on that is not a digit.
pub(super) fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let (_, count) = digit_values(u64::from_le_bytes(*chunk));
        at += count;
        if count < chunk.len() {
            return at;
        }
    }
    while matches!(bytes.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    at
}

/// The length of the escape at `at`; `None` if it is none. Half of a surrogate pair is an escape, too.
#[inline]
pub(super) fn escape_length(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(2),
        _ => utf16_unit(bytes, at).map(|_| 6),
    }
}

/// The character of the escape at `at`, and the length of the escape.
#[inline]
pub(super) fn escaped_char(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let character = match bytes.get(at + 1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return escaped_unicode(bytes, at),
    };
    Some((character, 2))
}

/// [`escaped_char`] of `\uXXXX`, or of two of them that are a surrogate pair.
fn escaped_unicode(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let first = utf16_unit(bytes, at)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|character| (character, 6));
    }
    let second = utf16_unit(bytes, at + 6).filter(|second| (0xdc00..0xe000).contains(second))?;
    char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|character| (character, 12))
}

/// The UTF-16 code unit of the escape `\uXXXX` at `at`.
fn utf16_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// [`find_special`], one byte after the other.
    fn find_special_slowly(bytes: &[u8], at: usize) -> usize {
        let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        bytes[at..].iter().position(is_special).map_or(bytes.len(), |index| at + index)
    }

    #[test]
    fn every_byte_is_classified_in_every_lane() {
        for byte in 0..=u8::MAX {
            let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
            for lane in 0..CHUNK_BYTES {
                let mut chunk = [b'a'; CHUNK_BYTES];
                chunk[lane] = byte;
                assert_eq!(special_bits(&chunk), u32::from(is_special) << lane, "{byte:#x} in lane {lane}");
            }
            let expected = if is_special { 0xffff } else { 0 };
            assert_eq!(special_bits(&[byte; CHUNK_BYTES]), expected, "{byte:#x}");
        }
    }

    #[test]
    fn a_special_byte_is_found_at_every_distance_from_start_and_end() {
        for length in 0..=50 {
            for special in 0..length {
                let mut bytes = vec![b'x'; length];
                bytes[special] = b'"';
                for at in 0..=length {
                    assert_eq!(
                        find_special(&bytes, at),
                        find_special_slowly(&bytes, at),
                        "{special} of {length}, from {at}"
                    );
                }
            }
            assert_eq!(find_special(&vec![b'\xc3'; length], 0), length);
        }
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for (count, number) in
            ["", "7", "42", "900", "1234", "98765", "120000", "7654321", "99999999", "123456789"].iter().enumerate()
        {
            for after in [",_______", ".5______", "/_______", ":_______", "\u{ff}\u{ff}\u{ff}\u{ff}"] {
                let text = format!("{number}{after}");
                let (value, found) = leading_digits(text.as_bytes(), 0).unwrap();
                let expected: u64 = number[..count.min(8)].parse().unwrap_or(0);
                assert_eq!((value, found), (expected, count.min(8)), "{text}");
                assert_eq!(skip_digits(text.as_bytes(), 0), count, "{text}");
            }
        }
        assert_eq!(leading_digits(b"1234567", 0), None);
        assert_eq!(skip_digits(b"1234567", 0), 7);
    }

    #[test]
    fn numbers_at_the_end_of_the_text_are_read() {
        let text = b"\"id\":123456";
        for at in 5..=text.len() {
            let count = text.len() - at;
            let expected: u64 = std::str::from_utf8(&text[at..]).unwrap().parse().unwrap_or(0);
            assert_eq!(leading_digits(text, at), Some((expected, count)), "from {at}");
            assert_eq!(skip_digits(text, at), text.len());
        }
        assert_eq!(leading_digits(text, text.len() + 1), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn the_search_finds_what_a_byte_loop_finds(
            bytes in proptest::collection::vec(prop_oneof![8 => any::<u8>(), 1 => Just(b'"'), 1 => Just(b'\\')], 0..80),
            plain in 0..80_usize,
        ) {
            // A stretch without special bytes makes the search cross chunks.
            let mut bytes = bytes;
            for byte in bytes.iter_mut().take(plain) {
                *byte |= 0x80;
            }
            for at in 0..=bytes.len() {
                prop_assert_eq!(find_special(&bytes, at), find_special_slowly(&bytes, at), "from {}", at);
            }
        }

        #[test]
        fn the_digits_are_what_a_byte_loop_finds(bytes in proptest::collection::vec(prop_oneof![9 => b'0'..=b'9', 1 => any::<u8>()], 0..24)) {
            for at in 0..=bytes.len() {
                let count = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                prop_assert_eq!(skip_digits(&bytes, at), at + count);
                if let Some((value, found)) = leading_digits(&bytes, at) {
                    prop_assert_eq!(found, count.min(8));
                    let expected = bytes[at..at + found].iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
                    prop_assert_eq!(value, expected);
                }
            }
        }
    }
}

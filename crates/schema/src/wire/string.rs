//! Writing of JSON strings.

use super::WriteJson;
use crate::{EventId, ItemId, NativeItemId, NativeSessionId, SessionId};

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

impl WriteJson for str {
    fn write_json(&self, out: &mut Vec<u8>) {
        write_string(out, self);
    }
}

impl WriteJson for String {
    fn write_json(&self, out: &mut Vec<u8>) {
        write_string(out, self);
    }

    fn is_omitted(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! impl_write_json_for_ids {
    ($($id:ident)*) => {
        $(impl WriteJson for $id {
            fn write_json(&self, out: &mut Vec<u8>) {
                write_string(out, self.as_str());
            }
        })*
    };
}

impl_write_json_for_ids! { EventId SessionId ItemId NativeSessionId NativeItemId }

/// Appends a JSON string.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    if !write_short_plain(out, text) {
        out.push(b'"');
        write_escaped(out, text);
    }
    out.push(b'"');
}

/// Appends the opening quotation mark and the text, if the text has 4 to 32 bytes and needs no escapes, as most texts.
/// Returns whether it did. The first and the last bytes are copied as two overlapping chunks, so that every copy has a
/// constant size.
#[inline]
fn write_short_plain(out: &mut Vec<u8>, text: &[u8]) -> bool {
    const QUOTE: u64 = b'"' as u64;
    let end = out.len() + 1 + text.len();
    if let (Some(first), Some(last), ..=32) = (text.first_chunk::<16>(), text.last_chunk::<16>(), text.len()) {
        if !is_plain_block(first) || !is_plain_block(last) {
            return false;
        }
        out.push(b'"');
        out.extend_from_slice(first);
        out.truncate(end - last.len());
        out.extend_from_slice(last);
        return true;
    }
    if let (Some(first), Some(last), ..16) = (text.first_chunk::<8>(), text.last_chunk::<8>(), text.len()) {
        let (first, last) = (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
        if special_bytes(first) | special_bytes(last) != 0 {
            return false;
        }
        // The quotation mark and the first seven bytes, then the remaining ones.
        let remaining = last >> (8 * (15 - text.len()));
        let block = u128::from(QUOTE | first << 8) | u128::from(remaining) << 64;
        out.extend_from_slice(&block.to_le_bytes());
        out.truncate(end);
        return true;
    }
    if let (Some(first), Some(last), ..8) = (text.first_chunk::<4>(), text.last_chunk::<4>(), text.len()) {
        let (first, last) = (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
        if special_bytes(first | last << 32) != 0 {
            return false;
        }
        let block = QUOTE | first << 8 | last << (8 * (text.len() - 3));
        out.extend_from_slice(&block.to_le_bytes());
        out.truncate(end);
        return true;
    }
    false
}

/// Appends any text, with escapes where they are needed.
#[inline(never)]
fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    if is_plain(text) {
        return out.extend_from_slice(text);
    }
    let mut rest = text;
    while rest.len() >= 8 {
        rest = write_word(out, rest);
    }
    for byte in rest {
        write_byte(out, *byte);
    }
}

/// Whether the text needs no escapes. The last block may overlap the one before it, so that every block has 16 bytes.
fn is_plain(text: &[u8]) -> bool {
    if let Some(last) = text.last_chunk::<16>() {
        text.as_chunks::<16>().0.iter().all(is_plain_block) && is_plain_block(last)
    } else {
        text.iter().all(|byte| !is_special(*byte))
    }
}

/// Whether a block needs no escapes. The loop has no early exit, so that the compiler can vectorise it.
#[inline]
fn is_plain_block(block: &[u8; 16]) -> bool {
    !block.iter().fold(false, |found, byte| found | is_special(*byte))
}

/// Whether a byte has to be escaped.
#[expect(clippy::needless_bitwise_bool, reason = "a branch would keep the loop over a block from being unrolled")]
fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Appends the first eight bytes, or the bytes up to and including the first one that has to be escaped. Returns the
/// rest.
fn write_word<'a>(out: &mut Vec<u8>, text: &'a [u8]) -> &'a [u8] {
    let Some((word, after)) = text.split_first_chunk::<8>() else { return text };
    // All eight are copied, because that is one instruction; then the excess bytes are removed.
    out.extend_from_slice(word);
    let special = special_bytes(u64::from_le_bytes(*word));
    if special == 0 {
        return after;
    }
    let plain = (special.trailing_zeros() / 8) as usize;
    out.truncate(out.len() - (word.len() - plain));
    write_byte(out, word[plain]);
    &text[plain + 1..]
}

/// Sets the high bit of the first byte that has to be escaped. Bits of later bytes may be set wrongly.
fn special_bytes(word: u64) -> u64 {
    // Flipping this bit turns a quotation mark into 0x20 and leaves control characters below that, so that one
    // comparison finds both. A borrow can set a bit wrongly only in bytes after such a byte.
    let flipped = word ^ (ONES * 0x02);
    let quote_or_control = flipped.wrapping_sub(ONES * 0x21) & !flipped;
    let differing = word ^ (ONES * 0x5c);
    let backslash = differing.wrapping_sub(ONES) & !differing;
    (quote_or_control | backslash) & HIGH_BITS
}

/// Appends one byte, escaped if needed.
fn write_byte(out: &mut Vec<u8>, byte: u8) {
    let escaped = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        0x00..0x20 => {
            let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
        _ => return out.push(byte),
    };
    out.extend_from_slice(&[b'\\', escaped]);
}

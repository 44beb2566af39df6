//! Payloads as differences to the events that were made from them, and long events as differences to each other.
//!
//! Most of a payload's text is in its events too: the text of a message, the output of a tool. So the payloads of a
//! chunk are stored as pieces of their own, and references to pieces of the events' text. In the same way, the text of
//! long events is stored with references to the events before: a message is in its delta and in its completed item.
//!
//! The encoded form is a list of pairs: a piece that is not in the source, and a range of the source. Numbers are
//! variable-length (7 bits per byte, least significant first).

/// Length of the pieces that are looked up. Shorter pieces are not found.
const WINDOW: usize = 16;
/// Minimum distance between the windows of the events that are remembered.
const MIN_STRIDE: usize = 8;
/// Maximum number of remembered windows, so that long events cost little memory and time.
const MAX_WINDOWS: usize = 1 << 16;
/// Minimum length of a piece that is replaced by a reference. A reference has up to ten bytes.
const MIN_MATCH: usize = 24;
/// Number of fruitless lookups after which the step between two lookups grows by one: text without anything in common
/// with the events is not searched in full.
const LOOKUPS_PER_STEP: usize = 4096;

/// Maximum size of text that is decoded from references to itself.
const MAX_DECODED_BYTES: usize = 256 * 1024 * 1024;

/// Positions of windows in the source, by their hash. A later window replaces an earlier one.
struct WindowIndex<'a> {
    text: &'a [u8],
    positions: Vec<u32>,
    shift: u32,
    stride: usize,
    /// The next window to remember.
    next: usize,
}

impl<'a> WindowIndex<'a> {
    /// An index that remembers no window yet.
    fn new(text: &'a [u8]) -> Self {
        let stride = (text.len() / MAX_WINDOWS).max(MIN_STRIDE);
        let bits = (2 * text.len() / stride).next_power_of_two().ilog2().max(4);
        Self { text, positions: vec![u32::MAX; 1 << bits], shift: 64 - bits, stride, next: 0 }
    }

    /// Remembers the windows up to the one that ends at an offset.
    fn add_until(&mut self, end: usize) {
        while self.next + WINDOW <= end {
            if let (Some(slot), Ok(position)) = (self.slot(self.text, self.next), u32::try_from(self.next)) {
                self.positions[slot] = position;
            }
            self.next += self.stride;
        }
    }

    fn slot(&self, text: &[u8], position: usize) -> Option<usize> {
        let window = text.get(position..position + WINDOW)?;
        let (first, second) = window.split_first_chunk::<8>()?;
        let second = u64::from_le_bytes(*second.first_chunk::<8>()?);
        let mixed = u64::from_le_bytes(*first).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ second;
        usize::try_from(mixed.wrapping_mul(0xc2b2_ae3d_27d4_eb4f) >> self.shift).ok()
    }

    /// Position in the source that has the same window, if one is remembered.
    fn find(&self, text: &[u8], position: usize) -> Option<usize> {
        let found = usize::try_from(*self.positions.get(self.slot(text, position)?)?).ok()?;
        let window = text.get(position..position + WINDOW)?;
        (self.text.get(found..found + WINDOW)? == window).then_some(found)
    }
}

/// Encodes payloads as differences to the events' text.
pub(crate) fn encode(payloads: &str, events: &str) -> Vec<u8> {
    let mut index = WindowIndex::new(events.as_bytes());
    index.add_until(events.len());
    encode_pieces(payloads.as_bytes(), index, false)
}

/// Encodes text with references to what comes before in the same text.
pub(crate) fn encode_repeats(text: &str) -> Vec<u8> {
    encode_pieces(text.as_bytes(), WindowIndex::new(text.as_bytes()), true)
}

/// `is_own`: the text is its own source, which ends where the encoded part ends.
fn encode_pieces(text: &[u8], mut index: WindowIndex<'_>, is_own: bool) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len() / 4 + 16);
    let (mut position, mut copied, mut lookups) = (0, 0, 0);
    while position + WINDOW <= text.len() {
        if is_own {
            index.add_until(position);
        }
        let Some(found) = index.find(text, position) else {
            lookups += 1;
            position += 1 + lookups / LOOKUPS_PER_STEP;
            continue;
        };
        if is_own && position - found < MIN_MATCH {
            // A reference cannot be longer than the distance to its source. Text such as "xxxx" is left to the compression.
            position += 1;
            continue;
        }
        // A reference to the text itself is no longer than the distance, so it must not begin before: it has to reach the
        // position.
        let first = if is_own { copied.max(found) } else { copied };
        let before = common_suffix(&text[first..position], &index.text[..found]);
        let (start, from) = (position - before, found - before);
        let source_end = if is_own { start } else { index.text.len() };
        let length = common_prefix(&text[start..], &index.text[from..source_end]);
        if length < MIN_MATCH {
            position += 1;
            continue;
        }
        push_piece(&mut encoded, &text[copied..start]);
        push_number(&mut encoded, length);
        push_number(&mut encoded, from);
        (position, copied, lookups) = (start + length, start + length, 0);
    }
    push_piece(&mut encoded, &text[copied..]);
    encoded
}

/// Decodes payloads; `None` if the encoding is invalid, or belongs to other events.
pub(crate) fn decode(encoded: &[u8], events: &str) -> Option<String> {
    let mut payloads = Vec::new();
    decode_pieces(encoded, &mut payloads, |payloads, from, to| {
        payloads.extend_from_slice(events.as_bytes().get(from..to)?);
        Some(())
    })?;
    String::from_utf8(payloads).ok()
}

/// Decodes text with references to itself, and returns whether the encoding is valid. If not, the text is what comes
/// before the first error.
pub(crate) fn decode_repeats(encoded: &[u8]) -> (Vec<u8>, bool) {
    let mut text = Vec::new();
    let is_valid = decode_pieces(encoded, &mut text, |text, from, to| {
        let is_possible = to <= text.len() && text.len() + (to - from) <= MAX_DECODED_BYTES;
        is_possible.then(|| text.extend_from_within(from..to))
    });
    (text, is_valid.is_some())
}

/// `copy` adds a range of the source.
fn decode_pieces(
    mut encoded: &[u8],
    decoded: &mut Vec<u8>,
    copy: impl Fn(&mut Vec<u8>, usize, usize) -> Option<()>,
) -> Option<()> {
    loop {
        let piece = take_number(&mut encoded)?;
        decoded.extend_from_slice(encoded.split_off(..piece)?);
        if encoded.is_empty() {
            return Some(());
        }
        let length = take_number(&mut encoded)?;
        let from = take_number(&mut encoded)?;
        copy(decoded, from, from.checked_add(length)?)?;
    }
}

fn push_piece(encoded: &mut Vec<u8>, piece: &[u8]) {
    push_number(encoded, piece.len());
    encoded.extend_from_slice(piece);
}

fn push_number(encoded: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        encoded.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    encoded.push(number.to_le_bytes()[0]);
}

fn take_number(encoded: &mut &[u8]) -> Option<usize> {
    let mut number = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = *encoded.split_off_first()?;
        number |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Number of equal bytes at the start. Compares blocks first, which is faster.
fn common_prefix(left: &[u8], right: &[u8]) -> usize {
    const BLOCK: usize = 1024;
    let blocks = left.chunks_exact(BLOCK).zip(right.chunks_exact(BLOCK)).take_while(|(left, right)| left == right);
    let equal = BLOCK * blocks.count();
    equal + left[equal..].iter().zip(&right[equal..]).take_while(|(left, right)| left == right).count()
}

/// Number of equal bytes at the end.
fn common_suffix(left: &[u8], right: &[u8]) -> usize {
    left.iter().rev().zip(right.iter().rev()).take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_that_is_in_the_events_is_not_stored_again() {
        for length in [100, 10_000, 3_000_000] {
            let text: String = (0..)
                .flat_map(|number: u32| format!("line {number}\\n").into_bytes())
                .take(length)
                .map(char::from)
                .collect();
            let events = format!(r#"{{"event_id":"e","data":{{"delta":"{text}"}},"raw":null}}"#);
            let payload = format!(r#"{{"type":"delta","delta":"{text}"}}"#);
            let encoded = encode(&payload, &events);
            assert!(encoded.len() < 100, "{} of {length}", encoded.len());
            assert_eq!(decode(&encoded, &events), Some(payload));
        }
    }

    #[test]
    fn text_that_is_repeated_is_stored_once() {
        for length in [100, 10_000, 3_000_000] {
            let mut state = 1_u32;
            let text: String = std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                char::from(b'a' + u8::try_from(state >> 28).unwrap())
            })
            .take(length)
            .collect();
            let events =
                format!("{{\"delta\":\"{text}\"}}\n{{\"item\":{{\"text\":\"{text}\"}}}}\n{{\"again\":\"{text}\"}}");
            let encoded = encode_repeats(&events);
            assert!(encoded.len() < length + 100, "{} of {length}", encoded.len());
            assert_eq!(decode_repeats(&encoded), (events.clone().into_bytes(), true));
            // What comes before the error is returned.
            let (decoded, is_valid) = decode_repeats(&encoded[..encoded.len() - 1]);
            assert!(!is_valid && events.as_bytes().starts_with(&decoded) && decoded.len() > length);
        }
    }

    #[test]
    fn text_of_one_character_takes_no_longer_than_other_text() {
        // Comparing each position with all before it would take hours.
        for unit in ["x", "ab", "0123456789", "a piece of twenty-nine bytes, "] {
            let text = unit.repeat(1_000_000 / unit.len());
            let encoded = encode_repeats(&text);
            assert!(encoded.len() <= text.len() + 10);
            assert_eq!(decode_repeats(&encoded), (text.clone().into_bytes(), true));
            assert_eq!(decode(&encode(&text, &text), &text), Some(text));
        }
    }

    #[test]
    fn repeated_pieces_of_any_length_are_decoded_as_they_were_encoded() {
        let mut state = 1_usize;
        let mut random = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for _ in 0..40 {
            let mut text = String::from("the beginning of the text");
            while text.len() < 60_000 {
                let start = random(text.len());
                let end = (start + random(3000)).min(text.len());
                let piece = text[start..end].repeat(1 + random(3));
                text.push_str(&piece);
                text.push(char::from(b'a' + u8::try_from(random(26)).unwrap()));
            }
            let encoded = encode_repeats(&text);
            assert_eq!(decode_repeats(&encoded), (text.into_bytes(), true));
        }
    }

    #[test]
    fn text_that_refers_to_itself_has_a_maximum_size() {
        let mut encoded = Vec::new();
        push_piece(&mut encoded, &[b'x'; 1024]);
        let mut length = 1024;
        for _ in 0..40 {
            push_number(&mut encoded, length);
            push_number(&mut encoded, 0);
            push_piece(&mut encoded, b"");
            length *= 2;
        }
        let (decoded, is_valid) = decode_repeats(&encoded);
        assert!(!is_valid && decoded.len() <= MAX_DECODED_BYTES);
    }

    #[test]
    fn an_encoding_of_other_events_is_refused() {
        let text = "x".repeat(100);
        let encoded = encode(&text, &text);
        assert_eq!(decode(&encoded, "short"), None);
        assert_eq!(decode(&encoded[..encoded.len() - 1], &text), None);
        assert_eq!(decode(&[0xff; 20], &text), None);
        assert_eq!(decode(&[], &text), None);
        assert_eq!(decode(&encode("", ""), ""), Some(String::new()));
    }

    proptest! {
        #[test]
        fn payloads_are_decoded_as_they_were_encoded(
            events in "[ab\u{e4}]{0,300}",
            own in "[ab\u{e4}]{0,60}",
            pieces in proptest::collection::vec((0..300_usize, 0..300_usize), 0..6),
        ) {
            let mut payloads = own.clone();
            for (start, end) in pieces {
                payloads.push_str(events.get(start.min(end)..end).unwrap_or(&own));
            }
            let encoded = encode(&payloads, &events);
            prop_assert_eq!(decode(&encoded, &events), Some(payloads.clone()));
            let text = format!("{payloads}\n{events}\n{payloads}{own}");
            prop_assert_eq!(decode_repeats(&encode_repeats(&text)), (text.into_bytes(), true));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(encoded in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode(&encoded, "some text that has more than sixteen bytes");
            let _ = decode_repeats(&encoded);
        }
    }
}

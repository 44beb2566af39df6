//! Payloads as differences to the events that were made from them.
//!
//! Most of a payload's text is in its events too: the text of a message, the output of a tool. So the payloads of a
//! chunk are stored as pieces of their own, and references to pieces of the events' text.
//!
//! The encoded form is a list of pairs: a piece that is not in the events, and a range of the events' text. Numbers are
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

/// Positions of windows in the events' text, by their hash. A later window replaces an earlier one.
struct WindowIndex<'a> {
    text: &'a [u8],
    positions: Vec<u32>,
    shift: u32,
}

impl<'a> WindowIndex<'a> {
    fn new(text: &'a [u8]) -> Self {
        let stride = (text.len() / MAX_WINDOWS).max(MIN_STRIDE);
        let bits = (2 * text.len() / stride).next_power_of_two().ilog2().max(4);
        let mut index = Self { text, positions: vec![u32::MAX; 1 << bits], shift: 64 - bits };
        let last = text.len().checked_sub(WINDOW);
        for position in last.into_iter().flat_map(|last| (0..=last).step_by(stride)) {
            if let (Some(slot), Ok(position)) = (index.slot(text, position), u32::try_from(position)) {
                index.positions[slot] = position;
            }
        }
        index
    }

    fn slot(&self, text: &[u8], position: usize) -> Option<usize> {
        let window = text.get(position..position + WINDOW)?;
        let (first, second) = window.split_first_chunk::<8>()?;
        let second = u64::from_le_bytes(*second.first_chunk::<8>()?);
        let mixed = u64::from_le_bytes(*first).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ second;
        usize::try_from(mixed.wrapping_mul(0xc2b2_ae3d_27d4_eb4f) >> self.shift).ok()
    }

    /// Position in the events' text that has the same window, if one is remembered.
    fn find(&self, text: &[u8], position: usize) -> Option<usize> {
        let found = usize::try_from(*self.positions.get(self.slot(text, position)?)?).ok()?;
        let window = text.get(position..position + WINDOW)?;
        (self.text.get(found..found + WINDOW)? == window).then_some(found)
    }
}

/// Encodes payloads as differences to the events' text.
pub(crate) fn encode(payloads: &str, events: &str) -> Vec<u8> {
    let (text, index) = (payloads.as_bytes(), WindowIndex::new(events.as_bytes()));
    let mut encoded = Vec::with_capacity(text.len() / 4 + 16);
    let (mut position, mut copied, mut lookups) = (0, 0, 0);
    while position + WINDOW <= text.len() {
        let Some(found) = index.find(text, position) else {
            lookups += 1;
            position += 1 + lookups / LOOKUPS_PER_STEP;
            continue;
        };
        let before = common_suffix(&text[copied..position], &index.text[..found]);
        let (start, from) = (position - before, found - before);
        let length = common_prefix(&text[start..], &index.text[from..]);
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
pub(crate) fn decode(mut encoded: &[u8], events: &str) -> Option<String> {
    let mut payloads = Vec::new();
    loop {
        let piece = take_number(&mut encoded)?;
        payloads.extend_from_slice(encoded.split_off(..piece)?);
        if encoded.is_empty() {
            return String::from_utf8(payloads).ok();
        }
        let length = take_number(&mut encoded)?;
        let from = take_number(&mut encoded)?;
        payloads.extend_from_slice(events.as_bytes().get(from..from.checked_add(length)?)?);
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
            prop_assert_eq!(decode(&encoded, &events), Some(payloads));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(encoded in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode(&encoded, "some text that has more than sixteen bytes");
        }
    }
}

//! The stored form of a chunk: compressed, and with checksums.
//!
//! The events of a short chunk are stored as text; those of a longer one are compressed, if that saves space. Long events
//! are stored as differences to each other first ([`payload_delta`]), because they often have the same text. The payloads
//! are stored as differences to the events. A checksum tells a damaged row from an intact one, so that intact events need
//! not be parsed to be served. In a damaged row, a checksum for each event tells which of them are intact.

use std::borrow::Cow;

use crate::chunk::MAX_CHUNK_BYTES;
use crate::payload_delta;

/// Minimum size of events or payloads that are compressed. Less than a page of the database is not worth it.
const MIN_COMPRESSED_BYTES: usize = 4 * 1024;
/// Maximum size of events that are compressed. Only agents that send lines of the maximum length exceed it.
const MAX_COMPRESSED_BYTES: usize = 128 * 1024 * 1024;
/// Minimum size of events that are stored as differences to each other. It is more than one event of a normal chunk.
const MIN_REPEATS_BYTES: usize = 2 * MAX_CHUNK_BYTES;

/// First byte of encoded payloads that are not compressed.
const PLAIN: u8 = 0;
/// First byte of encoded payloads that are compressed.
const COMPRESSED: u8 = 1;
const CHECKSUM_BYTES: usize = 4;
/// Begins events that are stored as differences to each other. Other compressed events begin with their size, which is
/// smaller.
const REPEATS: [u8; 4] = [0xff; 4];
/// Stands for what could not be decoded. It is in no text.
const UNDECODED: u8 = 0xff;

/// The columns of a chunk's row, except the text of events that are not compressed.
#[derive(Debug)]
pub(crate) struct StoredChunk {
    compressed: Option<Vec<u8>>,
    pub(crate) payloads: Option<Vec<u8>>,
    pub(crate) checksum: u32,
    /// The checksums of the events, if there are several.
    pub(crate) event_checksums: Option<Vec<u8>>,
}

/// The stored events of a chunk: their text, or the compressed text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventColumn<'a> {
    Text(&'a [u8]),
    Compressed(&'a [u8]),
}

/// The row of a chunk does not have the content that was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DamagedChunk;

impl StoredChunk {
    /// Encodes the events of a chunk and their payload lines.
    pub(crate) fn new(events: &str, payloads: Option<&str>) -> Self {
        let compressed = encode_repeats(events).or_else(|| compress(events.as_bytes()));
        let checksum = crc32fast::hash(compressed.as_deref().unwrap_or(events.as_bytes()));
        let payloads = payloads.map(|payloads| encode_payloads(payloads, events));
        let checksums =
            || events.split('\n').flat_map(|event| crc32fast::hash(event.as_bytes()).to_le_bytes()).collect();
        let event_checksums = events.contains('\n').then(checksums);
        Self { compressed, payloads, checksum, event_checksums }
    }

    /// The column with the events; `text` are the events that this was made from.
    pub(crate) fn events<'a>(&'a self, text: &'a str) -> EventColumn<'a> {
        match &self.compressed {
            Some(compressed) => EventColumn::Compressed(compressed),
            None => EventColumn::Text(text.as_bytes()),
        }
    }

    /// Number of bytes that the row has.
    pub(crate) fn byte_len(&self, text: &str) -> usize {
        let columns = [&self.payloads, &self.event_checksums];
        let columns = columns.into_iter().flatten().map(Vec::len).sum::<usize>();
        self.compressed.as_ref().map_or(text.len(), Vec::len) + columns
    }
}

/// Decodes the column with the events.
pub(crate) fn decode_events(column: EventColumn<'_>, checksum: u32) -> Result<Cow<'_, str>, DamagedChunk> {
    let (EventColumn::Text(stored) | EventColumn::Compressed(stored)) = column;
    if crc32fast::hash(stored) != checksum {
        return Err(DamagedChunk);
    }
    match column {
        EventColumn::Text(text) => str::from_utf8(text).map(Cow::Borrowed).map_err(|_| DamagedChunk),
        EventColumn::Compressed(compressed) => {
            let text = match compressed.strip_prefix(&REPEATS) {
                Some(repeats) => decode_repeats(repeats),
                None => decompress(compressed),
            };
            text.and_then(|text| String::from_utf8(text).ok()).map(Cow::Owned).ok_or(DamagedChunk)
        }
    }
}

/// Whether an event of a damaged row is intact; `None` if that is not known. `index` is its place in the row.
pub(crate) fn is_intact(event: &str, index: usize, event_checksums: Option<&[u8]>) -> Option<bool> {
    let stored = event_checksums?.chunks_exact(CHECKSUM_BYTES).nth(index);
    Some(stored == Some(crc32fast::hash(event.as_bytes()).to_le_bytes().as_slice()))
}

/// Decodes the column with the events of a damaged row, as far as that is possible.
pub(crate) fn decode_damaged_events(column: EventColumn<'_>) -> Cow<'_, str> {
    let (EventColumn::Text(stored) | EventColumn::Compressed(stored)) = column;
    let text = match column {
        EventColumn::Text(text) => return String::from_utf8_lossy(text),
        EventColumn::Compressed(_) => match stored.strip_prefix(&REPEATS) {
            Some([PLAIN, body @ ..]) => payload_delta::decode_repeats(body).0,
            Some([_, body @ ..]) => payload_delta::decode_repeats(&decompress_start(body)).0,
            Some([]) => Vec::new(),
            None => decompress_start(stored),
        },
    };
    Cow::Owned(String::from_utf8_lossy(&text).into_owned())
}

/// Encodes events as differences to each other; `None` if that is not worth it.
fn encode_repeats(events: &str) -> Option<Vec<u8>> {
    if events.len() < MIN_REPEATS_BYTES || !events.contains('\n') {
        return None;
    }
    let delta = payload_delta::encode_repeats(events);
    if delta.len() > events.len() / 4 * 3 {
        return None;
    }
    let (kind, body) = compress_or_keep(delta);
    Some([REPEATS.as_slice(), &[kind], &body].concat())
}

fn decode_repeats(repeats: &[u8]) -> Option<Vec<u8>> {
    let (text, is_valid) = match repeats.split_first()? {
        (&PLAIN, body) => payload_delta::decode_repeats(body),
        (&COMPRESSED, body) => payload_delta::decode_repeats(&decompress(body)?),
        _ => return None,
    };
    is_valid.then_some(text)
}

/// The compressed bytes, or the bytes if compressing them is not worth it.
fn compress_or_keep(bytes: Vec<u8>) -> (u8, Vec<u8>) {
    match compress(&bytes) {
        Some(compressed) => (COMPRESSED, compressed),
        None => (PLAIN, bytes),
    }
}

fn encode_payloads(payloads: &str, events: &str) -> Vec<u8> {
    let (kind, body) = compress_or_keep(payload_delta::encode(payloads, events));
    let mut encoded = Vec::with_capacity(CHECKSUM_BYTES + 1 + body.len());
    encoded.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    encoded.push(kind);
    encoded.extend_from_slice(&body);
    encoded
}

/// Decodes the column with the payloads of these events.
pub(crate) fn decode_payloads(encoded: &[u8], events: &str) -> Result<String, DamagedChunk> {
    let (checksum, rest) = encoded.split_first_chunk::<CHECKSUM_BYTES>().ok_or(DamagedChunk)?;
    let (kind, body) = rest.split_first().ok_or(DamagedChunk)?;
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Err(DamagedChunk);
    }
    let payloads = match *kind {
        PLAIN => payload_delta::decode(body, events),
        COMPRESSED => decompress(body).and_then(|delta| payload_delta::decode(&delta, events)),
        _ => None,
    };
    payloads.ok_or(DamagedChunk)
}

/// Compresses bytes; `None` if that is not worth it.
pub(crate) fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    if !(MIN_COMPRESSED_BYTES..=MAX_COMPRESSED_BYTES).contains(&bytes.len()) {
        return None;
    }
    let compressed = lz4_flex::block::compress_prepend_size(bytes);
    (compressed.len() <= bytes.len() / 4 * 3).then_some(compressed)
}

/// Decompresses what [`compress`] made; `None` if it is something else.
pub(crate) fn decompress(compressed: &[u8]) -> Option<Vec<u8>> {
    decompressed_size(compressed)?;
    lz4_flex::block::decompress_size_prepended(compressed).ok()
}

/// Decompresses the start of what [`compress`] made, up to where it is damaged.
fn decompress_start(compressed: &[u8]) -> Vec<u8> {
    let Some(size) = decompressed_size(compressed) else { return Vec::new() };
    let mut text = vec![UNDECODED; size];
    // After an error, the rest is as it was before.
    let _ = lz4_flex::block::decompress_into(compressed.get(4..).unwrap_or_default(), &mut text);
    let end = text.iter().position(|byte| *byte == UNDECODED).unwrap_or(text.len());
    text.truncate(end);
    text
}

/// The size before compression, which is checked before the memory is allocated.
fn decompressed_size(compressed: &[u8]) -> Option<usize> {
    let size = usize::try_from(u32::from_le_bytes(*compressed.first_chunk()?)).ok()?;
    (size <= MAX_COMPRESSED_BYTES).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(events: &str, payloads: &str) -> (Vec<u8>, bool, StoredChunk) {
        let stored = StoredChunk::new(events, Some(payloads));
        let (column, is_text) = match stored.events(events) {
            EventColumn::Text(text) => (text.to_vec(), true),
            EventColumn::Compressed(bytes) => (bytes.to_vec(), false),
        };
        (column, is_text, stored)
    }

    #[test]
    fn long_chunks_are_compressed_and_short_ones_are_text() {
        for (count, expect_text) in [(5, true), (1_000, false)] {
            let events: Vec<String> = (0..count).map(|n| format!("{{\"sequence\":{n},\"raw\":null}}")).collect();
            let payloads: Vec<String> = (0..count).map(|n| format!("{{\"native\":{n}}}")).collect();
            let (events, payloads) = (events.join("\n"), payloads.join("\n"));
            let (column, is_text, stored) = columns(&events, &payloads);
            assert_eq!(is_text, expect_text);
            assert!(is_text || column.len() < events.len() / 2, "{} of {}", column.len(), events.len());
            let others = [&stored.payloads, &stored.event_checksums].map(|column| column.as_ref().unwrap().len());
            assert_eq!(stored.byte_len(&events), column.len() + others.iter().sum::<usize>());
            let value = if is_text { EventColumn::Text(&column) } else { EventColumn::Compressed(&column) };
            assert_eq!(decode_events(value, stored.checksum).unwrap(), events);
            assert_eq!(decode_payloads(stored.payloads.as_ref().unwrap(), &events).unwrap(), payloads);
        }
    }

    fn event(number: usize, text: &str) -> String {
        format!("{{\"sequence\":{number},\"text\":\"{text}\",\"raw\":null}}")
    }

    #[test]
    fn long_events_with_the_same_text_are_stored_once() {
        // Does not compress.
        let text = unordered_text(100_000);
        let events = [event(1, &text), event(2, &text), event(3, "short")].join("\n");
        let (column, is_text, stored) = columns(&events, "1\n^\n");
        assert!(!is_text && column.len() < 101_000, "{}", column.len());
        assert_eq!(decode_events(EventColumn::Compressed(&column), stored.checksum).unwrap(), events);
    }

    /// Text of letters in no order.
    fn unordered_text(length: usize) -> String {
        let mut state = 7_u64;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap()).to_ascii_lowercase()
        })
        .filter(|character| !['"', '\\'].contains(character))
        .take(length)
        .collect()
    }

    #[test]
    fn a_damaged_byte_costs_the_events_that_depend_on_it() {
        let texts: Vec<String> = (0..40).map(|number| unordered_text(300 + number)).collect();
        let compressed = (0..).zip(&texts).map(|(number, text)| event(number, &text.repeat(3)));
        let long = unordered_text(40_000);
        let repeats = (0..4).map(|number| event(number, &long));
        for events in [compressed.collect::<Vec<_>>().join("\n"), repeats.collect::<Vec<_>>().join("\n")] {
            let (column, is_text, stored) = columns(&events, "");
            assert!(!is_text);
            let checksums = stored.event_checksums.as_deref();
            let intact = |damaged: &[u8]| {
                let text = decode_damaged_events(EventColumn::Compressed(damaged));
                let lines = text.split('\n').zip(events.split('\n')).enumerate();
                let mut count = 0;
                for (index, (line, event)) in lines {
                    let is_intact = is_intact(line, index, checksums).unwrap();
                    assert_eq!(is_intact, line == event, "{index}");
                    count += usize::from(is_intact);
                }
                count
            };
            let all = events.split('\n').count();
            assert_eq!(intact(&column), all);
            let mut kept = 0;
            // The last byte may only say that nothing follows.
            let end = column.len() - 1;
            for index in (5..end).step_by(97).chain(end - 40..end) {
                let mut damaged = column.clone();
                damaged[index] ^= 4;
                let intact = intact(&damaged);
                assert!(intact < all, "byte {index}");
                kept = kept.max(intact);
            }
            // The events before the last one do not depend on it.
            assert_eq!(kept, all - 1);
        }
        assert_eq!(is_intact("", 0, None), None);
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let events = "{\"text\":\"some text that events and payloads share\"}".repeat(2);
        let (column, _, stored) = columns(&events, &events.replace("text", "TEXT"));
        for index in 0..column.len() {
            let mut damaged = column.clone();
            damaged[index] ^= 1;
            assert_eq!(decode_events(EventColumn::Text(&damaged), stored.checksum), Err(DamagedChunk));
        }
        let payloads = stored.payloads.unwrap();
        for index in 0..payloads.len() {
            let mut damaged = payloads.clone();
            damaged[index] ^= 1;
            // The byte that says whether the rest is compressed is not part of the checksum, but has two values only.
            assert_eq!(decode_payloads(&damaged, &events), Err(DamagedChunk), "{index}");
        }
    }
}

//! The stored form of a chunk: compressed, and with checksums.
//!
//! The events of a short chunk are stored as text; those of a longer one are compressed, if that saves space. The
//! payloads are stored as differences to the events ([`payload_delta`]). A checksum tells a damaged row from an intact
//! one, so that intact events need not be parsed to be served.

use std::borrow::Cow;

use crate::payload_delta;

/// Minimum size of events or payloads that are compressed. Less than a page of the database is not worth it.
const MIN_COMPRESSED_BYTES: usize = 4 * 1024;
/// Maximum size of events that are compressed. A longer chunk is a single event; compressing it would take too long.
const MAX_COMPRESSED_BYTES: usize = 4 * 1024 * 1024;

/// First byte of encoded payloads that are not compressed.
const PLAIN: u8 = 0;
/// First byte of encoded payloads that are compressed.
const COMPRESSED: u8 = 1;
const CHECKSUM_BYTES: usize = 4;

/// The columns of a chunk's row, except the text of events that are not compressed.
#[derive(Debug)]
pub(crate) struct StoredChunk {
    compressed: Option<Vec<u8>>,
    pub(crate) payloads: Option<Vec<u8>>,
    pub(crate) checksum: u32,
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
        let compressed = compress(events.as_bytes());
        let checksum = crc32fast::hash(compressed.as_deref().unwrap_or(events.as_bytes()));
        let payloads = payloads.map(|payloads| encode_payloads(payloads, events));
        Self { compressed, payloads, checksum }
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
        self.compressed.as_ref().map_or(text.len(), Vec::len) + self.payloads.as_ref().map_or(0, Vec::len)
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
            let text = decompress(compressed).and_then(|text| String::from_utf8(text).ok());
            text.map(Cow::Owned).ok_or(DamagedChunk)
        }
    }
}

fn encode_payloads(payloads: &str, events: &str) -> Vec<u8> {
    let delta = payload_delta::encode(payloads, events);
    let (kind, body) = match compress(&delta) {
        Some(compressed) => (COMPRESSED, compressed),
        None => (PLAIN, delta),
    };
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
    let size = u32::from_le_bytes(*compressed.first_chunk()?);
    // Checked before the memory is allocated.
    let is_plausible = usize::try_from(size).is_ok_and(|size| size <= MAX_COMPRESSED_BYTES);
    is_plausible.then(|| lz4_flex::block::decompress_size_prepended(compressed).ok())?
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
            assert_eq!(stored.byte_len(&events), column.len() + stored.payloads.as_ref().unwrap().len());
            let value = if is_text { EventColumn::Text(&column) } else { EventColumn::Compressed(&column) };
            assert_eq!(decode_events(value, stored.checksum).unwrap(), events);
            assert_eq!(decode_payloads(stored.payloads.as_ref().unwrap(), &events).unwrap(), payloads);
        }
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

//! Entry points for the fuzz targets: the encoding of chunks, which is private otherwise.

use interlingua_schema::RawJson;

use crate::chunk::{Chunks, split};
use crate::stored_chunk::{EventColumn, StoredChunk, decode_damaged_events, decode_events, decode_payloads};

/// Decodes arbitrary bytes as the columns of a chunk, with a valid checksum and as damaged ones.
pub fn decode_chunk(bytes: &[u8]) {
    let _ = decode_damaged_events(EventColumn::Compressed(bytes));
    let events = decode_events(EventColumn::Compressed(bytes), crc32fast::hash(bytes));
    let _ = decode_events(EventColumn::Text(bytes), crc32fast::hash(bytes));
    let events = events.as_deref().unwrap_or("{}");
    let mut encoded = Vec::from(crc32fast::hash(bytes.get(1..).unwrap_or_default()).to_le_bytes());
    encoded.extend_from_slice(bytes);
    if let Ok(payloads) = decode_payloads(&encoded, events) {
        let _ = split(events, Some(&payloads)).count();
    }
}

/// Stores events with their payloads and reads them again.
///
/// # Panics
///
/// If they are not read as they were stored.
pub fn round_trip_chunk<'a>(events: impl Iterator<Item = &'a str>, payloads: impl Iterator<Item = &'a str>) {
    let payloads = payloads.map(|payload| (!payload.is_empty()).then(|| RawJson::from_payload(payload)));
    let all: Vec<(&str, Option<RawJson>)> = events.zip(payloads.chain(std::iter::repeat(None))).collect();
    let mut chunks = Chunks::default();
    for (event, payload) in &all {
        chunks.push(event.len(), payload.clone());
    }
    let mut read = 0;
    for chunk in chunks.iter() {
        let stored_events = &all[chunk.events.clone()];
        let text = stored_events.iter().map(|(event, _)| *event).collect::<Vec<_>>().join("\n");
        let stored = StoredChunk::new(&text, chunks.payloads(chunk));
        let read_text = decode_events(stored.events(&text), stored.checksum).expect("stored events can be read");
        let read_payloads =
            stored.payloads.as_ref().map(|column| decode_payloads(column, &read_text).expect("payloads can be read"));
        let lines: Vec<_> = split(&read_text, read_payloads.as_deref()).collect();
        assert_eq!(lines.len(), stored_events.len());
        for ((event, payload), (read_event, read_payload)) in stored_events.iter().zip(lines) {
            assert_eq!(*event, read_event);
            assert_eq!(payload.as_ref().map(RawJson::as_str), read_payload);
        }
        read += stored_events.len();
    }
    assert_eq!(read, all.len());
}

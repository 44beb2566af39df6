//! Chunks: how many events share one row.
//!
//! A row costs several times as much as the few hundred bytes of an event, so the events of an append are stored as
//! chunks: their JSON joined by line breaks, at the place of the last event. The events after a given one therefore
//! start in the first row behind its place, and the sequence of a line follows from its distance to the last line.
//!
//! Payloads are another column of the same row, with one line per event: the payload, nothing, or [`SAME_PAYLOAD`].
//! `SQLite` reads a long row only up to the requested column, so readers without payloads do not load them. A separate
//! table would cost one more page per commit. `stored_chunk` encodes both columns.

use std::ops::Range;

use interlingua_schema::RawJson;

/// Maximum size of the events of a chunk, and of its payloads, unless a single one is larger. Reading one event means
/// reading its whole chunk.
pub(crate) const MAX_CHUNK_BYTES: usize = 16 * 1024;

/// Maximum number of events longer than a chunk that share one, and its maximum size. Such events often have the same text,
/// which is stored once in a chunk.
const MAX_LONG_EVENTS: usize = 4;
const MAX_LONG_CHUNK_BYTES: usize = 64 * 1024 * 1024;

/// Stands for the last payload that was written in full in the same chunk. It is not valid JSON.
const SAME_PAYLOAD: &str = "^";

/// Consecutive events of an append that are stored in one row, with their payloads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Indices of the events in the append.
    pub(crate) events: Range<usize>,
    /// Range of the payload lines in [`Chunks::payloads`].
    payloads: Range<usize>,
    has_payload: bool,
}

/// The chunks of an append.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    list: Vec<Chunk>,
    /// Size of the events of the last chunk, each with its line break.
    bytes: usize,
    /// Number of events of the last chunk that are longer than a chunk.
    long_events: usize,
    /// One line per event, each with its line break.
    payloads: String,
    /// The last payload that was written in full.
    last: Option<RawJson>,
}

impl Chunks {
    /// Adds the next event: the size of its text, and its payload.
    pub(crate) fn push(&mut self, bytes: usize, payload: Option<RawJson>) {
        // Events made from one payload share its memory, so comparing pointers first is fast.
        let is_last = |payload: &RawJson| {
            self.last
                .as_ref()
                .is_some_and(|last| last.as_str().as_ptr() == payload.as_str().as_ptr() || last == payload)
        };
        let shared = payload.as_ref().is_some_and(is_last);
        if !self.has_room(bytes, payload.as_ref().filter(|_| !shared), shared) {
            self.start_chunk();
        }
        let is_written = shared && self.list.last().is_some_and(|chunk| chunk.has_payload);
        match &payload {
            Some(_) if is_written => self.payloads.push_str(SAME_PAYLOAD),
            Some(payload) => self.payloads.push_str(payload.as_str()),
            None => {}
        }
        self.payloads.push('\n');
        self.bytes += bytes + 1;
        self.long_events += usize::from(bytes > MAX_CHUNK_BYTES);
        if let Some(chunk) = self.list.last_mut() {
            chunk.events.end += 1;
            chunk.payloads.end = self.payloads.len();
            chunk.has_payload |= payload.is_some();
        }
        if payload.is_some() && !is_written {
            self.last = payload;
        }
    }

    /// Whether the event fits into the last chunk.
    fn has_room(&self, bytes: usize, new: Option<&RawJson>, shared: bool) -> bool {
        let Some(chunk) = self.list.last() else { return false };
        let len = |payload: &RawJson| payload.as_str().len();
        // A new chunk has to repeat a shared payload. A payload longer than a chunk is not repeated: the chunk grows.
        let would_repeat_long_payload =
            shared && chunk.has_payload && self.last.as_ref().map_or(0, len) > MAX_CHUNK_BYTES;
        let is_long_like_others = bytes > MAX_CHUNK_BYTES
            && self.long_events == chunk.events.len()
            && self.long_events < MAX_LONG_EVENTS
            && self.bytes + bytes <= MAX_LONG_CHUNK_BYTES;
        would_repeat_long_payload
            || is_long_like_others
            || self.bytes + bytes <= MAX_CHUNK_BYTES
                && new.is_none_or(|new| !chunk.has_payload || chunk.payloads.len() + len(new) <= MAX_CHUNK_BYTES)
    }

    fn start_chunk(&mut self) {
        let (events, payloads) = self.list.last().map_or((0, 0), |chunk| (chunk.events.end, chunk.payloads.end));
        self.list.push(Chunk { events: events..events, payloads: payloads..payloads, has_payload: false });
        (self.bytes, self.long_events) = (0, 0);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.list.iter()
    }

    /// Payload lines of a chunk; `None` if no event of it has a payload.
    pub(crate) fn payloads(&self, chunk: &Chunk) -> Option<&str> {
        self.payloads.get(chunk.payloads.clone()).filter(|_| chunk.has_payload)?.strip_suffix('\n')
    }
}

/// Splits a stored chunk into its events, each with its payload. Without `payloads`, no event has one.
pub(crate) fn split<'a>(
    events: &'a str,
    payloads: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
    let mut lines = payloads.map(|payloads| payloads.split('\n'));
    let mut last = None;
    events.split('\n').map(move |event| {
        let payload = match lines.as_mut().and_then(Iterator::next) {
            None | Some("") => None,
            Some(SAME_PAYLOAD) => last,
            payload => {
                last = payload;
                last
            }
        };
        (event, payload)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(text: &str) -> RawJson {
        RawJson::from_payload(text)
    }

    fn long_payload(letter: char, length: usize) -> RawJson {
        payload(&format!("\"{}\"", letter.to_string().repeat(length - 2)))
    }

    /// Divides events of these sizes and payloads into chunks: the number of events and the payload lines of each.
    fn divide(events: impl IntoIterator<Item = (usize, Option<RawJson>)>) -> Vec<(usize, Option<String>)> {
        let mut chunks = Chunks::default();
        for (bytes, payload) in events {
            chunks.push(bytes, payload);
        }
        chunks.iter().map(|chunk| (chunk.events.len(), chunks.payloads(chunk).map(str::to_owned))).collect()
    }

    #[test]
    fn a_payload_is_written_once_for_the_events_made_from_it() {
        let (one, two) = (payload("1"), payload("2"));
        let events = [None, Some(&one), Some(&one), None, Some(&one), Some(&two), None];
        let stored = divide(events.map(|payload| (10, payload.cloned())));
        assert_eq!(stored, [(7, Some("\n1\n^\n\n^\n2\n".to_owned()))]);
        assert_eq!(divide([(10, None), (10, None)]), [(2, None)]);
        assert_eq!(divide([]), []);
    }

    #[test]
    fn a_new_chunk_repeats_a_shared_payload() {
        let one = payload("1");
        let stored = divide([5_000; 5].map(|bytes| (bytes, Some(one.clone()))));
        assert_eq!(stored, [(3, Some("1\n^\n^".to_owned())), (2, Some("1\n^".to_owned()))]);
        let stored = divide([(15_000, Some(one.clone())), (15_000, None), (1, Some(one))]);
        assert_eq!(stored, [(1, Some("1".to_owned())), (2, Some("\n1".to_owned()))]);
    }

    #[test]
    fn an_event_longer_than_a_chunk_gets_its_own_chunk() {
        let stored =
            divide([(10, None), (MAX_CHUNK_BYTES + 1, None), (MAX_CHUNK_BYTES - 11, None), (10, None), (1, None)]);
        assert_eq!(stored.iter().map(|(events, _)| *events).collect::<Vec<_>>(), [1, 1, 2, 1]);
    }

    #[test]
    fn events_longer_than_a_chunk_share_one() {
        let long = MAX_CHUNK_BYTES + 1;
        let count = |sizes: &[usize]| -> Vec<usize> {
            divide(sizes.iter().map(|bytes| (*bytes, None))).iter().map(|(events, _)| *events).collect()
        };
        assert_eq!(count(&[10, long, long, 10, long]), [1, 2, 1, 1]);
        assert_eq!(count(&[long; 6]), [4, 2]);
        assert_eq!(count(&[MAX_LONG_CHUNK_BYTES - 10, long]), [1, 1]);
    }

    #[test]
    fn payloads_count_towards_the_size_of_a_chunk() {
        let stored = divide(['a', 'b', 'c', 'd'].map(|letter| (10, Some(long_payload(letter, 7_500)))));
        assert_eq!(stored.iter().map(|(events, _)| *events).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn a_payload_longer_than_a_chunk_is_not_repeated() {
        let long = long_payload('a', MAX_CHUNK_BYTES + 1);
        let mut events = vec![(10, None)];
        events.extend([10_000; 3].map(|bytes| (bytes, Some(long.clone()))));
        events.push((10, Some(payload("1"))));
        let stored = divide(events);
        let expected = format!("\n{}\n^\n^", long.as_str());
        assert_eq!(stored, [(4, Some(expected)), (1, Some("1".to_owned()))]);
    }

    #[test]
    fn a_payload_with_line_breaks_stays_one_line() {
        let payload: RawJson = serde_json::from_str("{\n\"a\": \"\\n\"\n}").unwrap();
        let stored = divide([(10, Some(payload)), (10, None)]);
        assert_eq!(stored, [(2, Some("{ \"a\": \"\\n\" }\n".to_owned()))]);
    }

    #[test]
    fn events_are_read_with_their_payloads() {
        let read = |events, payloads| split(events, payloads).collect::<Vec<_>>();
        assert_eq!(
            read("a\nb\nc\nd\ne", Some("\n1\n^\n\n^")),
            [("a", None), ("b", Some("1")), ("c", Some("1")), ("d", None), ("e", Some("1"))]
        );
        assert_eq!(read("a\nb", None), [("a", None), ("b", None)]);
    }
}

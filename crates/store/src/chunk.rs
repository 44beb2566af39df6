//! How events lie in rows: many of them in one.
//!
//! A row costs several times as much as the few hundred bytes of an event, so the events of an append are stored as
//! chunks: lines joined by line breaks, at the place of the last of them. What follows an event therefore begins in the
//! first row behind its place, and a line's sequence follows from how far it is from the last.
//!
//! Their payloads lie behind them in the same row, with as many lines: the payload, or nothing, or [`SAME`]. `SQLite`
//! reads a long row only as far as it is asked for, so whoever does not want them does not read them; and a commit has
//! one page less to write than if they had a table of their own.

use std::ops::Range;

use interlingua_schema::RawJson;

/// A chunk of events, or of payloads, is no longer than this unless one of them is: whoever wants one event has to read
/// the chunk.
pub(crate) const LONGEST: usize = 16 * 1024;

/// Stands for the payload that was last written out in the same chunk. No JSON looks like this.
const SAME: &str = "^";

/// Some events of an append, which become one row together with their payloads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// Which of the events.
    pub(crate) events: Range<usize>,
    payloads: Range<usize>,
    has_payload: bool,
}

/// The events of an append as they are divided into chunks.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    list: Vec<Chunk>,
    /// How long the events of the last chunk are, each with its line break.
    bytes: usize,
    /// A line for every event, each with its line break.
    payloads: String,
    /// What was last written out.
    last: Option<RawJson>,
}

impl Chunks {
    /// Takes in the next event: how long its text is, and its payload.
    pub(crate) fn push(&mut self, bytes: usize, payload: Option<RawJson>) {
        // The events made from one payload share it, so that telling whether it is the same one is quick.
        let is_last = |payload: &RawJson| {
            self.last
                .as_ref()
                .is_some_and(|last| last.as_str().as_ptr() == payload.as_str().as_ptr() || last == payload)
        };
        let shared = payload.as_ref().is_some_and(is_last);
        if !self.has_room(bytes, payload.as_ref().filter(|_| !shared), shared) {
            self.begin();
        }
        let known = shared && self.list.last().is_some_and(|chunk| chunk.has_payload);
        match &payload {
            Some(_) if known => self.payloads.push_str(SAME),
            Some(payload) => self.payloads.push_str(payload.as_str()),
            None => {}
        }
        self.payloads.push('\n');
        self.bytes += bytes + 1;
        if let Some(chunk) = self.list.last_mut() {
            chunk.events.end += 1;
            chunk.payloads.end = self.payloads.len();
            chunk.has_payload |= payload.is_some();
        }
        if payload.is_some() && !known {
            self.last = payload;
        }
    }

    /// Whether the last chunk takes another event.
    fn has_room(&self, bytes: usize, new: Option<&RawJson>, shared: bool) -> bool {
        let Some(chunk) = self.list.last() else { return false };
        let len = |payload: &RawJson| payload.as_str().len();
        // A new chunk has to repeat a payload that is shared. One that is longer than a chunk is not repeated.
        let repeats_much = shared && chunk.has_payload && self.last.as_ref().map_or(0, len) > LONGEST;
        repeats_much
            || self.bytes + bytes <= LONGEST
                && new.is_none_or(|new| !chunk.has_payload || chunk.payloads.len() + len(new) <= LONGEST)
    }

    fn begin(&mut self) {
        let (events, payloads) = self.list.last().map_or((0, 0), |chunk| (chunk.events.end, chunk.payloads.end));
        self.list.push(Chunk { events: events..events, payloads: payloads..payloads, has_payload: false });
        self.bytes = 0;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Chunk> {
        self.list.iter()
    }

    /// The payloads of a chunk, if its events have any.
    pub(crate) fn payloads(&self, chunk: &Chunk) -> Option<&str> {
        self.payloads.get(chunk.payloads.clone()).filter(|_| chunk.has_payload)?.strip_suffix('\n')
    }
}

/// A chunk as it is read: events, each with its payload if it has one and payloads are read too.
pub(crate) fn events<'a>(
    events: &'a str,
    payloads: Option<&'a str>,
) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
    let mut lines = payloads.map(|payloads| payloads.split('\n'));
    let mut last = None;
    events.split('\n').map(move |event| {
        let payload = match lines.as_mut().and_then(Iterator::next) {
            None | Some("") => None,
            Some(SAME) => last,
            payload => {
                last = payload;
                last
            }
        };
        (event, payload)
    })
}

/// How many events a chunk has.
pub(crate) fn count(events: &str) -> u64 {
    let mut breaks = 0;
    for byte in events.bytes() {
        breaks += u64::from(byte == b'\n');
    }
    breaks + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::from_payload(text)
    }

    fn long(letter: char, length: usize) -> RawJson {
        json(&format!("\"{}\"", letter.to_string().repeat(length - 2)))
    }

    /// The chunks of events so long, made from these payloads: how many events, and which payloads.
    fn divided(events: impl IntoIterator<Item = (usize, Option<RawJson>)>) -> Vec<(usize, Option<String>)> {
        let mut chunks = Chunks::default();
        for (bytes, payload) in events {
            chunks.push(bytes, payload);
        }
        chunks.iter().map(|chunk| (chunk.events.len(), chunks.payloads(chunk).map(str::to_owned))).collect()
    }

    #[test]
    fn a_payload_is_written_once_for_the_events_made_from_it() {
        let (one, two) = (json("1"), json("2"));
        let events = [None, Some(&one), Some(&one), None, Some(&one), Some(&two), None];
        let stored = divided(events.map(|payload| (10, payload.cloned())));
        assert_eq!(stored, [(7, Some("\n1\n^\n\n^\n2\n".to_owned()))]);
        assert_eq!(divided([(10, None), (10, None)]), [(2, None)]);
        assert_eq!(divided([]), []);
    }

    #[test]
    fn a_chunk_that_begins_with_a_shared_payload_repeats_it() {
        let one = json("1");
        let stored = divided([5_000; 5].map(|bytes| (bytes, Some(one.clone()))));
        assert_eq!(stored, [(3, Some("1\n^\n^".to_owned())), (2, Some("1\n^".to_owned()))]);
        let stored = divided([(15_000, Some(one.clone())), (15_000, None), (1, Some(one))]);
        assert_eq!(stored, [(1, Some("1".to_owned())), (2, Some("\n1".to_owned()))]);
    }

    #[test]
    fn what_is_longer_than_a_chunk_is_one_of_its_own() {
        let stored = divided([(10, None), (LONGEST + 1, None), (LONGEST - 11, None), (10, None), (1, None)]);
        assert_eq!(stored.iter().map(|(events, _)| *events).collect::<Vec<_>>(), [1, 1, 2, 1]);
    }

    #[test]
    fn payloads_fill_a_chunk_too() {
        let stored = divided(['a', 'b', 'c', 'd'].map(|letter| (10, Some(long(letter, 7_500)))));
        assert_eq!(stored.iter().map(|(events, _)| *events).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn a_payload_longer_than_a_chunk_is_not_repeated() {
        let payload = long('a', LONGEST + 1);
        let mut events = vec![(10, None)];
        events.extend([10_000; 3].map(|bytes| (bytes, Some(payload.clone()))));
        events.push((10, Some(json("1"))));
        let stored = divided(events);
        let expected = format!("\n{}\n^\n^", payload.as_str());
        assert_eq!(stored, [(4, Some(expected)), (1, Some("1".to_owned()))]);
    }

    #[test]
    fn a_payload_with_line_breaks_stays_one_line() {
        let payload: RawJson = serde_json::from_str("{\n\"a\": \"\\n\"\n}").unwrap();
        let stored = divided([(10, Some(payload)), (10, None)]);
        assert_eq!(stored, [(2, Some("{ \"a\": \"\\n\" }\n".to_owned()))]);
    }

    #[test]
    fn events_are_read_with_their_payloads() {
        let read = |text, payloads| events(text, payloads).collect::<Vec<_>>();
        assert_eq!(
            read("a\nb\nc\nd\ne", Some("\n1\n^\n\n^")),
            [("a", None), ("b", Some("1")), ("c", Some("1")), ("d", None), ("e", Some("1"))]
        );
        assert_eq!(read("a\nb", None), [("a", None), ("b", None)]);
        assert_eq!((count("a"), count("a\nb\nc")), (1, 3));
    }
}

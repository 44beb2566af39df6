//! Reading events: JSON text that is ready to be sent.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crate::chunk;

/// Whether events are read with the native payload that they were made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawPayloads {
    /// `raw` is null.
    #[default]
    Omit,
    /// `raw` is the native payload; null if the event has none.
    Include,
}

/// How much to read at once. The first event is returned whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Maximum number of events.
    pub max_events: usize,
    /// Stops after the event that reaches this number of bytes.
    pub max_bytes: usize,
}

/// Consecutive events as text. It is built once and shared by all readers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct EventLines {
    /// Sequence of the first event.
    first: u64,
    /// The events' JSON, joined by line breaks.
    text: String,
    /// Offset of the end of each event in `text`.
    ends: Vec<usize>,
}

impl EventLines {
    pub(crate) fn new(first: u64, text: String, ends: Vec<usize>) -> Self {
        Self { first, text, ends }
    }

    /// Size of the events in bytes, without the line breaks between them.
    pub(crate) fn byte_len(&self) -> usize {
        self.range_byte_len(&(0..self.len()))
    }

    fn range_byte_len(&self, events: &Range<usize>) -> usize {
        // Each event has a line break before it that does not count.
        self.start(events.end).saturating_sub(self.start(events.start) + events.len())
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Sequences of the first and the last event; `None` if there are no events.
    pub(crate) fn sequence_range(&self) -> Option<(u64, u64)> {
        let last = self.len().checked_sub(1)?;
        Some((self.first, self.first + last as u64))
    }

    /// Sequence and text of the event at an index.
    pub(crate) fn get(&self, index: usize) -> Option<(u64, &str)> {
        Some((self.first + index as u64, self.text(&(index..index + 1))?))
    }

    /// Text of the events in a range of indices, joined by line breaks.
    pub(crate) fn text(&self, events: &Range<usize>) -> Option<&str> {
        let end = *self.ends.get(events.end.checked_sub(1)?)?;
        self.text.get(self.start(events.start)..end)
    }

    /// Offset of the event at an index.
    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).and_then(|previous| self.ends.get(previous)).map_or(0, |end| end + 1)
    }

    /// Adds an event. Its `"raw":null` becomes the payload.
    fn push(&mut self, json: &str, payload: Option<&str>) {
        if !self.ends.is_empty() {
            self.text.push('\n');
        }
        match (payload, json.strip_suffix("null}")) {
            (Some(payload), Some(start)) => {
                self.text.push_str(start);
                self.text.push_str(payload);
                self.text.push('}');
            }
            _ => self.text.push_str(json),
        }
        self.ends.push(self.text.len());
    }
}

/// Consecutive events of a session, each as one line of JSON. Cloning it copies a pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    lines: Arc<EventLines>,
    range: Range<usize>,
}

impl Batch {
    pub(crate) fn from_lines(lines: EventLines) -> Self {
        Self { range: 0..lines.len(), lines: Arc::new(lines) }
    }

    /// All events of `lines`.
    pub(crate) fn whole(lines: &Arc<EventLines>) -> Self {
        Self { range: 0..lines.len(), lines: Arc::clone(lines) }
    }

    /// The events of `lines` with a sequence higher than `after`, up to the limits; `None` if `lines` does not contain
    /// the next event.
    pub(crate) fn after(lines: &Arc<EventLines>, after: u64, limits: ReadLimits) -> Option<Self> {
        let (first, last) = lines.sequence_range()?;
        let next = after.checked_add(1).filter(|next| (first..=last).contains(next))?;
        let start = usize::try_from(next - first).ok()?;
        let max_end = start.saturating_add(limits.max_events.max(1)).min(lines.len());
        let full = (start..max_end).position(|index| lines.range_byte_len(&(start..index + 1)) >= limits.max_bytes);
        let end = full.map_or(max_end, |index| start + index + 1);
        Some(Self { lines: Arc::clone(lines), range: start..end })
    }

    /// Sequence and JSON text of each event.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        self.range.clone().filter_map(|index| self.lines.get(index))
    }

    /// The JSON text of the event with this sequence, which shares the memory of the batch.
    #[must_use]
    pub fn text(&self, sequence: u64) -> Option<EventText> {
        let index = usize::try_from(sequence.checked_sub(self.lines.first)?).ok()?;
        let is_here = self.range.contains(&index);
        is_here.then(|| EventText { lines: Arc::clone(&self.lines), index })
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Sequence of the last event; `None` if there are no events.
    #[must_use]
    pub fn last_sequence(&self) -> Option<u64> {
        self.lines.get(self.range.end.checked_sub(1)?).map(|(sequence, _)| sequence)
    }

    /// Size of the events in bytes, without the line breaks between them.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.lines.range_byte_len(&self.range)
    }
}

/// The JSON text of an event. Cloning it copies a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventText {
    lines: Arc<EventLines>,
    index: usize,
}

impl AsRef<[u8]> for EventText {
    fn as_ref(&self) -> &[u8] {
        self.lines.text(&(self.index..self.index + 1)).unwrap_or_default().as_bytes()
    }
}

impl EventLines {
    /// An empty list whose first event will be the one after `after`.
    pub(crate) fn after(after: u64) -> Self {
        Self { first: after.saturating_add(1), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sequence of the event that is added next.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.len() as u64
    }

    /// Adds the events of a chunk that were not read already. Breaks when a limit is reached.
    pub(crate) fn push_chunk(
        &mut self,
        read_already: usize,
        events: &str,
        payloads: Option<&str>,
        limits: ReadLimits,
    ) -> ControlFlow<()> {
        chunk::split(events, payloads)
            .skip(read_already)
            .try_for_each(|(event, payload)| self.push_within(event, payload, limits))
    }

    /// Adds an event. Breaks when a limit is reached.
    pub(crate) fn push_within(&mut self, event: &str, payload: Option<&str>, limits: ReadLimits) -> ControlFlow<()> {
        self.push(event, payload);
        if self.len() >= limits.max_events || self.byte_len() >= limits.max_bytes {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(sequences: std::ops::RangeInclusive<u64>) -> Arc<EventLines> {
        let mut lines = EventLines { first: *sequences.start(), ..EventLines::default() };
        for sequence in sequences {
            lines.push(&format!("{{\"sequence\":{sequence:04}}}"), None);
        }
        Arc::new(lines)
    }

    #[test]
    fn a_payload_replaces_null() {
        let mut lines = EventLines { first: 4, ..EventLines::default() };
        lines.push(r#"{"sequence":4,"raw":null}"#, Some(r#"{"a" : 1}"#));
        lines.push(r#"{"sequence":5,"raw":null}"#, None);
        let batch = Batch::from_lines(lines);
        let events: Vec<_> = batch.iter().collect();
        assert_eq!(events, [(4, r#"{"sequence":4,"raw":{"a" : 1}}"#), (5, r#"{"sequence":5,"raw":null}"#)]);
        assert_eq!((batch.len(), batch.last_sequence()), (2, Some(5)));
    }

    #[test]
    fn a_batch_holds_only_the_events_after_a_sequence() {
        let lines = lines(11..=20);
        let all = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };
        let sequences = |after, limits| {
            let batch = Batch::after(&lines, after, limits)?;
            assert_eq!(batch.byte_len(), batch.iter().map(|(_, json)| json.len()).sum::<usize>());
            assert!(batch.iter().all(|(sequence, json)| batch.text(sequence).unwrap().as_ref() == json.as_bytes()));
            assert_eq!(batch.text(after), None);
            Some(batch.iter().map(|(sequence, _)| sequence).collect::<Vec<_>>())
        };
        assert_eq!(sequences(10, all), Some((11..=20).collect()));
        assert_eq!(sequences(17, all), Some(vec![18, 19, 20]));
        for after in [0, 9, 20, 21, u64::MAX] {
            assert_eq!(sequences(after, all), None, "{after}");
        }
        assert_eq!(sequences(12, ReadLimits { max_events: 2, ..all }), Some(vec![13, 14]));
        // Each event has 17 bytes.
        assert_eq!(sequences(12, ReadLimits { max_bytes: 18, ..all }), Some(vec![13, 14]));
        assert_eq!(sequences(12, ReadLimits { max_bytes: 1, ..all }), Some(vec![13]));
    }
}

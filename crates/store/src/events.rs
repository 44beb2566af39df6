//! Events as they are read: text, ready to be sent.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use rusqlite::Connection;

use crate::schema::{places_after, sequence_of};
use crate::{SessionKey, StoreError, chunk};

/// Whether events come with the native payload they were made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RawPayloads {
    /// `raw` is null.
    #[default]
    Omit,
    /// `raw` is the native payload, where there is one.
    Include,
}

/// How much is read at once. The first event is read whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// At most so many events.
    pub max_events: usize,
    /// No further event once there are so many bytes.
    pub max_bytes: usize,
}

/// Events as text, each following the other. They are made once and shared by whoever reads them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The first event's sequence.
    first: u64,
    /// The events, joined by line breaks.
    text: String,
    /// Where each event's text ends.
    ends: Vec<usize>,
}

impl Lines {
    pub(crate) fn new(first: u64, text: String, ends: Vec<usize>) -> Self {
        Self { first, text, ends }
    }

    /// How many bytes of text they are.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes_of(&(0..self.len()))
    }

    fn bytes_of(&self, events: &Range<usize>) -> usize {
        // Each begins behind a line break that is not its own.
        self.start(events.end).saturating_sub(self.start(events.start) + events.len())
    }

    /// How many events they are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The sequences of the first and the last event.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        let last = self.len().checked_sub(1)?;
        Some((self.first, self.first + last as u64))
    }

    /// An event by its index: its sequence and text.
    pub(crate) fn get(&self, index: usize) -> Option<(u64, &str)> {
        Some((self.first + index as u64, self.text(&(index..index + 1))?))
    }

    /// The text of some of the events, joined by line breaks.
    pub(crate) fn text(&self, events: &Range<usize>) -> Option<&str> {
        let end = *self.ends.get(events.end.checked_sub(1)?)?;
        self.text.get(self.start(events.start)..end)
    }

    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| end + 1)
    }

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

/// Some events of a session, in order, each as one line of JSON. Cloning it copies a pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    lines: Arc<Lines>,
    range: Range<usize>,
}

impl Batch {
    fn all(lines: Lines) -> Self {
        Self { range: 0..lines.len(), lines: Arc::new(lines) }
    }

    /// What follows an event, as far as the limits allow; `None` if these are not the ones that follow it.
    pub(crate) fn after(lines: &Arc<Lines>, after: u64, limits: ReadLimits) -> Option<Self> {
        let (first, last) = lines.span()?;
        let next = after.checked_add(1).filter(|next| (first..=last).contains(next))?;
        let start = usize::try_from(next - first).ok()?;
        let most = start.saturating_add(limits.max_events.max(1)).min(lines.len());
        let full = (start..most).position(|index| lines.bytes_of(&(start..index + 1)) >= limits.max_bytes);
        let end = full.map_or(most, |index| start + index + 1);
        Some(Self { lines: Arc::clone(lines), range: start..end })
    }

    /// The events: each one's sequence and JSON text.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        self.range.clone().filter_map(|index| self.lines.get(index))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The sequence of the last one.
    #[must_use]
    pub fn last_sequence(&self) -> Option<u64> {
        self.lines.get(self.range.end.checked_sub(1)?).map(|(sequence, _)| sequence)
    }

    /// How many bytes of text they are.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.lines.bytes_of(&self.range)
    }
}

const WITHOUT_RAW: &str = "SELECT place, json FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place";
const WITH_RAW: &str = "SELECT place, json, payloads FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place";

/// Reads what follows `after`; empty if nothing does.
pub(crate) fn read(
    connection: &Connection,
    session: SessionKey,
    after: u64,
    limits: ReadLimits,
    raw: RawPayloads,
) -> Result<Batch, StoreError> {
    let mut statement = connection.prepare_cached(match raw {
        RawPayloads::Omit => WITHOUT_RAW,
        RawPayloads::Include => WITH_RAW,
    })?;
    let mut rows = statement.query(places_after(session, after))?;
    let mut lines = Lines { first: after.saturating_add(1), ..Lines::default() };
    while let Some(row) = rows.next()? {
        let text =
            |column| row.get_ref(column).map_err(StoreError::from)?.as_str_or_null().map_err(|error| broken(&error));
        let payloads = match raw {
            RawPayloads::Omit => None,
            RawPayloads::Include => text(2)?,
        };
        if lines.take(sequence_of(row.get(0)?), text(1)?.unwrap_or_default(), payloads, limits)?.is_break() {
            break;
        }
    }
    Ok(Batch::all(lines))
}

impl Lines {
    /// Takes in a chunk, or what is missing of it, until there is enough. `last` is the sequence of its last event.
    fn take(
        &mut self,
        last: u64,
        events: &str,
        payloads: Option<&str>,
        limits: ReadLimits,
    ) -> Result<ControlFlow<()>, StoreError> {
        let next = self.first + self.len() as u64;
        let known = (last + 1)
            .checked_sub(chunk::count(events))
            .and_then(|first| next.checked_sub(first))
            .and_then(|known| usize::try_from(known).ok())
            .ok_or_else(|| StoreError::Database(format!("the event with sequence {next} is missing")))?;
        for (event, payload) in chunk::events(events, payloads).skip(known) {
            self.push(event, payload);
            if self.len() >= limits.max_events || self.bytes() >= limits.max_bytes {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn broken(error: &rusqlite::types::FromSqlError) -> StoreError {
    StoreError::Database(format!("an event is not stored as text: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(sequences: std::ops::RangeInclusive<u64>) -> Arc<Lines> {
        let mut lines = Lines { first: *sequences.start(), ..Lines::default() };
        for sequence in sequences {
            lines.push(&format!("{{\"sequence\":{sequence:04}}}"), None);
        }
        Arc::new(lines)
    }

    #[test]
    fn a_payload_takes_the_place_of_null() {
        let mut lines = Lines { first: 4, ..Lines::default() };
        lines.push(r#"{"sequence":4,"raw":null}"#, Some(r#"{"a" : 1}"#));
        lines.push(r#"{"sequence":5,"raw":null}"#, None);
        let batch = Batch::all(lines);
        let events: Vec<_> = batch.iter().collect();
        assert_eq!(events, [(4, r#"{"sequence":4,"raw":{"a" : 1}}"#), (5, r#"{"sequence":5,"raw":null}"#)]);
        assert_eq!((batch.len(), batch.last_sequence()), (2, Some(5)));
    }

    #[test]
    fn only_what_follows_is_taken_from_what_is_at_hand() {
        let lines = lines(11..=20);
        let all = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };
        let sequences = |after, limits| {
            let batch = Batch::after(&lines, after, limits)?;
            assert_eq!(batch.byte_len(), batch.iter().map(|(_, json)| json.len()).sum::<usize>());
            Some(batch.iter().map(|(sequence, _)| sequence).collect::<Vec<_>>())
        };
        assert_eq!(sequences(10, all), Some((11..=20).collect()));
        assert_eq!(sequences(17, all), Some(vec![18, 19, 20]));
        for elsewhere in [0, 9, 20, 21, u64::MAX] {
            assert_eq!(sequences(elsewhere, all), None, "{elsewhere}");
        }
        assert_eq!(sequences(12, ReadLimits { max_events: 2, ..all }), Some(vec![13, 14]));
        // Each is 17 bytes.
        assert_eq!(sequences(12, ReadLimits { max_bytes: 18, ..all }), Some(vec![13, 14]));
        assert_eq!(sequences(12, ReadLimits { max_bytes: 1, ..all }), Some(vec![13]));
    }
}

//! Events as they are read: text, ready to be sent.

use std::ops::Range;
use std::sync::Arc;

use rusqlite::Connection;

use crate::schema::{places_after, sequence_of};
use crate::{Error, SessionKey};

/// Whether events come with the native payload they were made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Raw {
    /// `raw` is null.
    #[default]
    Without,
    /// `raw` is the native payload, where there is one.
    With,
}

/// How much is read at once. The first event is read whatever its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most so many events.
    pub events: usize,
    /// No further event once there are so many bytes.
    pub bytes: usize,
}

/// Events as text, one after the other. They are made once and shared by whoever reads them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    text: String,
    /// Each event's sequence and where its text ends.
    ends: Vec<(u64, usize)>,
}

impl Lines {
    pub(crate) fn new(text: String, ends: Vec<(u64, usize)>) -> Self {
        Self { text, ends }
    }

    /// How many bytes of text they are.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// How many events they are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The sequences of the first and the last event.
    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        Some((self.ends.first()?.0, self.ends.last()?.0))
    }

    /// An event by its index: its sequence and text.
    pub(crate) fn get(&self, index: usize) -> Option<(u64, &str)> {
        let (sequence, end) = *self.ends.get(index)?;
        Some((sequence, self.text.get(self.start(index)..end)?))
    }

    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(_, end)| *end)
    }

    fn push(&mut self, sequence: u64, json: &str, payload: Option<&str>) {
        match (payload, json.strip_suffix("null}")) {
            (Some(payload), Some(start)) => {
                self.text.push_str(start);
                self.text.push_str(payload);
                self.text.push('}');
            }
            _ => self.text.push_str(json),
        }
        self.ends.push((sequence, self.text.len()));
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
    pub(crate) fn after(lines: &Arc<Lines>, after: u64, limits: Limits) -> Option<Self> {
        let (first, last) = lines.span()?;
        let next = after.checked_add(1).filter(|next| (first..=last).contains(next))?;
        let start = usize::try_from(next - first).ok()?;
        let enough = lines.start(start).saturating_add(limits.bytes);
        let most = start.saturating_add(limits.events.max(1)).min(lines.len());
        let full = lines.ends.get(start..most)?.iter().position(|(_, end)| *end >= enough);
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
    pub fn last(&self) -> Option<u64> {
        self.lines.get(self.range.end.checked_sub(1)?).map(|(sequence, _)| sequence)
    }

    /// How many bytes of text they are.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lines.start(self.range.end) - self.lines.start(self.range.start)
    }
}

const WITHOUT_RAW: &str = "SELECT place, json FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3";
const WITH_RAW: &str = "SELECT events.place, events.json, payloads.json FROM events \
     LEFT JOIN payloads ON payloads.place = events.payload \
     WHERE events.place > ?1 AND events.place <= ?2 ORDER BY events.place LIMIT ?3";

/// Reads what follows `after`; empty if nothing does.
pub(crate) fn read(
    connection: &Connection,
    session: SessionKey,
    after: u64,
    limits: Limits,
    raw: Raw,
) -> Result<Batch, Error> {
    let mut statement = connection.prepare_cached(match raw {
        Raw::Without => WITHOUT_RAW,
        Raw::With => WITH_RAW,
    })?;
    let (from, to) = places_after(session, after);
    let limit = i64::try_from(limits.events.max(1)).unwrap_or(i64::MAX);
    let mut rows = statement.query((from, to, limit))?;
    let mut lines = Lines::default();
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column).map_err(Error::from)?.as_str_or_null().map_err(|error| broken(&error));
        let payload = match raw {
            Raw::Without => None,
            Raw::With => text(2)?,
        };
        lines.push(sequence_of(row.get(0)?), text(1)?.unwrap_or_default(), payload);
        if lines.bytes() >= limits.bytes {
            break;
        }
    }
    Ok(Batch::all(lines))
}

fn broken(error: &rusqlite::types::FromSqlError) -> Error {
    Error::Database(format!("an event is not stored as text: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(sequences: std::ops::RangeInclusive<u64>) -> Arc<Lines> {
        let mut lines = Lines::default();
        for sequence in sequences {
            lines.push(sequence, &format!("{{\"sequence\":{sequence:04}}}"), None);
        }
        Arc::new(lines)
    }

    #[test]
    fn a_payload_takes_the_place_of_null() {
        let mut lines = Lines::default();
        lines.push(4, r#"{"sequence":4,"raw":null}"#, Some(r#"{"a" : 1}"#));
        lines.push(5, r#"{"sequence":5,"raw":null}"#, None);
        let batch = Batch::all(lines);
        let events: Vec<_> = batch.iter().collect();
        assert_eq!(events, [(4, r#"{"sequence":4,"raw":{"a" : 1}}"#), (5, r#"{"sequence":5,"raw":null}"#)]);
        assert_eq!((batch.len(), batch.last()), (2, Some(5)));
    }

    #[test]
    fn only_what_follows_is_taken_from_what_is_at_hand() {
        let lines = lines(11..=20);
        let all = Limits { events: usize::MAX, bytes: usize::MAX };
        let sequences = |after, limits| {
            let batch = Batch::after(&lines, after, limits)?;
            assert_eq!(batch.bytes(), batch.iter().map(|(_, json)| json.len()).sum::<usize>());
            Some(batch.iter().map(|(sequence, _)| sequence).collect::<Vec<_>>())
        };
        assert_eq!(sequences(10, all), Some((11..=20).collect()));
        assert_eq!(sequences(17, all), Some(vec![18, 19, 20]));
        for elsewhere in [0, 9, 20, 21, u64::MAX] {
            assert_eq!(sequences(elsewhere, all), None, "{elsewhere}");
        }
        assert_eq!(sequences(12, Limits { events: 2, ..all }), Some(vec![13, 14]));
        // Each is 17 bytes.
        assert_eq!(sequences(12, Limits { bytes: 18, ..all }), Some(vec![13, 14]));
        assert_eq!(sequences(12, Limits { bytes: 1, ..all }), Some(vec![13]));
    }
}

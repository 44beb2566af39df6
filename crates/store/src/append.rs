//! What is added to a session in one step.

use std::sync::Arc;

use interlingua_schema::{EventData, NativeSessionId, RawJson, Timestamp, UniversalEvent};

use crate::events::Lines;
use crate::{Error, MessageId};

/// The next events of a session, and what else becomes true with them: all of it durable at once, or none of it.
///
/// What the events themselves say is taken from them: that the session ended, its native id, the time. A session
/// that ends drops the messages that still waited.
#[derive(Debug, Default)]
pub struct Append {
    text: Vec<u8>,
    /// Each event's sequence and where its text ends.
    ends: Vec<(u64, usize)>,
    /// Which of the payloads each event was made from.
    made_from: Vec<Option<usize>>,
    payloads: Vec<RawJson>,
    unwritable: Option<String>,
    changes: Changes,
}

/// So long an event usually is.
const USUAL_SIZE: usize = 512;

/// What becomes true with an append.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) native_session_id: Option<NativeSessionId>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) ended: bool,
    pub(crate) state: Option<RawJson>,
    pub(crate) busy: Option<bool>,
    pub(crate) taken: Vec<MessageId>,
}

/// An [`Append`] on its way into the database.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) lines: Arc<Lines>,
    made_from: Vec<Option<usize>>,
    payloads: Vec<RawJson>,
    pub(crate) changes: Changes,
}

/// One event as it is stored.
pub(crate) struct Row<'a> {
    pub(crate) sequence: u64,
    /// The event, its `raw` null.
    pub(crate) json: &'a str,
    /// The sequence of the event with which its payload is stored: its own or an earlier one.
    pub(crate) payload_at: Option<u64>,
    /// The payload, if it is to be stored with this event.
    pub(crate) payload: Option<&'a RawJson>,
}

impl Append {
    /// Appends these events, or none. The first one's `sequence` must follow the session's last, the others each other.
    ///
    /// Their text is written here, by the caller: the one thread that commits has nothing to do but store it.
    pub fn events(events: impl IntoIterator<Item = UniversalEvent>) -> Self {
        let events = events.into_iter();
        let count = events.size_hint().0;
        let mut append = Self { text: Vec::with_capacity(count * USUAL_SIZE), ..Self::default() };
        for event in events {
            append.push(event);
        }
        append
    }

    /// Keeps this for the runtime in place of what was kept before. Never credentials.
    #[must_use]
    pub fn state(mut self, state: RawJson) -> Self {
        self.changes.state = Some(state);
        self
    }

    /// Notes whether the session is now in the middle of something that must be brought to an end if the process
    /// dies: [`Store::interrupted`](crate::Store::interrupted) finds it again.
    #[must_use]
    pub fn busy(mut self, busy: bool) -> Self {
        self.changes.busy = Some(busy);
        self
    }

    /// Takes this message off the queue.
    #[must_use]
    pub fn taken(mut self, message: MessageId) -> Self {
        self.changes.taken.push(message);
        self
    }

    fn push(&mut self, mut event: UniversalEvent) {
        // The events made from one payload share it, so that telling whether it is the same one is quick.
        let payload = event.raw.take().map(|raw| match self.payloads.last() {
            Some(last) if last.as_str().as_ptr() == raw.as_str().as_ptr() || *last == raw => self.payloads.len() - 1,
            _ => {
                self.payloads.push(raw);
                self.payloads.len() - 1
            }
        });
        if let Err(error) = event.write_json(&mut self.text) {
            self.unwritable.get_or_insert(error.to_string());
        }
        self.ends.push((event.sequence, self.text.len()));
        self.made_from.push(payload);
        self.changes.ended |= matches!(event.data, EventData::SessionEnded(_));
        self.changes.time = Some(event.time);
        if event.native_session_id.is_some() {
            self.changes.native_session_id = event.native_session_id;
        }
    }

    /// Looks it over; refuses events that do not follow each other.
    pub(crate) fn prepare(self) -> Result<Prepared, Error> {
        let unwritable = |reason: String| Error::Database(format!("an event cannot be written as JSON: {reason}"));
        if let Some(reason) = self.unwritable {
            return Err(unwritable(reason));
        }
        let first = self.ends.first().map_or(0, |(sequence, _)| *sequence);
        for (expected, (found, _)) in (first..).zip(&self.ends) {
            if *found != expected {
                return Err(Error::OutOfOrder { expected, found: *found });
            }
        }
        let text = String::from_utf8(self.text).map_err(|error| unwritable(error.to_string()))?;
        Ok(Prepared {
            lines: Arc::new(Lines::new(text, self.ends)),
            made_from: self.made_from,
            payloads: self.payloads,
            changes: self.changes,
        })
    }
}

impl Prepared {
    /// The events as they are stored.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let mut stored: Option<(usize, u64)> = None;
        self.made_from.iter().enumerate().filter_map(move |(index, made_from)| {
            let (sequence, json) = self.lines.get(index)?;
            let known = stored.filter(|(payload, _)| *made_from == Some(*payload)).map(|(_, at)| at);
            if let (None, Some(payload)) = (known, made_from) {
                stored = Some((*payload, sequence));
            }
            Some(Row {
                sequence,
                json,
                payload_at: known.or_else(|| made_from.map(|_| sequence)),
                payload: made_from.filter(|_| known.is_none()).and_then(|payload| self.payloads.get(payload)),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{Origin, SessionStarted};

    use super::*;

    fn event(sequence: u64, raw: Option<&RawJson>) -> UniversalEvent {
        let data = EventData::SessionStarted(SessionStarted::default());
        let mut event = UniversalEvent::new("evt", sequence, Timestamp::EPOCH, "s", Origin::AGENT, data);
        event.raw = raw.cloned();
        event
    }

    #[test]
    fn a_payload_is_stored_with_the_first_event_made_from_it() {
        let (one, two) = (RawJson::from_payload("1"), RawJson::from_payload("2"));
        let events = [Some(&one), Some(&one), None, Some(&one), Some(&two)];
        let append = Append::events((3..).zip(events).map(|(sequence, raw)| event(sequence, raw)));
        let append = append.prepare().unwrap();
        let stored: Vec<_> = append.rows().map(|row| (row.payload_at, row.payload.map(RawJson::as_str))).collect();
        assert_eq!(
            stored,
            [(Some(3), Some("1")), (Some(3), None), (None, None), (Some(3), None), (Some(7), Some("2"))]
        );
        assert!(append.rows().all(|row| row.json.ends_with(",\"raw\":null}")));
    }

    #[test]
    fn events_that_do_not_follow_each_other_are_refused() {
        let refused = Append::events([event(1, None), event(3, None)]).prepare();
        assert_eq!(refused.err(), Some(Error::OutOfOrder { expected: 2, found: 3 }));
        assert_eq!(Append::events([]).prepare().unwrap().lines.span(), None);
    }
}

//! What is added to a session in one step.

use std::sync::Arc;

use interlingua_schema::{EventData, NativeSessionId, RawJson, Timestamp, UniversalEvent};

use crate::chunk::Chunks;
use crate::events::Lines;
use crate::{MessageId, StoreError};

/// The next events of a session, and what else becomes true with them: all of it durable at once, or none of it.
///
/// What the events themselves say is taken from them: that the session ended, its native id, the time. A session
/// that ends drops the messages that still waited.
#[derive(Debug, Default)]
pub struct Append {
    /// The events, joined by line breaks.
    text: Vec<u8>,
    /// Where each event's text ends.
    ends: Vec<usize>,
    /// The first event's sequence.
    first: u64,
    chunks: Chunks,
    /// What is wrong with the first event that cannot be stored.
    wrong: Option<StoreError>,
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
    pub(crate) chunks: Chunks,
    pub(crate) changes: Changes,
}

impl Append {
    /// Appends these events, or none. The first one's `sequence` must follow the session's last, the others each other.
    ///
    /// Their text is written here, by the caller: the one thread that commits has nothing to do but store it.
    pub fn events(events: impl IntoIterator<Item = UniversalEvent>) -> Self {
        let events = events.into_iter();
        let count = events.size_hint().0;
        let (text, ends) = (Vec::with_capacity(count * USUAL_SIZE), Vec::with_capacity(count));
        let mut append = Self { text, ends, ..Self::default() };
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
    /// dies: [`Store::interrupted_sessions`](crate::Store::interrupted_sessions) finds it again.
    #[must_use]
    pub fn busy(mut self, busy: bool) -> Self {
        self.changes.busy = Some(busy);
        self
    }

    /// Takes this message off the queue.
    #[must_use]
    pub fn dequeue(mut self, message: MessageId) -> Self {
        self.changes.taken.push(message);
        self
    }

    fn push(&mut self, mut event: UniversalEvent) {
        let payload = event.raw.take();
        self.check_order(event.sequence);
        if !self.ends.is_empty() {
            self.text.push(b'\n');
        }
        let start = self.text.len();
        if let Err(error) = event.write_json(&mut self.text) {
            self.wrong.get_or_insert(unwritable(&error));
        }
        self.ends.push(self.text.len());
        self.chunks.push(self.text.len() - start, payload);
        self.changes.ended |= matches!(event.data, EventData::SessionEnded(_));
        self.changes.time = Some(event.time);
        if event.native_session_id.is_some() {
            self.changes.native_session_id = event.native_session_id;
        }
    }

    fn check_order(&mut self, found: u64) {
        if self.ends.is_empty() {
            self.first = found;
        }
        let expected = self.first.saturating_add(self.ends.len() as u64);
        if found != expected {
            self.wrong.get_or_insert(StoreError::OutOfOrder { expected, found });
        }
    }

    /// Looks it over; refuses events that do not follow each other.
    pub(crate) fn prepare(self) -> Result<Prepared, StoreError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let text = String::from_utf8(self.text).map_err(|error| unwritable(&error))?;
        let lines = Arc::new(Lines::new(self.first, text, self.ends));
        Ok(Prepared { lines, chunks: self.chunks, changes: self.changes })
    }
}

fn unwritable(reason: &dyn std::error::Error) -> StoreError {
    StoreError::Database(format!("an event cannot be written as JSON: {reason}"))
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{Origin, SessionStarted};

    use super::*;

    fn event(sequence: u64) -> UniversalEvent {
        let data = EventData::SessionStarted(SessionStarted::default());
        UniversalEvent::new("evt", sequence, Timestamp::EPOCH, "s", Origin::AGENT, data)
    }

    #[test]
    fn the_payload_is_not_part_of_the_text() {
        let mut event = event(3);
        event.raw = Some(RawJson::from_payload("1"));
        let append = Append::events([event]).prepare().unwrap();
        let chunk = append.chunks.iter().next().unwrap();
        assert!(append.lines.text(&chunk.events).unwrap().ends_with(",\"raw\":null}"));
        assert_eq!(append.chunks.payloads(chunk), Some("1"));
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let unknown = "{\"event_id\":\"e\",\"sequence\":1,\"time\":\"1970-01-01T00:00:00.000Z\",\"session_id\":\"s\",\
            \"source\":\"agent\",\"synthetic\":false,\"type\":\"new.kind\",\"data\":{\n\"a\":\n1}}";
        let event: UniversalEvent = serde_json::from_str(unknown).unwrap();
        let append = Append::events([event]).prepare().unwrap();
        let text = append.lines.text(&(0..1)).unwrap();
        assert!(text.contains("{ \"a\": 1}") && !text.contains('\n'), "{text}");
    }

    #[test]
    fn events_that_do_not_follow_each_other_are_refused() {
        let refused = Append::events([event(1), event(3), event(9)]).prepare();
        assert_eq!(refused.err(), Some(StoreError::OutOfOrder { expected: 2, found: 3 }));
        assert_eq!(Append::events([]).prepare().unwrap().lines.span(), None);
    }
}

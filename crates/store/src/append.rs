//! An append: events and the changes that are committed with them.

use std::sync::Arc;

use interlingua_schema::{EventData, NativeSessionId, RawJson, Timestamp, UniversalEvent};

use crate::chunk::{Chunk, Chunks};
use crate::events::EventLines;
use crate::stored_chunk::StoredChunk;
use crate::summary::SummaryChanges;
use crate::{Lease, MessageId, StoreError};

/// The next events of a session and the changes that belong to them. They are committed together, or not at all.
///
/// The store derives from the events that the session ended, its native id, the time of its last change, its pending
/// requests and its usage. The end of a session cancels its queued messages.
#[derive(Debug, Default)]
pub struct Append {
    /// The events' JSON, joined by line breaks.
    text: Vec<u8>,
    /// Offset of the end of each event in `text`.
    ends: Vec<usize>,
    /// Sequence of the first event.
    first: u64,
    chunks: Chunks,
    /// Error of the first event that cannot be stored.
    error: Option<StoreError>,
    changes: Changes,
}

/// Size of a typical event, to allocate the text of all events at once.
const TYPICAL_EVENT_BYTES: usize = 512;

/// Changes to the session that are committed with its events.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) native_session_id: Option<NativeSessionId>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) ended: bool,
    pub(crate) state: Option<RawJson>,
    pub(crate) busy: Option<bool>,
    /// Messages whose turns begin, and the sequence before each turn.
    pub(crate) begun: Vec<(MessageId, u64)>,
    pub(crate) summary: SummaryChanges,
    /// Whether the append is written beyond the limits.
    pub(crate) essential: bool,
    /// Epoch of the lease that the append is made under.
    pub(crate) lease_epoch: Option<i64>,
}

/// An [`Append`] whose events are valid, ready to be written.
#[derive(Debug)]
pub(crate) struct PreparedAppend {
    pub(crate) lines: Arc<EventLines>,
    pub(crate) chunks: Chunks,
    /// The rows of the chunks.
    pub(crate) rows: Vec<StoredChunk>,
    pub(crate) changes: Changes,
}

impl Append {
    /// An append of these events. The first `sequence` must follow the session's last one, the others each other.
    ///
    /// Encodes the events on the caller's thread, so that the writer thread only has to store the text.
    pub fn events(events: impl IntoIterator<Item = UniversalEvent>) -> Self {
        let events = events.into_iter();
        let count = events.size_hint().0;
        let (text, ends) = (Vec::with_capacity(count * TYPICAL_EVENT_BYTES), Vec::with_capacity(count));
        let mut append = Self { text, ends, ..Self::default() };
        for event in events {
            append.push(event);
        }
        append
    }

    /// Replaces the runtime's stored state. Never credentials.
    #[must_use]
    pub fn state(mut self, state: RawJson) -> Self {
        self.changes.state = Some(state);
        self
    }

    /// Sets whether the session has unfinished work that must be completed after a crash.
    /// [`Store::interrupted_sessions`](crate::Store::interrupted_sessions) returns the busy sessions.
    #[must_use]
    pub fn busy(mut self, busy: bool) -> Self {
        self.changes.busy = Some(busy);
        self
    }

    /// Takes this message from the session's queue: its turn begins after the event with this sequence.
    #[must_use]
    pub fn begin(mut self, message: MessageId, turn_starts_after: u64) -> Self {
        self.changes.begun.push((message, turn_starts_after));
        self
    }

    /// Marks the append as one that ends something and frees what it holds: it is written even if the session or the
    /// store has reached its limit, and uses space that is reserved for it when the disk is full.
    #[must_use]
    pub fn essential(mut self, essential: bool) -> Self {
        self.changes.essential = essential;
        self
    }

    /// Makes the append under a lease. It is refused once another server has taken the session over. In a store that
    /// servers share, an append without a lease is refused if the session has an owner.
    #[must_use]
    pub fn lease(mut self, lease: &Lease) -> Self {
        self.changes.lease_epoch = lease.epoch();
        self
    }

    /// Epoch of the lease that the append is made under.
    pub(crate) fn lease_epoch(&self) -> Option<i64> {
        self.changes.lease_epoch
    }

    fn push(&mut self, mut event: UniversalEvent) {
        let payload = event.raw.take();
        self.check_order(event.sequence);
        if !self.ends.is_empty() {
            self.text.push(b'\n');
        }
        let start = self.text.len();
        if let Err(error) = event.write_json(&mut self.text) {
            self.error.get_or_insert(encode_error(&error));
        }
        self.ends.push(self.text.len());
        self.chunks.push(self.text.len() - start, payload);
        self.changes.ended |= matches!(event.data, EventData::SessionEnded(_));
        self.changes.time = Some(event.time);
        self.changes.summary.observe(&event.data);
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
            self.error.get_or_insert(StoreError::OutOfOrder { expected, found });
        }
    }

    /// Validates the append and encodes its rows. Fails if the events do not follow each other or cannot be encoded.
    pub(crate) fn prepare(self) -> Result<PreparedAppend, StoreError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let text = String::from_utf8(self.text).map_err(|error| encode_error(&error))?;
        let lines = Arc::new(EventLines::new(self.first, text, self.ends));
        let row = |chunk: &Chunk| {
            StoredChunk::new(lines.text(&chunk.events).unwrap_or_default(), self.chunks.payloads(chunk))
        };
        let rows = self.chunks.iter().map(row).collect();
        Ok(PreparedAppend { lines, chunks: self.chunks, rows, changes: self.changes })
    }
}

impl PreparedAppend {
    /// Number of bytes of the rows.
    pub(crate) fn byte_len(&self) -> usize {
        let text = |chunk: &Chunk| self.lines.text(&chunk.events).unwrap_or_default();
        self.chunks.iter().zip(&self.rows).map(|(chunk, row)| row.byte_len(text(chunk))).sum()
    }
}

fn encode_error(reason: &dyn std::error::Error) -> StoreError {
    StoreError::Database(format!("cannot encode an event as JSON: {reason}"))
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
    fn the_payload_is_not_part_of_the_event_text() {
        let mut event = event(3);
        event.raw = Some(RawJson::from_payload("1"));
        let append = Append::events([event]).prepare().unwrap();
        let chunk = append.chunks.iter().next().unwrap();
        assert!(append.lines.text(&chunk.events).unwrap().ends_with(",\"raw\":null}"));
        assert_eq!(append.chunks.payloads(chunk), Some("1"));
    }

    #[test]
    fn an_event_is_one_line_even_if_its_data_has_line_breaks() {
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
        assert_eq!(Append::events([]).prepare().unwrap().lines.sequence_range(), None);
    }
}

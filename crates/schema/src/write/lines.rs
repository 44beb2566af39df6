//! Events as lines of JSON, written as they happen.

use super::{Envelope, data, session};
use crate::sink::{DataParts, EventParts, EventSink};
use crate::{ItemStatus, NativeSessionId, SessionId};

/// A sink that writes every event as one line of JSON. The bytes are those of
/// [`UniversalEvent::write_json`](crate::UniversalEvent::write_json).
#[derive(Debug, Default)]
pub struct JsonLines {
    text: Vec<u8>,
    count: usize,
    /// The session that was written last. It stands on every event, so it is written once and copied.
    session: Option<Session>,
}

#[derive(Debug)]
struct Session {
    id: SessionId,
    native: Option<NativeSessionId>,
    /// The members that say so.
    text: Vec<u8>,
}

impl JsonLines {
    /// No lines yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The lines, each with its line break.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Makes room for more: the lines have been put where they belong.
    pub fn clear(&mut self) {
        self.text.clear();
        self.count = 0;
    }
}

impl EventSink for JsonLines {
    fn event(&mut self, event: EventParts<'_>) {
        let EventParts { event_id, sequence, time, session_id, native_session_id, origin, data, raw } = event;
        let session = match &mut self.session {
            Some(last) if last.id == *session_id && last.native.as_ref() == native_session_id => last,
            last => last.insert(Session::new(session_id, native_session_id)),
        };
        let envelope = Envelope { event_id, sequence, time, origin, raw };
        envelope.write(
            &mut self.text,
            |out| out.extend_from_slice(&session.text),
            |out| match &data {
                DataParts::SessionStarted { metadata } => data::session_started(out, *metadata),
                DataParts::TurnStarted { turn_id, metadata } => data::turn_started(out, *turn_id, *metadata),
                DataParts::TurnEnded { end, metadata } => {
                    data::turn_ended(out, end, Some(metadata).filter(|facts| !facts.is_empty()));
                }
                DataParts::ItemStarted(item) => data::started(out, item, ItemStatus::InProgress),
                DataParts::ItemDelta { item_id, native_item_id, delta } => {
                    data::delta(out, item_id, *native_item_id, delta);
                }
                DataParts::Whole(data) => data::with_type(out, data),
            },
        );
        self.text.push(b'\n');
        self.count += 1;
    }
}

impl Session {
    fn new(id: &SessionId, native: Option<&NativeSessionId>) -> Self {
        let mut text = Vec::new();
        session(&mut text, id, native);
        Self { id: id.clone(), native: native.cloned(), text }
    }
}

//! Events as lines of JSON, written as they happen.

use std::ops::Range;

use super::{Envelope, data, session};
use crate::sink::{DataParts, EventParts, EventSink};
use crate::{ItemStatus, NativeSessionId, SessionId};

/// A sink that writes every event as one line of JSON. The bytes are those of
/// [`UniversalEvent::write_json`](crate::UniversalEvent::write_json).
#[derive(Debug, Default)]
pub struct JsonLines {
    text: Vec<u8>,
    count: usize,
    /// The session that was written last. It stands on every event, so it is copied from where it stands already.
    session: Option<Session>,
}

#[derive(Debug)]
struct Session {
    id: SessionId,
    native: Option<NativeSessionId>,
    /// Where the members that say so stand.
    place: Range<usize>,
}

impl JsonLines {
    /// No lines yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lines behind what a buffer holds already.
    #[must_use]
    pub fn behind(text: Vec<u8>) -> Self {
        Self { text, ..Self::default() }
    }

    /// The buffer with the lines.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.text
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
        self.session = None;
    }
}

impl EventSink for JsonLines {
    fn event(&mut self, event: EventParts<'_>) {
        let EventParts { event_id, sequence, time, session_id, native_session_id, origin, data, raw } = event;
        let last = &mut self.session;
        let envelope = Envelope { event_id, sequence, time, origin, raw };
        envelope.write(
            &mut self.text,
            |out| match last {
                Some(last) if last.id == *session_id && last.native.as_ref() == native_session_id => {
                    out.extend_from_within(last.place.clone());
                }
                last => {
                    let start = out.len();
                    session(out, session_id, native_session_id);
                    let place = start..out.len();
                    *last = Some(Session { id: session_id.clone(), native: native_session_id.cloned(), place });
                }
            },
            |out| match &data {
                DataParts::SessionStarted { metadata } => data::session_started(out, Some(metadata)),
                DataParts::TurnStarted { turn_id, metadata } => data::turn_started(out, turn_id, *metadata),
                DataParts::ItemStarted(item) => data::started(out, item, ItemStatus::InProgress),
                DataParts::ItemCompleted(item, outcome) => data::completed(out, item, (*outcome).into()),
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

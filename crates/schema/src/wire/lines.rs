//! Events as lines of JSON, written as they happen.

use std::cell::Cell;
use std::ops::Range;

use super::WriteJson;
use crate::event::{EventType, WireEvent};
use crate::sink::{DataParts, EventParts, EventSink};
use crate::{
    Item, ItemDelta, ItemEvent, ItemStatus, NativeSessionId, SessionId, SessionStarted, StartedPhase, TurnStarted,
};

/// A sink that writes every event as one line of JSON. The bytes are those of
/// [`UniversalEvent::write_json`](crate::UniversalEvent::write_json).
#[derive(Debug, Default)]
pub struct JsonLines {
    text: Vec<u8>,
    count: usize,
    /// The session that was written last. It stands on every event, so its ids are copied from where
    /// they were written.
    session: Option<Session>,
}

#[derive(Debug)]
struct Session {
    id: SessionId,
    native: Option<NativeSessionId>,
    /// Where the ids stand in the text.
    id_place: Range<usize>,
    native_place: Range<usize>,
}

/// A value that was written before is copied; a new one leaves its place.
enum Copied<'a, T> {
    From(Range<usize>),
    New(&'a T, &'a Cell<Range<usize>>),
}

impl<T: WriteJson> WriteJson for Copied<'_, T> {
    #[inline]
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::From(place) => out.extend_from_within(place.clone()),
            Self::New(value, place) => {
                let start = out.len();
                value.write_json(out);
                place.set(start..out.len());
            }
        }
    }
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
        let is_same = |session: &&Session| session.id == *session_id && session.native.as_ref() == native_session_id;
        let places = [Cell::default(), Cell::default()];
        let known = self.session.as_ref().filter(is_same);
        let (id, native) = match known {
            Some(session) => (Copied::From(session.id_place.clone()), Copied::From(session.native_place.clone())),
            None => (Copied::New(session_id, &places[0]), Copied::New(&native_session_id, &places[1])),
        };
        let is_new = known.is_none();
        WireEvent::write_members(
            &mut self.text,
            event_id,
            &sequence,
            &time,
            &id,
            &native,
            &origin.source(),
            &origin.is_synthetic(),
            &Type(&data),
            &data,
            &raw,
        );
        if is_new {
            let [id_place, native_place] = places.map(Cell::into_inner);
            let (id, native) = (session_id.clone(), native_session_id.cloned());
            self.session = Some(Session { id, native, id_place, native_place });
        }
        self.text.push(b'\n');
        self.count += 1;
    }
}

/// The type of an event that is handed over in parts.
struct Type<'a>(&'a DataParts<'a>);

impl WriteJson for Type<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        let known = match self.0 {
            DataParts::SessionStarted { .. } => EventType::SessionStarted,
            DataParts::TurnStarted { .. } => EventType::TurnStarted,
            DataParts::ItemStarted(_) => EventType::ItemStarted,
            DataParts::ItemCompleted(..) => EventType::ItemCompleted,
            DataParts::ItemDelta { .. } => EventType::ItemDelta,
            DataParts::Whole(data) => return data.kind().write_json(out),
        };
        known.write_json(out);
    }
}

/// The data of an event that is handed over in parts.
impl WriteJson for DataParts<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::SessionStarted { metadata } => SessionStarted::write_members(out, &Some(*metadata)),
            Self::TurnStarted { turn_id, metadata } => {
                TurnStarted::write_members(out, *turn_id, &StartedPhase::Started, metadata);
            }
            Self::ItemStarted(item) => {
                ItemEvent::write_members(out, &ItemAt { item, status: &ItemStatus::InProgress });
            }
            Self::ItemCompleted(item, outcome) => {
                ItemEvent::write_members(out, &ItemAt { item, status: &(*outcome).into() });
            }
            Self::ItemDelta { item_id, native_item_id, delta } => {
                ItemDelta::write_members(out, *item_id, native_item_id, *delta);
            }
            Self::Whole(data) => data.write_json(out),
        }
    }
}

/// An item with another status than its own.
struct ItemAt<'a> {
    item: &'a Item,
    status: &'a ItemStatus,
}

impl WriteJson for ItemAt<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        let Item { item_id, native_item_id, parent_id, kind, role, status: _, content } = self.item;
        Item::write_members(out, item_id, native_item_id, parent_id, kind, role, self.status, content);
    }
}

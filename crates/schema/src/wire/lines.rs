//! Events as lines of JSON, written as they happen.

use std::cell::Cell;
use std::ops::Range;

use super::WriteJson;
use crate::event::{EventType, WireEvent};
use crate::sink::{EventDataRef, EventRef, EventSink};
use crate::{
    Item, ItemDelta, ItemEvent, ItemStatus, NativeSessionId, Origin, SessionId, SessionStarted, StartedPhase,
    TurnStarted,
};

/// A sink that writes every event as one line of JSON. The bytes are those of
/// [`UniversalEvent::write_json`](crate::UniversalEvent::write_json).
#[derive(Debug, Default)]
pub struct JsonLines {
    text: Vec<u8>,
    count: usize,
    /// What was written last about the session, for the agent's events and for ours.
    sessions: [Option<Session>; 2],
}

/// The members from `session_id` to `synthetic`. They are the same on most events of a session, so they are copied from
/// where they were written.
#[derive(Debug)]
struct Session {
    id: SessionId,
    native: Option<NativeSessionId>,
    origin: Origin,
    /// Where the members stand in the text.
    place: Range<usize>,
}

/// A member that leaves its place, with its key.
struct Placed<'a, T>(&'a T, &'a Cell<Range<usize>>);

impl<T: WriteJson> WriteJson for Placed<'_, T> {
    fn write_json(&self, out: &mut Vec<u8>) {
        self.0.write_json(out);
    }

    #[inline]
    fn write_member(&self, key: &'static str, out: &mut Vec<u8>) {
        let start = out.len();
        self.0.write_member(key, out);
        self.1.set(start..out.len());
    }
}

/// Members with their keys, copied from where they were written before.
struct Copied(Range<usize>);

impl WriteJson for Copied {
    #[inline]
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_within(self.0.clone());
    }

    #[inline]
    fn write_member(&self, _: &'static str, out: &mut Vec<u8>) {
        self.write_json(out);
    }
}

/// A member that was copied together with the one before.
struct AlsoCopied;

impl WriteJson for AlsoCopied {
    #[inline]
    fn write_json(&self, _: &mut Vec<u8>) {}

    #[inline]
    fn write_member(&self, _: &'static str, _: &mut Vec<u8>) {}
}

impl JsonLines {
    /// No lines yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lines behind what a buffer holds already.
    #[must_use]
    pub fn append_to(text: Vec<u8>) -> Self {
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
        self.sessions = [None, None];
    }
}

impl EventSink for JsonLines {
    fn write_event(&mut self, event: EventRef<'_>) {
        let EventRef { event_id, sequence, time, session_id, native_session_id, origin, data, raw } = event;
        let kind = Type(&data);
        let out = &mut self.text;
        let last = &mut self.sessions[usize::from(origin.is_synthetic())];
        let is_same = |last: &&mut Session| {
            last.id == *session_id && last.native.as_ref() == native_session_id && last.origin == origin
        };
        if let Some(last) = last.as_mut().filter(is_same) {
            let copied = Copied(last.place.clone());
            let rest = &AlsoCopied;
            WireEvent::write_members(out, event_id, &sequence, &time, &copied, rest, rest, rest, &kind, &data, &raw);
        } else {
            let [first, end] = [Cell::default(), Cell::default()];
            WireEvent::write_members(
                out,
                event_id,
                &sequence,
                &time,
                &Placed(session_id, &first),
                &native_session_id,
                &origin.source(),
                &Placed(&origin.is_synthetic(), &end),
                &kind,
                &data,
                &raw,
            );
            let (id, native) = (session_id.clone(), native_session_id.cloned());
            let place = first.into_inner().start..end.into_inner().end;
            *last = Some(Session { id, native, origin, place });
        }
        self.text.push(b'\n');
        self.count += 1;
    }
}

/// The type of an event that is handed over in parts.
struct Type<'a>(&'a EventDataRef<'a>);

impl WriteJson for Type<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        let known = match self.0 {
            EventDataRef::SessionStarted { .. } => EventType::SessionStarted,
            EventDataRef::TurnStarted { .. } => EventType::TurnStarted,
            EventDataRef::ItemStarted(_) => EventType::ItemStarted,
            EventDataRef::ItemCompleted(..) => EventType::ItemCompleted,
            EventDataRef::ItemDelta { .. } => EventType::ItemDelta,
            EventDataRef::Owned(data) => return data.kind().write_json(out),
        };
        known.write_json(out);
    }
}

/// The data of an event that is handed over in parts.
impl WriteJson for EventDataRef<'_> {
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
            Self::Owned(data) => data.write_json(out),
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

//! An event sink that writes JSON lines.

use std::cell::Cell;
use std::ops::Range;

use super::WriteJson;
use crate::event::{EventType, WireEvent};
use crate::sink::{EventDataRef, EventRef, EventSink};
use crate::{
    Item, ItemDelta, ItemEvent, ItemStatus, NativeSessionId, Origin, SessionId, SessionStarted, StartedPhase,
    TurnStarted,
};

/// A sink that writes every event as one line of JSON. The bytes are the same as those of
/// [`UniversalEvent::write_json`](crate::UniversalEvent::write_json).
#[derive(Debug, Default)]
pub struct JsonLines {
    buffer: Vec<u8>,
    count: usize,
    /// The session members that were written last, for agent events and for synthetic events.
    last_members: [Option<SessionMembers>; 2],
}

/// The members from `session_id` to `synthetic`, and where they are in the buffer. Most events of a session have the
/// same ones, so they are copied from there.
#[derive(Debug)]
struct SessionMembers {
    session_id: SessionId,
    native_session_id: Option<NativeSessionId>,
    origin: Origin,
    range: Range<usize>,
}

/// A member that records its range in the buffer, including the key.
struct WithRange<'a, T>(&'a T, &'a Cell<Range<usize>>);

impl<T: WriteJson> WriteJson for WithRange<'_, T> {
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

/// Members with their keys, copied from an earlier range of the buffer.
struct CopiedMembers(Range<usize>);

impl WriteJson for CopiedMembers {
    #[inline]
    fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_within(self.0.clone());
    }

    #[inline]
    fn write_member(&self, _: &'static str, out: &mut Vec<u8>) {
        self.write_json(out);
    }
}

/// A member that was copied together with an earlier one. Writes nothing.
struct AlreadyCopied;

impl WriteJson for AlreadyCopied {
    #[inline]
    fn write_json(&self, _: &mut Vec<u8>) {}

    #[inline]
    fn write_member(&self, _: &'static str, _: &mut Vec<u8>) {}
}

impl JsonLines {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends lines to an existing buffer.
    #[must_use]
    pub fn append_to(buffer: Vec<u8>) -> Self {
        Self { buffer, ..Self::default() }
    }

    /// Returns the buffer.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }

    /// The lines, each with its line break.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Number of lines.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Removes all lines and keeps the capacity of the buffer.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.count = 0;
        self.last_members = [None, None];
    }
}

impl EventSink for JsonLines {
    fn write_event(&mut self, event: EventRef<'_>) {
        let EventRef { event_id, sequence, time, session_id, native_session_id, origin, data, raw } = event;
        let kind = TypeOf(&data);
        let out = &mut self.buffer;
        let last = &mut self.last_members[usize::from(origin.is_synthetic())];
        let is_same = |last: &&mut SessionMembers| {
            last.session_id == *session_id
                && last.native_session_id.as_ref() == native_session_id
                && last.origin == origin
        };
        if let Some(last) = last.as_mut().filter(is_same) {
            let copied = CopiedMembers(last.range.clone());
            let rest = &AlreadyCopied;
            WireEvent::write_members(out, event_id, &sequence, &time, &copied, rest, rest, rest, &kind, &data, &raw);
        } else {
            let [first, last_member] = [Cell::default(), Cell::default()];
            WireEvent::write_members(
                out,
                event_id,
                &sequence,
                &time,
                &WithRange(session_id, &first),
                &native_session_id,
                &origin.source(),
                &WithRange(&origin.is_synthetic(), &last_member),
                &kind,
                &data,
                &raw,
            );
            let (session_id, native_session_id) = (session_id.clone(), native_session_id.cloned());
            let range = first.into_inner().start..last_member.into_inner().end;
            *last = Some(SessionMembers { session_id, native_session_id, origin, range });
        }
        self.buffer.push(b'\n');
        self.count += 1;
    }
}

/// The `type` of an event.
struct TypeOf<'a>(&'a EventDataRef<'a>);

impl WriteJson for TypeOf<'_> {
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

/// Writes the event's `data`.
impl WriteJson for EventDataRef<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::SessionStarted { metadata } => SessionStarted::write_members(out, &Some(*metadata)),
            Self::TurnStarted { turn_id, metadata } => {
                TurnStarted::write_members(out, *turn_id, &StartedPhase::Started, metadata);
            }
            Self::ItemStarted(item) => {
                ItemEvent::write_members(out, &ItemWithStatus { item, status: &ItemStatus::InProgress });
            }
            Self::ItemCompleted(item, outcome) => {
                ItemEvent::write_members(out, &ItemWithStatus { item, status: &(*outcome).into() });
            }
            Self::ItemDelta { item_id, native_item_id, delta } => {
                ItemDelta::write_members(out, *item_id, native_item_id, *delta);
            }
            Self::Owned(data) => data.write_json(out),
        }
    }
}

/// An item that is written with another status than its own.
struct ItemWithStatus<'a> {
    item: &'a Item,
    status: &'a ItemStatus,
}

impl WriteJson for ItemWithStatus<'_> {
    fn write_json(&self, out: &mut Vec<u8>) {
        let Item { item_id, native_item_id, parent_id, kind, role, status: _, content } = self.item;
        Item::write_members(out, item_id, native_item_id, parent_id, kind, role, self.status, content);
    }
}

//! Events on their way to whoever wants them.
//!
//! Whoever only writes events down need not have them made first: an item that begins and ends is the same item twice,
//! and the text that a delta says is somewhere already. So events are handed over in parts that are borrowed, and a
//! sink keeps, counts or writes them.

use crate::{
    EventData, Item, ItemDelta, ItemId, ItemOutcome, NativeItemId, NativeSessionId, Origin, RawJson, SessionId,
    SessionMetadata, SessionStarted, Timestamp, TurnMetadata, TurnStarted, UniversalEvent,
};

/// Takes events as they happen.
pub trait EventSink {
    /// The next event.
    fn write_event(&mut self, event: EventRef<'_>);
}

/// An event before it is put together. The fields are those of a [`UniversalEvent`].
#[derive(Debug)]
pub struct EventRef<'a> {
    /// Unique name of the event.
    pub event_id: &'a str,
    /// Its place in the session.
    pub sequence: u64,
    /// When it happened.
    pub time: Timestamp,
    /// The session, by our name.
    pub session_id: &'a SessionId,
    /// The session by the agent's name.
    pub native_session_id: Option<&'a NativeSessionId>,
    /// Who says it.
    pub origin: Origin,
    /// What happened.
    pub data: EventDataRef<'a>,
    /// The native payload it was made from.
    pub raw: Option<&'a RawJson>,
}

/// What happened. What is said once is handed over; what will be needed again is lent.
#[derive(Debug)]
pub enum EventDataRef<'a> {
    /// A session began.
    SessionStarted {
        /// What the agent tells about itself.
        metadata: &'a SessionMetadata,
    },
    /// A turn began.
    TurnStarted {
        /// The turn's id.
        turn_id: &'a str,
        /// What the agent says at the start of the turn.
        metadata: Option<&'a TurnMetadata>,
    },
    /// An item began.
    ItemStarted(&'a Item),
    /// An item is done.
    ItemCompleted(&'a Item, ItemOutcome),
    /// An item goes on.
    ItemDelta {
        /// The item that goes on.
        item_id: &'a ItemId,
        /// The agent's own id of it.
        native_item_id: Option<&'a NativeItemId>,
        /// What comes next.
        delta: &'a str,
    },
    /// Anything, as a whole.
    Owned(EventData),
}

impl EventRef<'_> {
    /// The event itself.
    #[must_use]
    pub fn into_event(self) -> UniversalEvent {
        UniversalEvent {
            event_id: self.event_id.into(),
            sequence: self.sequence,
            time: self.time,
            session_id: self.session_id.clone(),
            native_session_id: self.native_session_id.cloned(),
            origin: self.origin,
            data: self.data.into_data(),
            raw: self.raw.cloned(),
        }
    }
}

impl EventDataRef<'_> {
    fn into_data(self) -> EventData {
        match self {
            Self::SessionStarted { metadata } => {
                EventData::SessionStarted(SessionStarted { metadata: Some(Box::new(metadata.clone())) })
            }
            Self::TurnStarted { turn_id, metadata } => EventData::TurnStarted(TurnStarted {
                metadata: metadata.cloned().map(Box::new),
                ..TurnStarted::new(turn_id)
            }),
            Self::ItemStarted(item) => EventData::item_started(item.clone()),
            Self::ItemCompleted(item, outcome) => EventData::item_completed(item.clone(), outcome),
            Self::ItemDelta { item_id, native_item_id, delta } => EventData::ItemDelta(ItemDelta {
                item_id: item_id.clone(),
                native_item_id: native_item_id.cloned(),
                delta: delta.to_owned(),
            }),
            Self::Owned(data) => data,
        }
    }
}

/// Keeps them.
impl EventSink for Vec<UniversalEvent> {
    fn write_event(&mut self, event: EventRef<'_>) {
        self.push(event.into_event());
    }
}

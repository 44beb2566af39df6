//! Event sinks: where a conversion writes its events.
//!
//! A sink receives borrowed events. Building an owned [`UniversalEvent`] for each would copy a lot for nothing: the
//! start and the end of an item have the same item, and the text of a delta already exists in the payload. A sink that
//! only writes JSON or counts events needs no copy; a `Vec` of events makes them.

use crate::{
    EventData, Item, ItemDelta, ItemId, ItemOutcome, NativeItemId, NativeSessionId, Origin, RawJson, SessionId,
    SessionMetadata, SessionStarted, Timestamp, TurnMetadata, TurnStarted, UniversalEvent,
};

/// Receives the events of a stream, in order.
pub trait EventSink {
    /// Receives the next event.
    fn write_event(&mut self, event: EventRef<'_>);
}

/// A borrowed event. The fields are those of a [`UniversalEvent`].
#[derive(Debug)]
pub struct EventRef<'a> {
    /// Unique id of the event.
    pub event_id: &'a str,
    /// Sequence number of the event in its session.
    pub sequence: u64,
    /// Time of the event.
    pub time: Timestamp,
    /// Interlingua's id of the session.
    pub session_id: &'a SessionId,
    /// The agent's id of the session.
    pub native_session_id: Option<&'a NativeSessionId>,
    /// Who produced the event.
    pub origin: Origin,
    /// What happened.
    pub data: EventDataRef<'a>,
    /// The native payload that the event was made from.
    pub raw: Option<&'a RawJson>,
}

/// A borrowed [`EventData`]. Data that the caller keeps is borrowed; data that it does not need any more is `Owned`.
#[derive(Debug)]
pub enum EventDataRef<'a> {
    /// `session.started`.
    SessionStarted {
        /// Metadata of the session.
        metadata: &'a SessionMetadata,
    },
    /// `turn.started`.
    TurnStarted {
        /// Id of the turn.
        turn_id: &'a str,
        /// Metadata of the turn.
        metadata: Option<&'a TurnMetadata>,
    },
    /// `item.started`. The status is `in_progress`, whatever the item's own status is.
    ItemStarted(&'a Item),
    /// `item.completed`. The status is the outcome, whatever the item's own status is.
    ItemCompleted(&'a Item, ItemOutcome),
    /// `item.delta`.
    ItemDelta {
        /// Interlingua's id of the item.
        item_id: &'a ItemId,
        /// The agent's id of the item.
        native_item_id: Option<&'a NativeItemId>,
        /// The next piece of text.
        delta: &'a str,
    },
    /// Any event data.
    Owned(EventData),
}

impl EventRef<'_> {
    /// Copies the borrowed parts into an owned event.
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

/// Keeps the events.
impl EventSink for Vec<UniversalEvent> {
    fn write_event(&mut self, event: EventRef<'_>) {
        self.push(event.into_event());
    }
}

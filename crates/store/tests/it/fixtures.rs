//! Stores, sessions and events for tests.

use std::path::Path;

use interlingua_schema::{
    EventData, ItemDelta, Message, Origin, RawJson, SessionEnded, SessionStarted, Timestamp, UniversalEvent,
};
use interlingua_store::{
    Append, NewMessage, NewSession, RawPayloads, ReadLimits, Session, SessionKey, Store, StoreOptions,
};

pub(crate) const UNLIMITED: ReadLimits = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };

pub(crate) fn open_store(dir: &Path) -> Store {
    Store::open(dir, StoreOptions::default()).unwrap()
}

pub(crate) async fn create_session(store: &Store, id: &str) -> Session {
    store.create(NewSession::new(id, "mock")).await.unwrap()
}

fn event_with_data(sequence: u64, data: EventData) -> UniversalEvent {
    let time = Timestamp::from_millis(i64::try_from(sequence).unwrap());
    UniversalEvent::new(format!("evt_{sequence}"), sequence, time, "s", Origin::AGENT, data)
}

/// `session.started` for sequence 1, otherwise a delta whose text is the sequence and `padding` more bytes.
pub(crate) fn padded_event(sequence: u64, padding: usize) -> UniversalEvent {
    let data = match sequence {
        1 => EventData::SessionStarted(SessionStarted::default()),
        _ => EventData::ItemDelta(ItemDelta::new("itm_1", None, format!("{sequence}{}", "x".repeat(padding)))),
    };
    event_with_data(sequence, data)
}

pub(crate) fn event(sequence: u64) -> UniversalEvent {
    padded_event(sequence, 0)
}

pub(crate) fn event_with_raw(sequence: u64, raw: &RawJson) -> UniversalEvent {
    let mut event = event(sequence);
    event.raw = Some(raw.clone());
    event
}

pub(crate) fn session_ended(sequence: u64) -> UniversalEvent {
    event_with_data(sequence, EventData::SessionEnded(SessionEnded::terminated()))
}

pub(crate) async fn append_events(store: &Store, session: SessionKey, sequences: std::ops::RangeInclusive<u64>) {
    store.append(session, Append::events(sequences.map(event))).await.unwrap();
}

/// A message whose text is also its id.
pub(crate) fn new_message(text: &str) -> NewMessage {
    NewMessage::new(text, Message::new(text))
}

/// Reads all events of a session as text.
pub(crate) async fn read_all(store: &Store, session: SessionKey, raw: RawPayloads) -> Vec<String> {
    let batch = store.read(session, 0, UNLIMITED, raw).await.unwrap();
    for (expected, (sequence, _)) in (1..).zip(batch.iter()) {
        assert_eq!(sequence, expected, "the sequence has a gap");
    }
    batch.iter().map(|(_, json)| json.to_owned()).collect()
}

pub(crate) fn to_json(events: impl IntoIterator<Item = UniversalEvent>) -> Vec<String> {
    events.into_iter().map(|event| serde_json::to_string(&event).unwrap()).collect()
}

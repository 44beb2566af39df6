//! Stores, sessions and events for tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

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

/// The files below a directory, without those that are removed meanwhile.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(self::files(&entry.path())),
            _ => files.push(entry.path()),
        }
    }
    files
}

/// Number of times that the files below a directory have the text, in upper or lower case.
pub(crate) fn occurrences(dir: &Path, text: &str) -> usize {
    let count = |file: PathBuf| {
        let bytes = std::fs::read(file).unwrap_or_default();
        bytes.windows(text.len()).filter(|window| window.eq_ignore_ascii_case(text.as_bytes())).count()
    };
    files(dir).into_iter().map(count).sum()
}

/// Waits until no file below a directory has the text.
pub(crate) async fn until_gone(dir: &Path, text: &str) {
    let start = std::time::Instant::now();
    while occurrences(dir, text) > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "{} times {text} are left", occurrences(dir, text));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Size of the files below a directory.
pub(crate) fn size(dir: &Path) -> u64 {
    files(dir).into_iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum()
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

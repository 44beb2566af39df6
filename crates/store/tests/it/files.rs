//! The files of a store: complete after closing, without deleted text, and never silently without their log.

use std::os::unix::ffi::OsStrExt as _;

use interlingua_schema::{Message, RawJson};
use interlingua_store::{Append, NewMessage, OpenError, RawPayloads, Store, StoreOptions, backup, repair};

use crate::fixtures::{
    self, append_events, create_session, event_with_raw, occurrences, open_store, padded_event, read_all, size,
};

pub(crate) fn text_event(sequence: u64, text: &str) -> interlingua_schema::UniversalEvent {
    let raw = RawJson::from_payload(&format!("{{\"native\":\"{text}\",\"number\":{sequence}}}"));
    let mut event = event_with_raw(sequence, &raw);
    if let interlingua_schema::EventData::ItemDelta(delta) = &mut event.data {
        text.clone_into(&mut delta.delta);
    }
    event
}

/// Text of a length that does not compress, beginning with a marker.
pub(crate) fn long_text(marker: &str, length: usize) -> String {
    let mut state = 1_u64;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 59) % 26).unwrap())
    });
    std::iter::once(marker.to_owned()).chain(letters.take(length).map(String::from)).collect()
}

#[tokio::test]
async fn a_closed_database_is_complete_without_other_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=50).await;
    let reader = store.reader(session.key, 50, RawPayloads::Omit);
    // Clones and readers may outlive the close.
    store.clone().close().await;
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(dir.path().join("interlingua.db"), copy.path().join("interlingua.db")).unwrap();
    assert!(!dir.path().join("interlingua.db-wal").exists());
    assert!(store.session(&session.id).await.is_err() && store.delete(session.key).await.is_err());
    drop((reader, store));

    let events = read_all(&open_store(copy.path()), session.key, RawPayloads::Omit).await;
    assert_eq!(events.len(), 50);
}

#[tokio::test]
async fn a_database_without_its_log_is_refused_until_the_loss_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=3).await;
    // What a copy of the database file alone has while a server runs.
    let copy = tempfile::tempdir().unwrap();
    let copied = copy.path().join("interlingua.db");
    std::fs::copy(dir.path().join("interlingua.db"), &copied).unwrap();
    for empty_log in [false, true] {
        if empty_log {
            std::fs::write(copy.path().join("interlingua.db-wal"), "").unwrap();
        }
        let error = Store::open(copy.path(), StoreOptions::default()).unwrap_err();
        assert!(matches!(error, OpenError::LogLost { .. }), "{error}");
        let text = error.to_string();
        for part in ["interlingua.db-wal", "are lost", "store backup", "store check --repair"] {
            assert!(text.contains(part), "expected {part:?} in: {text}");
        }
    }
    let report = repair(copy.path()).unwrap();
    assert!(report.issues.iter().any(|issue| issue.contains("write-ahead log is missing")), "{:?}", report.issues);
    assert!(open_store(copy.path()).session(&session.id).await.unwrap().is_none());

    // With its log, the copy of a running store is complete.
    let complete = tempfile::tempdir().unwrap();
    for file in ["interlingua.db", "interlingua.db-wal"] {
        std::fs::copy(dir.path().join(file), complete.path().join(file)).unwrap();
    }
    assert_eq!(read_all(&open_store(complete.path()), session.key, RawPayloads::Omit).await.len(), 3);
}

#[tokio::test]
async fn a_backup_of_a_store_in_use_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=30).await;
    let target = dir.path().join("copy.db");
    let bytes = backup(dir.path(), &target).unwrap();
    assert_eq!(target.metadata().unwrap().len(), bytes);
    let mode = std::os::unix::fs::PermissionsExt::mode(&target.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    append_events(&store, session.key, 31..=31).await;
    let error = backup(dir.path(), &target).unwrap_err();
    assert!(matches!(error, OpenError::File { .. }), "{error}");

    let unusual = dir.path().join(std::ffi::OsStr::from_bytes(b"copy-\xff\'.db"));
    assert_eq!(backup(dir.path(), &unusual).unwrap(), unusual.metadata().unwrap().len());

    let restored = tempfile::tempdir().unwrap();
    std::fs::rename(&target, restored.path().join("interlingua.db")).unwrap();
    let restored = open_store(restored.path());
    assert_eq!(read_all(&restored, session.key, RawPayloads::Omit).await.len(), 30);
    let missing = tempfile::tempdir().unwrap();
    assert!(matches!(backup(missing.path(), &target), Err(OpenError::File { .. })));
}

#[tokio::test]
async fn no_byte_of_a_deleted_session_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let kept = create_session(&store, "kept").await;
    let mut sessions = Vec::new();
    for number in 0..12 {
        sessions.push(create_session(&store, &format!("deleted-id-{number}")).await);
    }
    // Sessions grow at the same time, so that they share pages.
    for round in 0..40_u64 {
        for session in &sessions {
            let text = long_text("deleted text ", usize::try_from(round * 97 % 1500).unwrap());
            store.append(session.key, Append::events([text_event(round + 1, &text)])).await.unwrap();
        }
        append_events(&store, kept.key, round + 1..=round + 1).await;
    }
    let session = sessions[0].key;
    store.append(session, Append::events([text_event(41, &long_text("deleted text ", 9_000_000))])).await.unwrap();
    let config = RawJson::from_payload("{\"deleted text\":1}");
    store.append(session, Append::events([]).state(config)).await.unwrap();
    for length in [10, 30_000] {
        store.enqueue(session, NewMessage::new("m", Message::new(long_text("deleted text ", length)))).await.unwrap();
    }
    assert!(occurrences(dir.path(), "deleted text") > 100 && occurrences(dir.path(), "deleted-id") > 0);

    for session in &sessions {
        store.delete(session.key).await.unwrap();
    }
    assert_eq!((occurrences(dir.path(), "deleted text"), occurrences(dir.path(), "deleted-id")), (0, 0));
    // Most of it is reserved space.
    assert!(size(dir.path()) < 4 * 1024 * 1024, "{}", size(dir.path()));
    assert_eq!(read_all(&store, kept.key, RawPayloads::Omit).await.len(), 40);
    store.delete(kept.key).await.unwrap();
    append_events(&store, create_session(&store, "new").await.key, 1..=1).await;
}

#[tokio::test]
async fn an_interrupted_removal_of_deleted_data_is_completed_by_the_next_process() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let text = long_text("deleted text", 2_000);
    store.append(session.key, Append::events((1..=400).map(|sequence| text_event(sequence, &text)))).await.unwrap();
    drop(store);
    // What a process leaves that is killed right after the deletion.
    let database = rusqlite::Connection::open(dir.path().join("interlingua.db")).unwrap();
    database.execute_batch("INSERT INTO deleted_sessions SELECT key FROM sessions; DELETE FROM sessions").unwrap();
    drop(database);
    assert!(occurrences(dir.path(), "deleted text") > 0);
    let store = open_store(dir.path());
    assert!(store.session(&session.id).await.unwrap().is_none());
    fixtures::until_gone(dir.path(), "deleted text").await;
    drop(store);
}

#[tokio::test]
async fn text_that_events_and_payloads_share_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let mut written = 0;
    for round in 0..40_u64 {
        // Different text each time, which does not compress.
        let base = long_text("", 100_000 + usize::try_from(round).unwrap() * 1000);
        let texts = base.as_bytes().rchunks(1000).take(100).map(|text| str::from_utf8(text).unwrap());
        let events: Vec<_> =
            (round * 100 + 1..).zip(texts).map(|(sequence, text)| text_event(sequence, text)).collect();
        written += events.len() * 1000;
        store.append(session.key, Append::events(events)).await.unwrap();
    }
    drop(store);
    let stored = std::fs::metadata(dir.path().join("interlingua.db")).unwrap().len();
    assert!(stored < written as u64 * 16 / 10, "{stored} bytes for {written} bytes of text");
}

#[tokio::test]
async fn padded_events_of_a_reopened_store_are_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let events = || (1..=30).map(|sequence| padded_event(sequence, usize::try_from(sequence).unwrap() * 400));
    store.append(session.key, Append::events(events())).await.unwrap();
    drop(store);
    assert_eq!(read_all(&open_store(dir.path()), session.key, RawPayloads::Include).await, fixtures::to_json(events()));
}

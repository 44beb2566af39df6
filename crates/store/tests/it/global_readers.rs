//! Readers of many sessions: each event once, in order, across restarts of the reader.

use std::collections::BTreeMap;
use std::time::Duration;

use interlingua_schema::RawJson;
use interlingua_store::{
    Append, GlobalCursor, GlobalReader, GlobalStart, NewSession, RawPayloads, SessionChanges, SessionFilter, Store,
    StoreError, StoreOptions,
};
use serde_json::Value;

use crate::backend::{Backend, conformance};
use crate::fixtures::{self, append_events, create_session, event_with_raw, open_store, read_all};

conformance!(
    a_reader_moves_past_stored_events_that_it_filters_out_and_waits,
    readers_that_restart_at_random_miss_and_repeat_nothing,
    a_cursor_of_another_store_is_refused,
    the_order_is_that_of_the_appends_and_the_same_after_a_restart,
    a_filtered_reader_follows_the_labels_of_sessions,
);

async fn open_reader(store: &Store, start: GlobalStart, filter: &SessionFilter, raw: RawPayloads) -> GlobalReader {
    store.global_reader(start, filter.clone(), raw).await.unwrap()
}

/// Reads this number of events: the cursor after each, and its text.
async fn read_events(reader: &mut GlobalReader, count: usize) -> Vec<(GlobalCursor, String)> {
    let mut events = Vec::new();
    while events.len() < count {
        let batch = reader.next().await.unwrap();
        events.extend(batch.iter().map(|(cursor, json)| (cursor, json.to_owned())));
    }
    assert_eq!(events.len(), count);
    events
}

/// A number that looks random, from 0 to `limit - 1`.
fn random(state: &mut u64, limit: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % limit
}

/// Appends events until every session has this many, in appends of random size, in an order that looks random.
async fn append_in_random_order(store: Store, sessions: Vec<interlingua_store::Session>, events: u64, seed: u64) {
    let mut state = seed;
    let mut last = vec![0; sessions.len()];
    let mut open: Vec<usize> = (0..sessions.len()).collect();
    while !open.is_empty() {
        let choice = usize::try_from(random(&mut state, open.len() as u64)).unwrap();
        let index = open[choice];
        let end = (last[index] + 1 + random(&mut state, 7)).min(events);
        let raw = RawJson::from_payload(&format!("{{\"payload\":{end}}}"));
        let new = (last[index] + 1..=end).map(|sequence| {
            let mut event = event_with_raw(sequence, &raw);
            event.session_id = sessions[index].id.clone();
            event
        });
        store.append(sessions[index].key, Append::events(new)).await.unwrap();
        last[index] = end;
        if end == events {
            open.swap_remove(choice);
        }
    }
}

async fn readers_that_restart_at_random_miss_and_repeat_nothing(backend: Backend) {
    const SESSIONS: usize = 60;
    const EVENTS: u64 = 80;
    let store = backend.open().await;
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        sessions.push(create_session(&store, &format!("s{number}")).await);
    }
    let readers: Vec<_> = (0..8_u64)
        .map(|reader| {
            let store = store.clone();
            let raw = if reader == 0 { RawPayloads::Include } else { RawPayloads::Omit };
            tokio::spawn(async move {
                let (mut state, mut start, mut read) = (reader, GlobalStart::Beginning, Vec::new());
                let mut restarts = 0;
                while read.len() < SESSIONS * usize::try_from(EVENTS).unwrap() {
                    let mut reader = open_reader(&store, start, &SessionFilter::default(), raw).await;
                    let mut remaining = 1 + random(&mut state, 400);
                    while remaining > 0 && read.len() < SESSIONS * usize::try_from(EVENTS).unwrap() {
                        let batch = reader.next().await.unwrap();
                        // Also stops in the middle of a batch.
                        for (cursor, json) in batch.iter().take(usize::try_from(remaining).unwrap()) {
                            start = GlobalStart::After(cursor.to_string().parse().unwrap());
                            read.push(json.to_owned());
                            remaining -= 1;
                        }
                    }
                    restarts += 1;
                }
                assert!(restarts > 5);
                (raw, read)
            })
        })
        .collect();
    let half = SESSIONS / 2;
    tokio::join!(
        append_in_random_order(store.clone(), sessions[..half].to_vec(), EVENTS, 1),
        append_in_random_order(store.clone(), sessions[half..].to_vec(), EVENTS, 2),
    );
    for reader in readers {
        let (raw, read) = reader.await.unwrap();
        let mut by_session: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for json in read {
            let event: Value = serde_json::from_str(&json).unwrap();
            by_session.entry(event["session_id"].as_str().unwrap().to_owned()).or_default().push(json);
        }
        assert_eq!(by_session.len(), SESSIONS);
        for session in &sessions {
            assert_eq!(by_session[session.id.as_str()], read_all(&store, session.key, raw).await, "{}", session.id);
        }
    }
}

async fn the_order_is_that_of_the_appends_and_the_same_after_a_restart(backend: Backend) {
    let store = backend.open().await;
    let (first, second) = (create_session(&store, "a").await, create_session(&store, "b").await);
    let mut reader = open_reader(&store, GlobalStart::End, &SessionFilter::default(), RawPayloads::Omit).await;
    append_events(&store, second.key, 1..=2).await;
    append_events(&store, first.key, 1..=3).await;
    append_events(&store, second.key, 3..=3).await;
    let live = read_events(&mut reader, 6).await;
    let sequences: Vec<u64> = live
        .iter()
        .map(|(_, json)| serde_json::from_str::<Value>(json).unwrap()["sequence"].as_u64().unwrap())
        .collect();
    assert_eq!(sequences, [1, 2, 1, 2, 3, 3]);
    drop((store, reader));
    let store = backend.open().await;
    let filter = SessionFilter::default();
    let stored =
        read_events(&mut open_reader(&store, GlobalStart::Beginning, &filter, RawPayloads::Omit).await, 6).await;
    assert_eq!(stored, live);
    for (read, (cursor, _)) in live.iter().enumerate().take(5) {
        let start = GlobalStart::After(*cursor);
        let rest = read_events(&mut open_reader(&store, start, &filter, RawPayloads::Omit).await, 5 - read).await;
        assert_eq!(rest, live[read + 1..]);
    }
    // A number is not used again when its session is deleted.
    store.delete(first.key).await.unwrap();
    store.delete(second.key).await.unwrap();
    drop(store);
    let store = backend.open().await;
    let mut reader = open_reader(&store, GlobalStart::After(live[5].0), &filter, RawPayloads::Omit).await;
    append_events(&store, create_session(&store, "c").await.key, 1..=1).await;
    assert_eq!(read_events(&mut reader, 1).await.len(), 1);
}

async fn a_filtered_reader_follows_the_labels_of_sessions(backend: Backend) {
    let store = backend.open().await;
    let create = async |id: &str, agent: &str, team: Option<&str>| {
        let mut session = NewSession::new(id, agent);
        session.labels.extend(team.map(|team| ("team".to_owned(), team.to_owned())));
        store.create(session).await.unwrap()
    };
    let core = create("core", "mock", Some("core")).await;
    let other = create("other", "mock", None).await;
    let codex = create("codex", "codex", Some("core")).await;
    for session in [&core, &other, &codex] {
        append_events(&store, session.key, 1..=1).await;
    }
    let labelled = SessionFilter::default().labels(vec![("team".to_owned(), Some("core".to_owned()))]);
    for filter in [labelled.clone().agent("mock".to_owned()), SessionFilter::default().ids(vec!["core".to_owned()])] {
        let count = |session: &interlingua_store::Session| {
            let (store, id) = (store.clone(), session.id.clone());
            async move { store.session(&id).await.unwrap().unwrap().event_count }
        };
        let (other_count, core_count) = (count(&other).await, count(&core).await);
        let mut reader = open_reader(&store, GlobalStart::Beginning, &filter, RawPayloads::Omit).await;
        read_events(&mut reader, usize::try_from(core_count).unwrap()).await;
        // Events of other sessions move the cursor.
        let before = reader.cursor();
        let next = tokio::spawn(async move {
            let batch = reader.next().await.unwrap();
            (reader.cursor(), batch.len())
        });
        append_events(&store, other.key, other_count + 1..=other_count + 1).await;
        append_events(&store, core.key, core_count + 1..=core_count + 1).await;
        let (after, read) = next.await.unwrap();
        assert!(after != before && read == 1);
    }
    let mut reader = open_reader(&store, GlobalStart::End, &labelled, RawPayloads::Omit).await;
    let last = store.session(&other.id).await.unwrap().unwrap().event_count;
    append_events(&store, other.key, last + 1..=last + 1).await;
    append_events(&store, codex.key, 2..=2).await;
    read_events(&mut reader, 1).await;
    let mut changes = SessionChanges::default();
    changes.labels.insert("team".to_owned(), Some("core".to_owned()));
    store.update_session(other.key, changes).await.unwrap();
    append_events(&store, other.key, last + 2..=last + 2).await;
    let (_, json) = read_events(&mut reader, 1).await.remove(0);
    assert!(json.contains(&format!("\"sequence\":{}", last + 2)), "{json}");
}

async fn a_reader_moves_past_stored_events_that_it_filters_out_and_waits(backend: Backend) {
    let store = backend.open().await;
    let (wanted, other) = (create_session(&store, "wanted").await, create_session(&store, "other").await);
    append_events(&store, wanted.key, 1..=1).await;
    append_events(&store, other.key, 1..=3).await;
    let deleted = create_session(&store, "deleted").await;
    append_events(&store, deleted.key, 1..=1).await;
    store.delete(deleted.key).await.unwrap();
    let by_id = |id: &str| SessionFilter::default().ids(vec![id.to_owned()]);
    let end = open_reader(&store, GlobalStart::End, &SessionFilter::default(), RawPayloads::Omit).await.cursor();
    for (filter, stored) in [(by_id("nothing"), 0), (by_id("wanted"), 1), (SessionFilter::default(), 4)] {
        let mut reader = open_reader(&store, GlobalStart::Beginning, &filter, RawPayloads::Omit).await;
        read_events(&mut reader, stored).await;
        // A reader that is behind the last append reads the database again and again instead of waiting.
        let next = async { reader.next().await.map(|batch| batch.len()) };
        assert!(tokio::time::timeout(Duration::from_millis(100), next).await.is_err(), "{filter:?}");
        // Appends to other schemas have numbers of the same sequence.
        if matches!(backend, Backend::Sqlite(_)) {
            assert_eq!(reader.cursor(), end, "{filter:?}");
        }
    }
}

async fn a_cursor_of_another_store_is_refused(backend: Backend) {
    let other_backend = backend.other();
    let (store, other) = (backend.open().await, other_backend.open().await);
    let filter = SessionFilter::default();
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=1).await;
    let mut reader = open_reader(&store, GlobalStart::Beginning, &filter, RawPayloads::Omit).await;
    let (cursor, _) = read_events(&mut reader, 1).await.remove(0);
    let text = cursor.to_string();
    let parts: Vec<&str> = text.split('.').collect();
    let [store_part, append, key, sequence] = parts[..] else { panic!("{text}") };
    assert_eq!(sequence, "1");
    let beyond = [format!("{store_part}.{}.{key}.1", i64::MAX), format!("{store_part}.{append}.{key}.9")];
    for (store, cursor) in
        [(&other, cursor), (&store, beyond[0].parse().unwrap()), (&store, beyond[1].parse().unwrap())]
    {
        let refused = store.global_reader(GlobalStart::After(cursor), filter.clone(), RawPayloads::Omit).await;
        assert_eq!(refused.err(), Some(StoreError::CursorGone), "{cursor}");
    }
}

/// Changes a closed database to what the version before wrote.
pub(crate) fn downgrade(dir: &std::path::Path) {
    let database = rusqlite::Connection::open(dir.join("interlingua.db")).unwrap();
    database
        .execute_batch(
            "ALTER TABLE sessions DROP COLUMN last_append; ALTER TABLE events DROP COLUMN append; \
             ALTER TABLE events DROP COLUMN event_checksums; \
             ALTER TABLE store_state DROP COLUMN store_id; ALTER TABLE store_state DROP COLUMN last_append; \
             PRAGMA user_version = 4",
        )
        .unwrap();
}

#[tokio::test]
async fn a_database_of_the_format_before_is_migrated() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let (first, second) = (create_session(&store, "a").await, create_session(&store, "b").await);
    for sequence in 1..=20 {
        append_events(&store, first.key, sequence..=sequence).await;
        append_events(&store, second.key, sequence..=sequence).await;
    }
    drop(store);
    downgrade(dir.path());
    interlingua_store::backup(dir.path(), &dir.path().join("copy.db")).unwrap();
    let store = Store::open(dir.path(), StoreOptions::default()).unwrap();
    append_events(&store, second.key, 21..=22).await;
    append_events(&store, first.key, 21..=22).await;
    let filter = SessionFilter::default();
    let mut reader = open_reader(&store, GlobalStart::Beginning, &filter, RawPayloads::Omit).await;
    let all = read_events(&mut reader, 44).await;
    let expected_order = [(first.key, 1..=20), (second.key, 1..=20), (second.key, 21..=22), (first.key, 21..=22)];
    let mut expected = Vec::new();
    for (session, sequences) in expected_order {
        let events = read_all(&store, session, RawPayloads::Omit).await;
        expected.extend(sequences.map(|sequence| events[sequence - 1].clone()));
    }
    assert_eq!(all.iter().map(|(_, json)| json.clone()).collect::<Vec<_>>(), expected);
    for (read, (cursor, _)) in all.iter().enumerate().take(43) {
        let mut reader = open_reader(&store, GlobalStart::After(*cursor), &filter, RawPayloads::Omit).await;
        assert_eq!(read_events(&mut reader, 43 - read).await, all[read + 1..]);
    }
    fixtures::create_session(&store, "c").await;
}

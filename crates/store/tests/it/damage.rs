//! A damaged database costs the events that are damaged, and no others.

use std::path::{Path, PathBuf};

use interlingua_schema::{EventData, UniversalEvent};
use interlingua_store::{Append, RawPayloads, ReadLimits, Session, check, repair};

use crate::fixtures::{
    self, append_events, create_session, event_with_raw, open_store, padded_event, read_all, to_json,
};

fn database(dir: &Path) -> PathBuf {
    dir.join("interlingua.db")
}

/// Changes the closed database with SQL.
fn execute(dir: &Path, sql: &str) {
    rusqlite::Connection::open(database(dir)).unwrap().execute_batch(sql).unwrap();
}

fn parse(json: &str) -> UniversalEvent {
    serde_json::from_str(json).unwrap()
}

/// Sequences of the events that are read in the place of unreadable ones. Checks sequence, session and time of all.
fn unreadable(events: &[String]) -> Vec<u64> {
    let mut time = None;
    let mut unreadable = Vec::new();
    for (expected, json) in (1..).zip(events) {
        let event = parse(json);
        assert_eq!((event.sequence, event.session_id.as_str()), (expected, "s"));
        assert!(time.is_none_or(|time| event.time >= time), "{json}");
        let is_unreadable = matches!(event.data, EventData::AgentUnparsed(_));
        if is_unreadable {
            unreadable.push(event.sequence);
        }
        // Without an earlier event, it is the time at which the session was created. Those of the tests are in 1970.
        if !is_unreadable || time.is_some() {
            time = Some(event.time);
        }
    }
    unreadable
}

/// A closed store with a session of five appends of four events each.
async fn stored_session(dir: &Path) -> Session {
    let store = open_store(dir);
    // Its session id has to be that of the events.
    let session = create_session(&store, "s").await;
    for first in [1, 5, 9, 13, 17] {
        append_events(&store, session.key, first..=first + 3).await;
    }
    session
}

async fn read_events(dir: &Path, session: &Session) -> Vec<String> {
    let store = open_store(dir);
    let mut events = Vec::new();
    loop {
        let after = events.len() as u64;
        let batch = store.read(session.key, after, fixtures::UNLIMITED, RawPayloads::Include).await.unwrap();
        if batch.is_empty() {
            break;
        }
        events.extend(batch.iter().map(|(_, json)| json.to_owned()));
    }
    // Readers that start anywhere get the same events.
    for after in 0..events.len() {
        let limits = ReadLimits { max_events: 3, max_bytes: usize::MAX };
        let batch = store.read(session.key, after as u64, limits, RawPayloads::Omit).await.unwrap();
        let found: Vec<&str> = batch.iter().map(|(_, json)| json).collect();
        assert_eq!(found, events[after..(after + found.len())]);
        assert!(!found.is_empty());
    }
    events
}

#[tokio::test]
async fn one_corrupt_event_costs_that_event() {
    let dir = tempfile::tempdir().unwrap();
    let session = stored_session(dir.path()).await;
    // Overwrites the text of one event in the file itself.
    let mut file = std::fs::read(database(dir.path())).unwrap();
    let needle = b"\"event_id\":\"evt_10\"";
    let at = file.windows(needle.len()).position(|window| window == needle).unwrap();
    file[at..at + needle.len()].fill(b'\xff');
    std::fs::write(database(dir.path()), file).unwrap();

    let events = read_events(dir.path(), &session).await;
    assert_eq!((events.len(), unreadable(&events)), (20, vec![10]));
    let intact = to_json((1..=20).map(fixtures::event));
    assert!(events.iter().zip(&intact).all(|(found, intact)| found == intact || parse(found).sequence == 10));

    let report = check(dir.path()).unwrap();
    assert_eq!((report.sessions, report.events), (1, 20));
    assert_eq!(report.issues, ["session `s`: event 10 cannot be read"]);
    assert_eq!(repair(dir.path()).unwrap(), report);
    assert_eq!(check(dir.path()).unwrap().issues, [""; 0]);
    assert_eq!(read_events(dir.path(), &session).await, events);
}

#[tokio::test]
async fn a_changed_bit_costs_the_events_that_depend_on_it() {
    let intact = to_json((1..=20).map(|sequence| padded_event(sequence, 300)));
    for (part, only) in [(1.0, Some(20)), (0.5, None)] {
        let dir = tempfile::tempdir().unwrap();
        let store = open_store(dir.path());
        let session = create_session(&store, "s").await;
        let events = (1..=20).map(|sequence| padded_event(sequence, 300));
        store.append(session.key, Append::events(events)).await.unwrap();
        drop(store);
        let connection = rusqlite::Connection::open(database(dir.path())).unwrap();
        let mut stored: Vec<u8> = connection.query_row("SELECT json FROM events", [], |row| row.get(0)).unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let at = ((stored.len() - 1) as f64 * part) as usize;
        stored[at] ^= 1;
        connection.execute("UPDATE events SET json = ?1", [stored]).unwrap();
        drop(connection);
        let read = read_events(dir.path(), &session).await;
        let lost = unreadable(&read);
        assert_eq!((read.len(), lost.contains(&20)), (20, true));
        assert!(lost.len() < 20 && only.is_none_or(|only| lost == [only]), "{lost:?}");
        for (sequence, (read, intact)) in (1..).zip(read.iter().zip(&intact)) {
            assert!(read == intact || lost.contains(&sequence), "event {sequence} was changed: {read}");
        }
        assert_eq!(repair(dir.path()).unwrap().issues.len(), 1);
        assert_eq!(read_events(dir.path(), &session).await, read);
        assert_eq!(check(dir.path()).unwrap().issues, [""; 0]);
    }
}

#[tokio::test]
async fn a_row_that_is_missing_or_not_text_costs_its_events() {
    for (sql, lost) in [
        ("DELETE FROM events WHERE place = (SELECT min(place) FROM events)", 1..=4),
        ("DELETE FROM events WHERE place & 255 = 12", 9..=12),
        ("DELETE FROM events WHERE place = (SELECT max(place) FROM events)", 17..=20),
        ("UPDATE events SET json = x'fffe00' WHERE place & 255 = 8", 5..=8),
        ("UPDATE events SET json = 'garbage' WHERE place & 255 = 8", 5..=8),
        ("UPDATE events SET json = 7 WHERE place & 255 = 8", 5..=8),
        ("DELETE FROM events", 1..=20),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let session = stored_session(dir.path()).await;
        execute(dir.path(), sql);
        let events = read_events(dir.path(), &session).await;
        assert_eq!((events.len(), unreadable(&events)), (20, lost.collect()), "{sql}");
        assert_eq!(repair(dir.path()).unwrap().issues.len(), 1, "{sql}");
        assert_eq!(check(dir.path()).unwrap().issues, [""; 0], "{sql}");
        assert_eq!(read_events(dir.path(), &session).await, events, "{sql}");
        // The session goes on.
        append_events(&open_store(dir.path()), session.key, 21..=21).await;
    }
}

#[tokio::test]
async fn damaged_payloads_cost_the_payloads() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let raw = interlingua_schema::RawJson::from_payload(r#"{"native":true}"#);
    store.append(session.key, Append::events((1..=3).map(|sequence| event_with_raw(sequence, &raw)))).await.unwrap();
    drop(store);
    execute(dir.path(), "UPDATE events SET payloads = x'0102030405'");
    let store = open_store(dir.path());
    assert_eq!(read_all(&store, session.key, RawPayloads::Include).await, to_json((1..=3).map(fixtures::event)));
    let issues = check(dir.path()).unwrap().issues;
    assert_eq!(issues, ["session `s`: the native payloads of 1 rows cannot be read"]);
}

#[tokio::test]
async fn a_destroyed_page_costs_the_events_on_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    for sequence in 1..=200 {
        store.append(session.key, Append::events([padded_event(sequence, 500)])).await.unwrap();
    }
    drop(store);
    let mut file = std::fs::read(database(dir.path())).unwrap();
    let needle = b"\"event_id\":\"evt_100\"";
    let at = file.windows(needle.len()).position(|window| window == needle).unwrap();
    let page = at / 4096 * 4096;
    file[page..page + 4096].fill(0x5a);
    std::fs::write(database(dir.path()), file).unwrap();

    let store = open_store(dir.path());
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    let mut events = Vec::new();
    while events.len() < 200 {
        let batch = reader.next().await.unwrap().unwrap();
        events.extend(batch.iter().map(|(_, json)| json.to_owned()));
    }
    let lost = unreadable(&events);
    assert!(lost.contains(&100) && lost.len() < 10, "{lost:?}");
    drop((reader, store));

    // The file of an earlier repair is kept.
    let earlier = dir.path().join("interlingua.db.damaged");
    std::fs::write(&earlier, "earlier").unwrap();
    let report = repair(dir.path()).unwrap();
    assert_eq!(report.moved_to, Some(dir.path().join("interlingua.db.damaged-2")), "{:?}", report.issues);
    assert!(report.moved_to.is_some_and(|file| file.exists()));
    assert_eq!(std::fs::read(&earlier).unwrap(), b"earlier");
    assert_eq!(check(dir.path()).unwrap().issues, [""; 0]);
    let repaired = read_all(&open_store(dir.path()), session.key, RawPayloads::Omit).await;
    // A row beside the damaged page may be found only by the repair, which also reads backwards.
    assert_eq!(repaired.len(), 200);
    let still_lost = unreadable(&repaired);
    assert!(still_lost.contains(&100) && still_lost.iter().all(|sequence| lost.contains(sequence)), "{still_lost:?}");
}

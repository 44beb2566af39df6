//! A database that an older version wrote: one event in a row.

mod made;

use std::path::Path;

use interlingua_schema::{Message, RawJson, UniversalEvent};
use interlingua_store::{Append, Limits, Raw};
use made::{all, numbered, open, with_raw, written};
use rusqlite::Connection;

/// The tables of format 1, as they were.
const TABLES: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        agent_mode TEXT,
        permission_mode TEXT,
        model TEXT,
        variant TEXT,
        native_session_id TEXT,
        directory TEXT,
        title TEXT,
        ended INTEGER NOT NULL DEFAULT 0,
        busy INTEGER NOT NULL DEFAULT 0,
        event_count INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX busy_sessions ON sessions (key) WHERE busy;
    CREATE TABLE kept (session INTEGER PRIMARY KEY, config TEXT, state TEXT) STRICT;
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        text TEXT NOT NULL,
        attachments TEXT
    ) STRICT;
    CREATE INDEX messages_of_session ON messages (session, id);
    CREATE TABLE events (place INTEGER PRIMARY KEY, json TEXT NOT NULL, payload INTEGER) STRICT;
    CREATE TABLE payloads (place INTEGER PRIMARY KEY, json TEXT NOT NULL) STRICT;
    PRAGMA application_id = 1768713831;
    PRAGMA user_version = 1;
";

const SESSION: i64 = 1;

fn place(sequence: u64) -> i64 {
    (SESSION << 36) + i64::try_from(sequence).unwrap()
}

fn payload(number: u64) -> RawJson {
    RawJson::from_payload(&format!("{{\"payload\" : {number}}}"))
}

/// Five events: the second, third and fifth made from one payload, the fourth from another.
fn old_events() -> Vec<UniversalEvent> {
    let (one, two) = (payload(1), payload(2));
    vec![numbered(1), with_raw(2, &one), with_raw(3, &one), with_raw(4, &two), with_raw(5, &one)]
}

/// Writes them as format 1 did: a payload lies with the first event made from it.
fn write_format_1(folder: &Path) {
    let database = Connection::open(folder.join("interlingua.db")).unwrap();
    database.pragma_update(None, "journal_mode", "wal").unwrap();
    database.execute_batch(TABLES).unwrap();
    let session =
        "INSERT INTO sessions (key, id, agent, event_count, created_at, updated_at) VALUES (?1, 's', 'mock', 5, 1, 1)";
    database.execute(session, [SESSION]).unwrap();
    database.execute("INSERT INTO kept (session) VALUES (?1)", [SESSION]).unwrap();
    let payload_at = [None, Some(2), Some(2), Some(4), Some(2)];
    for (event, at) in old_events().into_iter().zip(payload_at) {
        let json = written([numbered(event.sequence)]).remove(0);
        let row = (place(event.sequence), json, at.map(place));
        database.execute("INSERT INTO events (place, json, payload) VALUES (?1, ?2, ?3)", row).unwrap();
    }
    for (sequence, number) in [(2, 1), (4, 2)] {
        let row = (place(sequence), payload(number).as_str().to_owned());
        database.execute("INSERT INTO payloads (place, json) VALUES (?1, ?2)", row).unwrap();
    }
}

fn format(folder: &Path) -> i64 {
    let database = Connection::open(folder.join("interlingua.db")).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn an_old_database_is_read_and_written_on() {
    let folder = tempfile::tempdir().unwrap();
    write_format_1(folder.path());
    let store = open(folder.path());
    let session = store.session(&"s".into()).await.unwrap().unwrap();
    assert_eq!(session.event_count, 5);
    assert_eq!(all(&store, session.key, Raw::Without).await, written((1..=5).map(numbered)));
    assert_eq!(all(&store, session.key, Raw::With).await, written(old_events()));

    let new_events = || (6..=9).map(|sequence| with_raw(sequence, &payload(sequence / 2)));
    store.append(session.key, Append::events(new_events())).await.unwrap();
    let expected = written(old_events().into_iter().chain(new_events()));
    assert_eq!(all(&store, session.key, Raw::With).await, expected);
    for after in 0..9_usize {
        let limits = Limits { events: 2, bytes: usize::MAX };
        let batch = store.read(session.key, after as u64, limits, Raw::With).await.unwrap();
        let found: Vec<&str> = batch.iter().map(|(_, json)| json).collect();
        assert_eq!(found, expected[after..9.min(after + 2)]);
    }
    store.enqueue(session.key, Message::default()).await.unwrap();
    store.delete(session.key).await.unwrap();
    assert!(all(&store, session.key, Raw::With).await.is_empty());
}

#[tokio::test]
async fn what_a_new_version_opened_an_old_one_refuses() {
    let folder = tempfile::tempdir().unwrap();
    write_format_1(folder.path());
    assert_eq!(format(folder.path()), 1);
    drop(open(folder.path()));
    assert_eq!(format(folder.path()), 2);
    // And it stays as good as it was.
    let store = open(folder.path());
    let session = store.session(&"s".into()).await.unwrap().unwrap();
    assert_eq!(all(&store, session.key, Raw::With).await, written(old_events()));
}

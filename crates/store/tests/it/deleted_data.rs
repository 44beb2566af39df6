//! Deleted data is removed from the files while the store is open, also when that was interrupted or impossible at first.

use std::path::Path;

use interlingua_schema::Message;
use interlingua_store::{Append, NewMessage, Session, Store};

use crate::files::{long_text, text_event};
use crate::fixtures::{create_session, occurrences, open_store, size, until_gone};

async fn session_with_text(store: &Store, id: &str) -> Session {
    let session = create_session(store, id).await;
    store.append(session.key, Append::events((1..=20).map(|n| text_event(n, "deleted text")))).await.unwrap();
    session
}

/// Keeps the log from being emptied until it is dropped.
fn read_database(dir: &Path) -> rusqlite::Connection {
    let reader = rusqlite::Connection::open(dir.join("interlingua.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
    reader
}

#[tokio::test]
async fn text_of_a_deleted_session_is_removed_when_it_is_not_read_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = session_with_text(&store, "s").await;
    let reader = read_database(dir.path());
    store.delete(session.key).await.unwrap();
    assert!(occurrences(dir.path(), "deleted text") > 0, "the reader needs the old pages");
    drop(reader);
    // Nothing else happens in the store.
    until_gone(dir.path(), "deleted text").await;
}

#[tokio::test]
async fn the_log_that_a_killed_process_left_is_emptied() {
    let (dir, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open_store(dir.path());
    let session = session_with_text(&store, "s").await;
    let reader = read_database(dir.path());
    store.delete(session.key).await.unwrap();
    // What a process leaves that is killed now.
    for file in ["interlingua.db", "interlingua.db-wal"] {
        std::fs::copy(dir.path().join(file), killed.path().join(file)).unwrap();
    }
    drop(reader);
    assert!(occurrences(killed.path(), "deleted text") > 0);
    let _store = open_store(killed.path());
    until_gone(killed.path(), "deleted text").await;
}

#[tokio::test]
async fn uploaded_files_that_a_killed_process_left_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let kept = store.save_upload(session.key, "kept.txt".to_owned(), b"kept".to_vec()).await.unwrap();
    drop(store);
    let orphan = kept.parent().unwrap().with_file_name("4711");
    std::fs::create_dir(&orphan).unwrap();
    std::fs::write(orphan.join("old.txt"), "deleted text").unwrap();
    let _store = open_store(dir.path());
    until_gone(dir.path(), "deleted text").await;
    assert!(kept.exists());
}

#[tokio::test]
async fn the_space_of_a_large_message_is_given_back_when_it_leaves_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let message = Message::new(long_text("", 8_000_000));
    store.enqueue(session.key, NewMessage::new("m", message)).await.unwrap();
    let queued = store.next_message(session.key).await.unwrap().unwrap();
    store.append(session.key, Append::events([text_event(1, "begun")]).begin(queued.id, 0)).await.unwrap();
    let start = std::time::Instant::now();
    while is_large(dir.path()) {
        assert!(start.elapsed().as_secs() < 60, "{} bytes", size(dir.path()));
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// Whether the database has pages for more than a few events.
fn is_large(dir: &Path) -> bool {
    let database = rusqlite::Connection::open(dir.join("interlingua.db")).unwrap();
    database.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).unwrap() > 256
}

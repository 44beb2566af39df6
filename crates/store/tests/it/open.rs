//! Opening a store: locking, file formats and permissions.

use std::os::unix::fs::PermissionsExt;

use interlingua_store::{OpenError, Store, StoreOptions};

use crate::fixtures;

fn open_error(dir: &std::path::Path) -> OpenError {
    Store::open(dir, StoreOptions::default()).expect_err("opening the store should fail")
}

#[tokio::test]
async fn a_data_directory_can_be_open_only_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = fixtures::open_store(dir.path());
    let error = open_error(dir.path());
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(store);
    drop(fixtures::open_store(dir.path()));
}

#[tokio::test]
async fn events_are_still_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let store = fixtures::open_store(dir.path());
    let session = fixtures::create_session(&store, "s").await;
    fixtures::append_events(&store, session.key, 1..=3).await;
    drop(store);
    let store = fixtures::open_store(dir.path());
    let reopened = store.session(&session.id).await.unwrap().unwrap();
    assert_eq!((reopened.key, reopened.event_count), (session.key, 3));
    assert_eq!(fixtures::read_all(&store, session.key, interlingua_store::RawPayloads::Omit).await.len(), 3);
}

#[test]
fn an_unsupported_format_is_refused_with_file_formats_and_remedy() {
    for found in [3, 99] {
        let dir = tempfile::tempdir().unwrap();
        drop(fixtures::open_store(dir.path()));
        let file = dir.path().join("interlingua.db");
        let database = rusqlite::Connection::open(&file).unwrap();
        database.pragma_update(None, "user_version", found).unwrap();
        drop(database);
        let error = open_error(dir.path());
        assert!(matches!(error, OpenError::UnsupportedFormat { expected: 6, .. }), "{error}");
        let text = error.to_string();
        for part in [file.to_str().unwrap(), &format!("format {found}"), "format 6", "--data-dir"] {
            assert!(text.contains(part), "expected {part:?} in: {text}");
        }
    }
}

#[test]
fn a_foreign_file_is_not_modified() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("interlingua.db");
    let text = "not a database, but longer than the header of one, which has a hundred bytes; ".repeat(2);
    std::fs::write(&file, &text).unwrap();
    assert!(matches!(open_error(dir.path()), OpenError::ForeignFile { .. }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    std::fs::remove_file(&file).unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("CREATE TABLE foreign_table (a)").unwrap();
    drop(database);
    assert!(matches!(open_error(dir.path()), OpenError::ForeignFile { .. }));
}

#[test]
fn files_are_readable_by_their_owner_only() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("deep/data");
    let store = fixtures::open_store(&dir);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for entry in std::fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(store);
}

#[test]
fn an_unusable_directory_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = open_error(&file.join("data"));
    assert!(matches!(error, OpenError::Directory { .. }), "{error}");
    assert!(error.to_string().contains("file/data"), "{error}");
}

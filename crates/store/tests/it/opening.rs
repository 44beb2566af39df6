//! Opening a store: who may, and what with.

use std::os::unix::fs::PermissionsExt;

use interlingua_store::{OpenError, Store, StoreOptions};

use crate::made;

fn refusal(folder: &std::path::Path) -> OpenError {
    Store::open(folder, StoreOptions::default()).expect_err("the folder should be refused")
}

#[tokio::test]
async fn a_second_opening_is_refused_until_the_first_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let store = made::open(folder.path());
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    drop(store);
    drop(made::open(folder.path()));
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let store = made::open(folder.path());
    let session = made::session(&store, "s").await;
    made::append(&store, session.key, 1..=3).await;
    drop(store);
    let store = made::open(folder.path());
    let again = store.session(&session.id).await.unwrap().unwrap();
    assert_eq!((again.key, again.event_count), (session.key, 3));
    assert_eq!(made::all(&store, session.key, interlingua_store::RawPayloads::Omit).await.len(), 3);
}

#[test]
fn another_format_is_refused_with_the_file_the_formats_and_a_remedy() {
    for found in [1, 99] {
        let folder = tempfile::tempdir().unwrap();
        drop(made::open(folder.path()));
        let file = folder.path().join("interlingua.db");
        let database = rusqlite::Connection::open(&file).unwrap();
        database.pragma_update(None, "user_version", found).unwrap();
        drop(database);
        let error = refusal(folder.path());
        assert!(matches!(error, OpenError::UnsupportedFormat { expected: 2, .. }), "{error}");
        let text = error.to_string();
        for part in [file.to_str().unwrap(), &format!("format {found}"), "format 2", "--data-dir"] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }
}

#[test]
fn somebody_elses_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("interlingua.db");
    let text = "not a database, but long enough to have a header of its own, which is a hundred bytes; ".repeat(2);
    std::fs::write(&file, &text).unwrap();
    assert!(matches!(refusal(folder.path()), OpenError::ForeignFile { .. }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);

    std::fs::remove_file(&file).unwrap();
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("CREATE TABLE theirs (a)").unwrap();
    drop(database);
    assert!(matches!(refusal(folder.path()), OpenError::ForeignFile { .. }));
}

#[test]
fn nobody_else_can_read_what_is_stored() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("deep/data");
    let store = made::open(&folder);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(store);
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = refusal(&file.join("data"));
    assert!(matches!(error, OpenError::Directory { .. }), "{error}");
    assert!(error.to_string().contains("file/data"), "{error}");
}

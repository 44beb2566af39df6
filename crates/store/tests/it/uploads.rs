//! Uploaded files: their names, and their removal with the session.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use interlingua_store::{Session, Store, StoreError};

use crate::backend::{Backend, conformance};
use crate::fixtures::{create_session, occurrences};

conformance!(
    files_are_kept_beside_each_other_until_their_session_is_deleted,
    files_that_are_uploaded_while_a_session_is_deleted_are_removed,
);

async fn save(store: &Store, session: &Session, name: &str, text: &str) -> Result<PathBuf, StoreError> {
    store.save_upload(session.key, name.to_owned(), text.as_bytes().to_vec()).await
}

async fn files_are_kept_beside_each_other_until_their_session_is_deleted(backend: Backend) {
    let store = backend.open().await;
    let (session, kept) = (create_session(&store, "s").await, create_session(&store, "kept").await);
    let first = save(&store, &session, "a.txt", "first").await.unwrap();
    let second = save(&store, &session, "a.txt", "second").await.unwrap();
    let other = save(&store, &kept, "a.txt", "other").await.unwrap();
    for (path, text) in [(&first, "first"), (&second, "second"), (&other, "other")] {
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
    assert_eq!((first.file_name().unwrap(), second.file_name().unwrap()), ("a.txt".as_ref(), "a-2.txt".as_ref()));
    assert_eq!(save(&store, &session, "../a.txt", "x").await, Err(StoreError::InvalidFileName));
    store.delete(session.key).await.unwrap();
    assert!(!first.exists() && !second.exists() && other.exists());
}

async fn files_that_are_uploaded_while_a_session_is_deleted_are_removed(backend: Backend) {
    let store = backend.open().await;
    for round in 0..20 {
        let session = create_session(&store, &format!("s{round}")).await;
        let is_deleted = Arc::new(AtomicBool::new(false));
        let uploads: Vec<_> = (0..3)
            .map(|_| {
                let (store, session, is_deleted) = (store.clone(), session.clone(), Arc::clone(&is_deleted));
                tokio::spawn(async move {
                    while !is_deleted.load(Ordering::SeqCst) {
                        let _ = save(&store, &session, "a.txt", "uploaded text").await;
                    }
                })
            })
            .collect();
        save(&store, &session, "b.txt", "uploaded text").await.unwrap();
        store.delete(session.key).await.unwrap();
        is_deleted.store(true, Ordering::SeqCst);
        for upload in uploads {
            upload.await.unwrap();
        }
        assert_eq!(backend.occurrences("uploaded text"), 0, "round {round}");
        let late = save(&store, &session, "late.txt", "uploaded text").await;
        assert_eq!(late, Err(StoreError::SessionNotFound));
    }
    assert_eq!(backend.occurrences("uploaded text"), 0);
}

impl Backend {
    /// Number of times that the data directory has a text, and number of files in the table.
    fn occurrences(&self, text: &str) -> usize {
        let rows = match self {
            Self::Sqlite(_) => 0,
            Self::Postgres { .. } => self.run_sql("SELECT count(*) FROM uploads").parse().unwrap(),
        };
        rows + occurrences(self.data_dir(), text)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_another_server_is_written_where_it_is_needed_and_removed_with_the_session() {
    let Some(backend) = Backend::postgres() else { return };
    let dir = tempfile::tempdir().unwrap();
    let a = backend.open().await;
    let session = create_session(&a, "s").await;
    let path = save(&a, &session, "a.txt", "uploaded text").await.unwrap();
    let b = Store::connect(backend.postgres_options_in(dir.path(), "b")).await.unwrap();
    let copy = b.fetch_upload(session.key, &path).await.unwrap().unwrap();
    assert!(copy.starts_with(dir.path()) && std::fs::read_to_string(&copy).unwrap() == "uploaded text");
    assert_eq!(b.fetch_upload(session.key, &copy).await.unwrap(), Some(copy.clone()));
    assert_eq!(b.fetch_upload(session.key, &path.with_file_name("b.txt")).await.unwrap(), None);
    // `b` is away when the session is deleted.
    b.close().await;
    drop(b);
    a.delete(session.key).await.unwrap();
    assert!(!path.exists() && copy.exists());
    let _b = Store::connect(backend.postgres_options_in(dir.path(), "b")).await.unwrap();
    crate::fixtures::until_gone(dir.path(), "uploaded text").await;
}

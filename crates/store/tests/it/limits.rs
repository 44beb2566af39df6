//! The limits of sessions and of the store: what is refused, and what is always possible.

use interlingua_schema::{Attachment, Message};
use interlingua_store::{Append, NewMessage, NewSession, Session, Store, StoreError};

use crate::backend::{Backend, conformance};
use crate::files::{long_text, text_event};
use crate::fixtures::{create_session, session_ended};

const MAX_SESSION_BYTES: u64 = 100_000;

conformance!(
    limits_refuse_appends_and_messages_but_not_the_end,
    uploaded_files_and_queued_messages_count,
    a_message_that_is_too_large_does_not_use_up_the_store,
);

async fn open(backend: &Backend, max_store_bytes: u64) -> Store {
    backend.open_limited(Some(MAX_SESSION_BYTES), Some(max_store_bytes)).await
}

async fn enqueue(store: &Store, session: &Session, id: &str, message: Message) -> Result<(), StoreError> {
    store.enqueue(session.key, NewMessage::new(id, message)).await.map(drop)
}

async fn upload(store: &Store, session: &Session, name: &str, bytes: usize) -> Result<(), StoreError> {
    store.save_upload(session.key, name.to_owned(), vec![0; bytes]).await.map(drop)
}

async fn limits_refuse_appends_and_messages_but_not_the_end(backend: Backend) {
    let store = open(&backend, 400_000).await;
    let text = long_text("", 20_000);
    let mut sessions = Vec::new();
    let refused = 'full: loop {
        let session = match store.create(NewSession::new(format!("s{}", sessions.len()), "mock")).await {
            Ok(session) => session,
            Err(error) => break 'full error,
        };
        let mut last = 0;
        loop {
            match store.append(session.key, Append::events([text_event(last + 1, &text)])).await {
                Ok(()) => last += 1,
                Err(StoreError::SessionLimit { limit: MAX_SESSION_BYTES }) => break,
                Err(error) => {
                    sessions.push((session, last));
                    break 'full error;
                }
            }
        }
        assert_eq!(last, 4);
        let message = enqueue(&store, &session, "m", Message::new("x".repeat(30_000))).await.unwrap_err();
        assert!(message.is_storage_full(), "{message}");
        assert!(!sessions.is_empty() || message.to_string().contains("--max-session-bytes"), "{message}");
        sessions.push((session, last));
    };
    assert!(matches!(refused, StoreError::StoreLimit { limit: 400_000 }), "{refused}");
    assert!(refused.to_string().contains("--max-store-bytes") && refused.is_storage_full(), "{refused}");
    assert!(sessions.len() >= 4);
    if let Backend::Sqlite(dir) = &backend {
        assert!(dir.path().join("interlingua.db").metadata().unwrap().len() < 450_000);
    }

    for (session, last) in &sessions {
        let end = Append::events([session_ended(last + 1)]).essential(true);
        store.append(session.key, end).await.unwrap();
    }
    store.delete(sessions[0].0.key).await.unwrap();
    create_session(&store, "again").await;
}

async fn uploaded_files_and_queued_messages_count(backend: Backend) {
    let store = open(&backend, 1_000_000).await;
    let full = create_session(&store, "full").await;
    upload(&store, &full, "a.bin", 60_000).await.unwrap();
    let beyond = Err(StoreError::SessionLimit { limit: MAX_SESSION_BYTES });
    assert_eq!(upload(&store, &full, "b.bin", 50_000).await, beyond);
    enqueue(&store, &full, "1", Message::new("x".repeat(30_000))).await.unwrap();
    assert_eq!(enqueue(&store, &full, "2", Message::new("x".repeat(20_000))).await, beyond);
    let attachments = vec![Attachment::new("x".repeat(1000)); 20];
    assert_eq!(enqueue(&store, &full, "3", Message::new("x").attachments(attachments)).await, beyond);

    for number in 0.. {
        let session = create_session(&store, &format!("s{number}")).await;
        match upload(&store, &session, "a.bin", 90_000).await {
            Ok(()) => assert!(number < 11),
            Err(error) => {
                assert_eq!(error, StoreError::StoreLimit { limit: 1_000_000 });
                break;
            }
        }
    }
    let small = enqueue(&store, &full, "4", Message::new("x")).await;
    assert!(small.is_ok(), "there is space for small things: {small:?}");
    // The limit holds after a restart, and deleting makes space.
    store.close().await;
    drop(store);
    let store = open(&backend, 1_000_000).await;
    let session = create_session(&store, "again").await;
    assert_eq!(upload(&store, &session, "a.bin", 90_000).await, Err(StoreError::StoreLimit { limit: 1_000_000 }));
    store.delete(full.key).await.unwrap();
    upload(&store, &session, "a.bin", 60_000).await.unwrap();
}

async fn a_message_that_is_too_large_does_not_use_up_the_store(backend: Backend) {
    let store = backend.open_limited(None, Some(500_000)).await;
    let session = create_session(&store, "s").await;
    for id in ["1", "2"] {
        let refused = enqueue(&store, &session, id, Message::new("x".repeat(600_000))).await;
        assert_eq!(refused, Err(StoreError::StoreLimit { limit: 500_000 }));
        assert_eq!(upload(&store, &session, id, 600_000).await, Err(StoreError::StoreLimit { limit: 500_000 }));
    }
    enqueue(&store, &session, "3", Message::new("x".repeat(100_000))).await.unwrap();
    upload(&store, &session, "3", 100_000).await.unwrap();
}

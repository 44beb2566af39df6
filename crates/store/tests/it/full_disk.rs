//! A full disk: writes fail with a clear error, stored events are served, and writing works again once there is space.

use interlingua_store::{Append, NewSession, RawPayloads, SessionKey, Store, StoreError, StoreOptions};

use crate::files::{long_text, text_event};
use crate::fixtures::{self, create_session, padded_event, read_all, to_json};

/// Appends until the store fails. Returns the last stored sequence and the error.
async fn fill(store: &Store, session: SessionKey, mut last: u64) -> (u64, StoreError) {
    loop {
        match store.append(session, Append::events([padded_event(last + 1, 3000)])).await {
            Ok(()) => last += 1,
            Err(error) => return (last, error),
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_reported_and_stored_events_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().max_pages(100);
    let store = Store::open(dir.path(), options).unwrap();
    let (old, session) = (create_session(&store, "old").await, create_session(&store, "s").await);
    store.append(old.key, Append::events((1..=10).map(|n| padded_event(n, 3000)))).await.unwrap();
    let (last, error) = fill(&store, session.key, 0).await;
    assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
    assert!(error.to_string().starts_with("the disk is full"), "{error}");
    assert!(last > 10);

    // Acknowledged events are served, and the failed append left nothing behind.
    assert_eq!(
        read_all(&store, session.key, RawPayloads::Omit).await,
        to_json((1..=last).map(|n| padded_event(n, 3000)))
    );
    assert_eq!(store.session(&session.id).await.unwrap().unwrap().event_count, last);
    assert_eq!(store.stats().failures, 1);

    // Once there is space, writing works without reopening the store.
    store.delete(old.key).await.unwrap();
    let (more, _) = fill(&store, session.key, last).await;
    assert!(more > last);
    drop(store);

    let store = fixtures::open_store(dir.path());
    store.append(session.key, Append::events([padded_event(more + 1, 3000)])).await.unwrap();
    assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await.len() as u64, more + 1);
}

#[tokio::test]
async fn a_write_that_is_too_large_does_not_fail_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), StoreOptions::default().max_pages(100)).unwrap();
    let (large, small) = (create_session(&store, "large").await, create_session(&store, "small").await);
    // Queued without waiting, so that they are likely to share a transaction.
    let refused = store.append(large.key, Append::events([text_event(1, &long_text("", 5_000_000))]));
    let accepted = store.append(small.key, Append::events([padded_event(1, 0)]));
    let created = store.create(NewSession::new("another", "mock"));
    assert!(matches!(refused.await, Err(StoreError::DiskFull(_))));
    accepted.await.unwrap();
    created.await.unwrap();
    assert!(read_all(&store, large.key, RawPayloads::Omit).await.is_empty());
}

//! A disk without room: the store refuses, says so, serves what it has, and goes on when there is room again.

use interlingua_store::{Append, NewSession, RawPayloads, SessionKey, Store, StoreError, StoreOptions};

use crate::made::{self, all, padded, session, written};

/// Appends until the store refuses; the last sequence that it took.
async fn fill(store: &Store, session: SessionKey, mut last: u64) -> (u64, StoreError) {
    loop {
        match store.append(session, Append::events([padded(last + 1, 3000)])).await {
            Ok(()) => last += 1,
            Err(error) => return (last, error),
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_said_and_what_is_there_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().max_pages(100);
    let store = Store::open(folder.path(), options).unwrap();
    let (old, session) = (session(&store, "old").await, session(&store, "s").await);
    store.append(old.key, Append::events((1..=10).map(|n| padded(n, 3000)))).await.unwrap();
    let (last, error) = fill(&store, session.key, 0).await;
    assert!(matches!(error, StoreError::DiskFull(_)), "{error}");
    assert!(error.to_string().starts_with("the disk is full"), "{error}");
    assert!(last > 10);

    // What was acknowledged is served, and what was refused left no trace.
    assert_eq!(all(&store, session.key, RawPayloads::Omit).await, written((1..=last).map(|n| padded(n, 3000))));
    assert_eq!(store.session(&session.id).await.unwrap().unwrap().event_count, last);
    assert_eq!(store.stats().failures, 1);

    // Room again, without being reopened.
    store.delete(old.key).await.unwrap();
    let (more, _) = fill(&store, session.key, last).await;
    assert!(more > last);
    drop(store);

    let store = made::open(folder.path());
    store.append(session.key, Append::events([padded(more + 1, 3000)])).await.unwrap();
    assert_eq!(all(&store, session.key, RawPayloads::Omit).await.len() as u64, more + 1);
}

#[tokio::test]
async fn what_is_too_large_does_not_take_what_is_small_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions::default().max_pages(100)).unwrap();
    let (large, small) = (session(&store, "large").await, session(&store, "small").await);
    // Queued without waiting, so that they are likely to share a transaction.
    let refused = store.append(large.key, Append::events([padded(1, 0), padded(2, 1_000_000)]));
    let taken = store.append(small.key, Append::events([padded(1, 0)]));
    let created = store.create(NewSession::new("another", "mock"));
    assert!(matches!(refused.await, Err(StoreError::DiskFull(_))));
    taken.await.unwrap();
    created.await.unwrap();
    assert!(all(&store, large.key, RawPayloads::Omit).await.is_empty());
}

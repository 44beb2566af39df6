//! Readers are cursors.

use interlingua_store::{Append, EventReader, RawPayloads};

use crate::made::{self, append, open, session};

async fn sequences(reader: &mut EventReader) -> Option<Vec<u64>> {
    let batch = reader.next().await.unwrap()?;
    assert!(!batch.is_empty());
    Some(batch.iter().map(|(sequence, _)| sequence).collect())
}

#[tokio::test]
async fn a_reader_wakes_for_what_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    append(&store, session.key, 1..=2).await;
    let mut reader = store.reader(session.key, 1, RawPayloads::Omit);
    assert_eq!(sequences(&mut reader).await, Some(vec![2]));

    let waiting = tokio::spawn(async move {
        let news = sequences(&mut reader).await;
        (news, reader)
    });
    // Another session's news does not concern it.
    let other = made::session(&store, "other").await;
    append(&store, other.key, 1..=1).await;
    assert!(!waiting.is_finished());
    append(&store, session.key, 3..=4).await;
    let (news, reader) = waiting.await.unwrap();
    assert_eq!(news, Some(vec![3, 4]));
    assert_eq!(reader.position(), 4);
}

#[tokio::test]
async fn a_reader_ahead_of_the_log_gets_nothing_before_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let mut reader = store.reader(session.key, 3, RawPayloads::Omit);
    append(&store, session.key, 1..=2).await;
    append(&store, session.key, 3..=5).await;
    assert_eq!(sequences(&mut reader).await, Some(vec![4, 5]));
}

#[tokio::test]
async fn a_reader_is_told_of_the_end_after_the_last_event() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let mut early = store.reader(session.key, 0, RawPayloads::Omit);
    append(&store, session.key, 1..=1).await;
    store.append(session.key, Append::events([made::ended(2)])).await.unwrap();
    assert_eq!(sequences(&mut early).await, Some(vec![1]));
    assert_eq!(sequences(&mut early).await, Some(vec![2]));
    assert_eq!(sequences(&mut early).await, None);
    let mut late = store.reader(session.key, 2, RawPayloads::Omit);
    assert_eq!(sequences(&mut late).await, None);
}

#[tokio::test]
async fn what_is_at_hand_is_taken_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    let mut with_raw = store.reader(session.key, 0, RawPayloads::Include);
    assert_eq!(reader.next_buffered(), None);
    append(&store, session.key, 1..=1).await;
    append(&store, session.key, 2..=3).await;
    assert_eq!(reader.next_buffered().and_then(|batch| batch.last_sequence()), Some(1));
    assert_eq!(reader.next_buffered().and_then(|batch| batch.last_sequence()), Some(3));
    assert_eq!((reader.next_buffered(), reader.position()), (None, 3));
    assert_eq!(with_raw.next_buffered(), None);
}

#[tokio::test]
async fn a_reader_of_a_deleted_session_is_let_go() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    let waiting = tokio::spawn(async move { sequences(&mut reader).await });
    store.delete(session.key).await.unwrap();
    assert_eq!(waiting.await.unwrap(), None);
    let mut late = store.reader(session.key, 0, RawPayloads::Omit);
    assert_eq!(sequences(&mut late).await, None);
}

#[tokio::test]
async fn giving_up_waiting_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    let mut seen = Vec::new();
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for sequence in 1..=200 {
                append(&store, session.key, sequence..=sequence).await;
            }
        }
    });
    for patience in (0..3).cycle() {
        if seen.len() == 200 {
            break;
        }
        if patience > 0 {
            seen.extend(sequences(&mut reader).await.unwrap());
            continue;
        }
        tokio::select! {
            biased;
            batch = sequences(&mut reader) => seen.extend(batch.unwrap()),
            // Ready first, as a rule: then the reader's future is dropped half-way.
            () = tokio::task::yield_now() => {}
        }
    }
    writing.await.unwrap();
    assert_eq!(seen, (1..=200).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_reader_that_stood_still_for_50_000_events_misses_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let session = session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    append(&store, session.key, 1..=100).await;
    let mut next = 1;
    for sequence in sequences(&mut reader).await.unwrap() {
        assert_eq!(sequence, next);
        next += 1;
    }
    for first in (101..50_000).step_by(100) {
        append(&store, session.key, first..=first + 99).await;
    }
    while next <= 50_000 {
        for sequence in sequences(&mut reader).await.unwrap() {
            assert_eq!(sequence, next);
            next += 1;
        }
    }
    assert_eq!(next, 50_001);
}

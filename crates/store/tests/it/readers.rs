//! Readers: cursors that wait for events.

use interlingua_store::{Append, EventReader, RawPayloads};

use crate::backend::{Backend, conformance};
use crate::fixtures::{self, append_events, create_session};

conformance!(
    a_reader_wakes_up_for_new_events,
    a_reader_ahead_of_the_log_skips_events_before_its_position,
    a_reader_ends_after_the_last_event_of_an_ended_session,
    buffered_events_are_read_without_waiting,
    a_reader_of_a_deleted_session_ends,
    cancelling_a_read_loses_no_event,
    a_reader_that_is_50_000_events_behind_misses_none,
);

async fn next_sequences(reader: &mut EventReader) -> Option<Vec<u64>> {
    let batch = reader.next().await.unwrap()?;
    assert!(!batch.is_empty());
    Some(batch.iter().map(|(sequence, _)| sequence).collect())
}

async fn a_reader_wakes_up_for_new_events(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=2).await;
    let mut reader = store.reader(session.key, 1, RawPayloads::Omit);
    assert_eq!(next_sequences(&mut reader).await, Some(vec![2]));

    let waiting = tokio::spawn(async move {
        let sequences = next_sequences(&mut reader).await;
        (sequences, reader)
    });
    // Events of another session do not wake it up.
    let other = fixtures::create_session(&store, "other").await;
    append_events(&store, other.key, 1..=1).await;
    assert!(!waiting.is_finished());
    append_events(&store, session.key, 3..=4).await;
    let (sequences, reader) = waiting.await.unwrap();
    assert_eq!(sequences, Some(vec![3, 4]));
    assert_eq!(reader.position(), 4);
}

async fn a_reader_ahead_of_the_log_skips_events_before_its_position(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let mut reader = store.reader(session.key, 3, RawPayloads::Omit);
    append_events(&store, session.key, 1..=2).await;
    append_events(&store, session.key, 3..=5).await;
    assert_eq!(next_sequences(&mut reader).await, Some(vec![4, 5]));
}

async fn a_reader_ends_after_the_last_event_of_an_ended_session(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let mut early = store.reader(session.key, 0, RawPayloads::Omit);
    append_events(&store, session.key, 1..=1).await;
    store.append(session.key, Append::events([fixtures::session_ended(2)])).await.unwrap();
    assert_eq!(next_sequences(&mut early).await, Some(vec![1]));
    assert_eq!(next_sequences(&mut early).await, Some(vec![2]));
    assert_eq!(next_sequences(&mut early).await, None);
    let mut late = store.reader(session.key, 2, RawPayloads::Omit);
    assert_eq!(next_sequences(&mut late).await, None);
}

async fn buffered_events_are_read_without_waiting(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    let mut with_raw = store.reader(session.key, 0, RawPayloads::Include);
    assert_eq!(reader.next_buffered(), None);
    append_events(&store, session.key, 1..=1).await;
    append_events(&store, session.key, 2..=3).await;
    assert_eq!(reader.next_buffered().and_then(|batch| batch.last_sequence()), Some(1));
    assert_eq!(reader.next_buffered().and_then(|batch| batch.last_sequence()), Some(3));
    assert_eq!((reader.next_buffered(), reader.position()), (None, 3));
    assert_eq!(with_raw.next_buffered(), None);
}

async fn a_reader_of_a_deleted_session_ends(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    let waiting = tokio::spawn(async move { next_sequences(&mut reader).await });
    store.delete(session.key).await.unwrap();
    assert_eq!(waiting.await.unwrap(), None);
    let mut late = store.reader(session.key, 0, RawPayloads::Omit);
    assert_eq!(next_sequences(&mut late).await, None);
}

async fn cancelling_a_read_loses_no_event(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    let mut seen = Vec::new();
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            for sequence in 1..=200 {
                append_events(&store, session.key, sequence..=sequence).await;
            }
        }
    });
    for round in (0..3).cycle() {
        if seen.len() == 200 {
            break;
        }
        if round > 0 {
            seen.extend(next_sequences(&mut reader).await.unwrap());
            continue;
        }
        tokio::select! {
            biased;
            batch = next_sequences(&mut reader) => seen.extend(batch.unwrap()),
            // Usually ready first, so that the reader's future is dropped in the middle.
            () = tokio::task::yield_now() => {}
        }
    }
    writing.await.unwrap();
    assert_eq!(seen, (1..=200).collect::<Vec<_>>());
}

async fn a_reader_that_is_50_000_events_behind_misses_none(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
    append_events(&store, session.key, 1..=100).await;
    let mut next = 1;
    for sequence in next_sequences(&mut reader).await.unwrap() {
        assert_eq!(sequence, next);
        next += 1;
    }
    for first in (101..50_000).step_by(100) {
        append_events(&store, session.key, first..=first + 99).await;
    }
    while next <= 50_000 {
        for sequence in next_sequences(&mut reader).await.unwrap() {
            assert_eq!(sequence, next);
            next += 1;
        }
    }
    assert_eq!(next, 50_001);
}

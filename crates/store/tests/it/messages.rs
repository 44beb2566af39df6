//! Ids of messages: a message is queued once, whatever becomes of it.

use interlingua_schema::Message;
use interlingua_store::{Append, Enqueued, MessageId, MessageState, NewMessage, Store, StoreError};

use crate::backend::{Backend, conformance};
use crate::fixtures::{create_session, event, new_message, session_ended};

conformance!(
    the_queue_is_read_in_parts_and_counts_for_the_limit_of_its_session,
    an_id_is_remembered_after_the_turn_and_a_restart,
    the_same_id_in_another_session_is_another_message,
    a_cancelled_message_leaves_the_queue_once,
    the_end_of_a_session_cancels_its_queue_and_deleting_it_forgets_the_ids,
);

async fn enqueue(store: &Store, session: interlingua_store::SessionKey, message: NewMessage) -> MessageId {
    match store.enqueue(session, message).await.unwrap() {
        Enqueued::New(id) => id,
        Enqueued::Existing(existing) => panic!("the message exists: {existing:?}"),
    }
}

async fn state(store: &Store, session: interlingua_store::SessionKey, id: &str) -> Option<MessageState> {
    store.find_message(session, id).await.unwrap().map(|record| record.state)
}

async fn an_id_is_remembered_after_the_turn_and_a_restart(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let message = NewMessage::new("m", Message::new("secret plan")).fingerprint(vec![1, 2]);
    let id = enqueue(&store, session.key, message.clone()).await;
    assert_eq!(state(&store, session.key, "m").await, Some(MessageState::Queued));
    store.append(session.key, Append::events([event(1)]).begin(id, 7)).await.unwrap();
    drop(store);

    let store = backend.open().await;
    let Enqueued::Existing(existing) = store.enqueue(session.key, message).await.unwrap() else {
        panic!("the message was queued again")
    };
    assert_eq!((existing.id, existing.fingerprint), (id, vec![1, 2]));
    assert_eq!(existing.state, MessageState::Begun { turn_starts_after: 7 });
    assert_eq!(store.queued_messages(session.key, None, 1).await.unwrap(), []);
    assert_eq!(store.interrupted_sessions().await.unwrap(), []);
}

async fn the_queue_is_read_in_parts_and_counts_for_the_limit_of_its_session(backend: Backend) {
    let store = backend.open_limited(Some(100_000), None).await;
    let session = create_session(&store, "s").await;
    let texts = ["a".repeat(10), "b".repeat(60_000), "c".repeat(10), "d".repeat(30_000)];
    for text in &texts {
        let id = text[..1].to_owned();
        enqueue(&store, session.key, NewMessage::new(id, Message::new(text.as_str()))).await;
    }
    let too_much = NewMessage::new("e", Message::new("e".repeat(10_000)));
    let refused = store.enqueue(session.key, too_much.clone()).await.unwrap_err();
    assert_eq!(refused, StoreError::SessionLimit { limit: 100_000 });

    for (max_bytes, expected) in [(0, &[1, 1, 1, 1][..]), (11, &[2, 2]), (60_010, &[2, 2]), (usize::MAX, &[4])] {
        let (mut after, mut read, mut parts) = (None, Vec::new(), Vec::new());
        loop {
            let part = store.queued_messages(session.key, after, max_bytes).await.unwrap();
            let Some(last) = part.last() else { break };
            after = Some(last.id);
            parts.push(part.len());
            read.extend(part.into_iter().map(|queued| queued.message.text));
        }
        assert_eq!((parts.as_slice(), read.as_slice()), (expected, texts.as_slice()), "{max_bytes}");
    }
    let first = store.next_message(session.key).await.unwrap().unwrap();
    assert!(store.cancel_message(session.key, first.id).await.unwrap());
    let second = store.next_message(session.key).await.unwrap().unwrap();
    assert!(store.cancel_message(session.key, second.id).await.unwrap());
    enqueue(&store, session.key, too_much).await;
}

async fn the_same_id_in_another_session_is_another_message(backend: Backend) {
    let store = backend.open().await;
    let (first, second) = (create_session(&store, "a").await, create_session(&store, "b").await);
    enqueue(&store, first.key, new_message("m")).await;
    enqueue(&store, second.key, new_message("m")).await;
    assert_eq!(store.session(&first.id).await.unwrap().unwrap().queued, 1);
}

async fn a_cancelled_message_leaves_the_queue_once(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let first = enqueue(&store, session.key, new_message("first")).await;
    let second = enqueue(&store, session.key, new_message("second")).await;
    assert!(store.cancel_message(session.key, first).await.unwrap());
    assert!(!store.cancel_message(session.key, first).await.unwrap());
    assert_eq!(store.next_message(session.key).await.unwrap().unwrap().id, second);
    assert_eq!(state(&store, session.key, "first").await, Some(MessageState::Cancelled));
    store.append(session.key, Append::events([event(1)]).begin(second, 0)).await.unwrap();
    assert!(!store.cancel_message(session.key, second).await.unwrap());
}

async fn the_end_of_a_session_cancels_its_queue_and_deleting_it_forgets_the_ids(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    enqueue(&store, session.key, new_message("m")).await;
    store.append(session.key, Append::events([session_ended(1)])).await.unwrap();
    assert_eq!(state(&store, session.key, "m").await, Some(MessageState::Cancelled));
    assert!(matches!(store.enqueue(session.key, new_message("m")).await, Ok(Enqueued::Existing(_))));
    assert_eq!(store.enqueue(session.key, new_message("n")).await, Err(StoreError::SessionEnded));
    store.delete(session.key).await.unwrap();
    assert_eq!(state(&store, session.key, "m").await, None);
}

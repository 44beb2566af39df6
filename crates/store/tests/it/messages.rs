//! Ids of messages: a message is queued once, whatever becomes of it.

use interlingua_schema::Message;
use interlingua_store::{Append, Enqueued, MessageId, MessageState, NewMessage, Store, StoreError};

use crate::fixtures::{create_session, event, new_message, open_store, session_ended};

async fn enqueue(store: &Store, session: interlingua_store::SessionKey, message: NewMessage) -> MessageId {
    match store.enqueue(session, message).await.unwrap() {
        Enqueued::New(id) => id,
        Enqueued::Existing(existing) => panic!("the message exists: {existing:?}"),
    }
}

async fn state(store: &Store, session: interlingua_store::SessionKey, id: &str) -> Option<MessageState> {
    store.find_message(session, id).await.unwrap().map(|record| record.state)
}

#[tokio::test]
async fn an_id_is_remembered_after_the_turn_and_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let message = NewMessage::new("m", Message::new("secret plan")).fingerprint(vec![1, 2]);
    let id = enqueue(&store, session.key, message.clone()).await;
    assert_eq!(state(&store, session.key, "m").await, Some(MessageState::Queued));
    store.append(session.key, Append::events([event(1)]).begin(id, 7)).await.unwrap();
    drop(store);

    let store = open_store(dir.path());
    let Enqueued::Existing(existing) = store.enqueue(session.key, message).await.unwrap() else {
        panic!("the message was queued again")
    };
    assert_eq!((existing.id, existing.fingerprint), (id, vec![1, 2]));
    assert_eq!(existing.state, MessageState::Begun { turn_starts_after: 7 });
    assert_eq!(store.queued_messages(session.key).await.unwrap(), []);
    assert_eq!(store.interrupted_sessions().await.unwrap(), []);
}

#[tokio::test]
async fn the_same_id_in_another_session_is_another_message() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let (first, second) = (create_session(&store, "a").await, create_session(&store, "b").await);
    enqueue(&store, first.key, new_message("m")).await;
    enqueue(&store, second.key, new_message("m")).await;
    assert_eq!(store.session(&first.id).await.unwrap().unwrap().queued, 1);
}

#[tokio::test]
async fn a_cancelled_message_leaves_the_queue_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
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

#[tokio::test]
async fn the_end_of_a_session_cancels_its_queue_and_deleting_it_forgets_the_ids() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    enqueue(&store, session.key, new_message("m")).await;
    store.append(session.key, Append::events([session_ended(1)])).await.unwrap();
    assert_eq!(state(&store, session.key, "m").await, Some(MessageState::Cancelled));
    assert!(matches!(store.enqueue(session.key, new_message("m")).await, Ok(Enqueued::Existing(_))));
    assert_eq!(store.enqueue(session.key, new_message("n")).await, Err(StoreError::SessionEnded));
    store.delete(session.key).await.unwrap();
    assert_eq!(state(&store, session.key, "m").await, None);
}

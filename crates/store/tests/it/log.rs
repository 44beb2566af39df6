//! Appending, reading, and the message queue.

use interlingua_schema::{Attachment, Message, RawJson, Timestamp};
use interlingua_store::{
    Append, Durability, Enqueued, NewMessage, NewSession, RawPayloads, ReadLimits, SessionFilter, Store, StoreError,
    StoreOptions,
};

use crate::backend::{Backend, conformance};
use crate::fixtures::{
    self, append_events, create_session, event, event_with_raw, new_message, open_store, read_all, to_json,
};

conformance!(
    a_session_that_was_used_is_not_deleted_as_unchanged,
    a_session_that_began_before_it_was_stored_keeps_its_time,
    events_come_back_as_the_bytes_that_were_written,
    payloads_are_read_only_on_request,
    an_append_out_of_order_is_refused_and_changes_nothing,
    a_refused_write_does_not_affect_others_in_its_transaction,
    an_ended_session_takes_no_events_and_no_messages,
    an_id_can_be_created_once,
    a_deleted_session_leaves_nothing_for_a_new_one_with_its_id,
    every_field_of_a_new_session_is_stored,
    a_message_is_dequeued_together_with_the_events_of_its_turn,
    interrupted_sessions_are_found_after_a_restart,
    sessions_are_listed_newest_first_a_page_at_a_time,
    read_limits_apply_to_all_but_the_first_event,
);

async fn events_come_back_as_the_bytes_that_were_written(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=2).await;
    append_events(&store, session.key, 3..=3).await;
    assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await, to_json((1..=3).map(event)));
}

#[tokio::test]
async fn full_durability_stores_events_too() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::default().durability(Durability::Full);
    let store = Store::open(dir.path(), options).unwrap();
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=2).await;
    assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await.len(), 2);
}

async fn payloads_are_read_only_on_request(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let raw = RawJson::from_payload(r#"{"a" : 1.0, "a": "\u0041\u0000"}"#);
    let events = || [event(1), event_with_raw(2, &raw), event_with_raw(3, &raw), event(4)];
    store.append(session.key, Append::events(events())).await.unwrap();
    assert_eq!(read_all(&store, session.key, RawPayloads::Include).await, to_json(events()));
    assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await, to_json((1..=4).map(event)));
}

#[tokio::test]
async fn a_payload_is_stored_once_and_read_only_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    let raw = RawJson::from_payload(r#"{"a" : 1.0, "a": "\u0041"}"#);
    let events = || [event(1), event_with_raw(2, &raw), event_with_raw(3, &raw), event(4)];
    store.append(session.key, Append::events(events())).await.unwrap();

    assert_eq!(read_all(&store, session.key, RawPayloads::Include).await, to_json(events()));
    assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await, to_json((1..=4).map(event)));
    drop(store);
    let database = rusqlite::Connection::open(dir.path().join("interlingua.db")).unwrap();
    let payloads: Vec<u8> = database.query_row("SELECT payloads FROM events", [], |row| row.get(0)).unwrap();
    assert_eq!(payloads.windows(raw.as_str().len()).filter(|window| *window == raw.as_str().as_bytes()).count(), 1);
}

async fn an_append_out_of_order_is_refused_and_changes_nothing(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=2).await;
    for (first, expected) in [(2, 3), (4, 3), (1, 3)] {
        let refused = store.append(session.key, Append::events([event(first)]).busy(true)).await;
        assert_eq!(refused, Err(StoreError::OutOfOrder { expected, found: first }));
    }
    let gap = store.append(session.key, Append::events([event(3), event(5)])).await;
    assert_eq!(gap, Err(StoreError::OutOfOrder { expected: 4, found: 5 }));
    let now = store.session(&session.id).await.unwrap().unwrap();
    assert_eq!((now.event_count, now.busy), (2, false));
    append_events(&store, session.key, 3..=3).await;
}

async fn a_refused_write_does_not_affect_others_in_its_transaction(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    // Queued without waiting, so that they are likely to share a transaction.
    let writes: Vec<_> =
        [1, 2, 9, 3, 9, 4].into_iter().map(|n| store.append(session.key, Append::events([event(n)]))).collect();
    let mut accepted = Vec::new();
    for write in writes {
        accepted.push(write.await.is_ok());
    }
    assert_eq!(accepted, [true, true, false, true, false, true]);
    assert_eq!(read_all(&store, session.key, RawPayloads::Omit).await.len(), 4);
}

async fn an_ended_session_takes_no_events_and_no_messages(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=1).await;
    store.enqueue(session.key, new_message("never delivered")).await.unwrap();
    store.append(session.key, Append::events([fixtures::session_ended(2)]).busy(true)).await.unwrap();
    let now = store.session(&session.id).await.unwrap().unwrap();
    assert!(now.ended && !now.busy);
    assert_eq!(store.next_message(session.key).await.unwrap(), None);
    assert_eq!(store.append(session.key, Append::events([event(3)])).await, Err(StoreError::SessionEnded));
    assert_eq!(store.enqueue(session.key, new_message("too late")).await, Err(StoreError::SessionEnded));
    assert_eq!(store.interrupted_sessions().await.unwrap(), []);
}

async fn an_id_can_be_created_once(backend: Backend) {
    let store = backend.open().await;
    let writes: Vec<_> = (0..12).map(|_| store.create(NewSession::new("same", "mock"))).collect();
    let mut created = 0;
    for write in writes {
        match write.await {
            Ok(_) => created += 1,
            Err(error) => assert_eq!(error, StoreError::SessionAlreadyExists("same".into())),
        }
    }
    assert_eq!(created, 1);
}

async fn a_deleted_session_leaves_nothing_for_a_new_one_with_its_id(backend: Backend) {
    let store = backend.open().await;
    let raw = RawJson::from_payload("1");
    let first = create_session(&store, "s").await;
    store.append(first.key, Append::events([event_with_raw(1, &raw)]).state(raw.clone())).await.unwrap();
    store.enqueue(first.key, new_message("first")).await.unwrap();
    store.delete(first.key).await.unwrap();
    assert_eq!(store.delete(first.key).await, Err(StoreError::SessionNotFound));
    assert_eq!(store.session(&first.id).await.unwrap(), None);

    let second = create_session(&store, "s").await;
    assert_ne!(first.key, second.key);
    assert_eq!(store.append(first.key, Append::events([event(2)])).await, Err(StoreError::SessionNotFound));
    assert_eq!(store.enqueue(first.key, new_message("second")).await, Err(StoreError::SessionNotFound));
    assert!(read_all(&store, first.key, RawPayloads::Include).await.is_empty());
    assert!(read_all(&store, second.key, RawPayloads::Include).await.is_empty());
    assert_eq!(store.load_state(second.key).await.unwrap().state, None);
    assert_eq!(store.load_state(first.key).await, Err(StoreError::SessionNotFound));
    assert_eq!(store.next_message(second.key).await.unwrap(), None);
}

async fn a_session_that_was_used_is_not_deleted_as_unchanged(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    append_events(&store, session.key, 1..=3).await;
    assert_eq!(store.delete_unchanged(session.key, 2).await, Err(StoreError::SessionChanged));
    store.delete_unchanged(session.key, 3).await.unwrap();
    assert_eq!(store.delete_unchanged(session.key, 3).await, Err(StoreError::SessionNotFound));
    assert_eq!(store.session(&session.id).await.unwrap(), None);

    let asked = create_session(&store, "asked").await;
    let message = match store.enqueue(asked.key, new_message("first")).await.unwrap() {
        Enqueued::New(id) => id,
        other @ Enqueued::Existing(_) => panic!("{other:?}"),
    };
    assert!(store.cancel_message(asked.key, message).await.unwrap());
    assert_eq!(store.delete_unchanged(asked.key, 0).await, Err(StoreError::SessionChanged));

    let uploaded = create_session(&store, "uploaded").await;
    let file = store.save_upload(uploaded.key, "a.png".to_owned(), b"x").await.unwrap();
    assert_eq!(store.delete_unchanged(uploaded.key, 0).await, Err(StoreError::SessionChanged));
    assert!(file.exists());
}

async fn a_session_that_began_before_it_was_stored_keeps_its_time(backend: Backend) {
    let store = backend.open().await;
    let mut new = NewSession::new("s", "mock");
    new.created_at = Some(Timestamp::from_millis(0));
    let session = store.create(new).await.unwrap();
    assert_eq!((session.created_at.as_millis(), session.updated_at.as_millis()), (0, 0));
    append_events(&store, session.key, 1..=3).await;
    let session = store.session(&session.id).await.unwrap().unwrap();
    assert_eq!((session.created_at.as_millis(), session.updated_at.as_millis()), (0, 3));
}

async fn every_field_of_a_new_session_is_stored(backend: Backend) {
    let store = backend.open().await;
    let config = RawJson::from_payload(r#"{"mcp": {}}"#);
    let mut new = NewSession::new("s/ü?", "codex");
    new.agent_mode = Some("plan".into());
    new.permission_mode = Some("default".into());
    new.model = Some("m".into());
    new.variant = Some("v".into());
    new.native_session_id = Some("native".into());
    new.directory = Some("/d".into());
    new.title = Some("t".into());
    new.config = Some(config.clone());
    let created = store.create(new).await.unwrap();
    let read = store.session(&"s/ü?".into()).await.unwrap().unwrap();
    assert_eq!(created, read);
    assert_eq!(read.agent, "codex");
    assert_eq!(read.native_session_id, Some("native".into()));
    assert_eq!((read.directory.as_deref(), read.title.as_deref()), (Some("/d"), Some("t")));
    assert!(read.created_at.as_millis() > 0 && read.created_at == read.updated_at);
    assert_eq!(read.config, Some(config));
}

async fn a_message_is_dequeued_together_with_the_events_of_its_turn(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    let attachment = Attachment::new("/a.png").mime("image/png".to_owned());
    let first = Message::new("one").attachments(vec![attachment]);
    let second = Message::new("two");
    let Enqueued::New(id) = store.enqueue(session.key, NewMessage::new("m1", first.clone())).await.unwrap() else {
        panic!("the message is not new")
    };
    store.enqueue(session.key, NewMessage::new("m2", second.clone())).await.unwrap();
    assert_eq!(store.next_message(session.key).await.unwrap().unwrap().message, first);

    let refused = store.append(session.key, Append::events([event(7)]).begin(id, 0)).await;
    assert!(refused.is_err());
    assert_eq!(store.next_message(session.key).await.unwrap().unwrap().message, first);
    store.append(session.key, Append::events([event(1)]).begin(id, 0)).await.unwrap();
    assert_eq!(store.next_message(session.key).await.unwrap().unwrap().message, second);
}

async fn interrupted_sessions_are_found_after_a_restart(backend: Backend) {
    let store = backend.open().await;
    let (idle, busy, waiting) = (
        create_session(&store, "idle").await,
        create_session(&store, "busy").await,
        create_session(&store, "waiting").await,
    );
    append_events(&store, idle.key, 1..=1).await;
    let state = RawJson::from_payload(r#"{"pending":["p1"]}"#);
    store.append(busy.key, Append::events([event(1)]).busy(true).state(state.clone())).await.unwrap();
    store.enqueue(waiting.key, new_message("waiting")).await.unwrap();
    drop(store);

    let store = backend.open().await;
    let found: Vec<_> = store.interrupted_sessions().await.unwrap().into_iter().map(|session| session.key).collect();
    assert_eq!(found, [busy.key, waiting.key]);
    assert_eq!(store.load_state(busy.key).await.unwrap().state, Some(state));
    store.append(busy.key, Append::events([]).busy(false)).await.unwrap();
    let found: Vec<_> = store.interrupted_sessions().await.unwrap().into_iter().map(|session| session.key).collect();
    assert_eq!(found, [waiting.key]);
}

async fn sessions_are_listed_newest_first_a_page_at_a_time(backend: Backend) {
    let store = backend.open().await;
    for id in ["a", "b", "c", "d", "e"] {
        create_session(&store, id).await;
    }
    let mut pages = Vec::new();
    let mut from = None;
    loop {
        let page = store.sessions(&SessionFilter::default(), 2, from).await.unwrap();
        pages.push(page.sessions.iter().map(|session| session.id.to_string()).collect::<String>());
        from = page.next;
        if from.is_none() {
            break;
        }
        // Sessions that are created in the meantime do not shift the pages.
        create_session(&store, &format!("later {}", pages.len())).await;
    }
    assert_eq!(pages, ["ed", "cb", "a"]);
}

async fn read_limits_apply_to_all_but_the_first_event(backend: Backend) {
    let store = backend.open().await;
    let session = create_session(&store, "s").await;
    store.append(session.key, Append::events((1..=10).map(|n| fixtures::padded_event(n, 1000)))).await.unwrap();
    let read = async |max_events, max_bytes| {
        store.read(session.key, 4, ReadLimits { max_events, max_bytes }, RawPayloads::Omit).await.unwrap()
    };
    assert_eq!(read(3, usize::MAX).await.last_sequence(), Some(7));
    assert_eq!(read(usize::MAX, 1).await.last_sequence(), Some(5));
    assert_eq!(read(usize::MAX, 2000).await.last_sequence(), Some(6));
    assert!(store.read(session.key, u64::MAX, fixtures::UNLIMITED, RawPayloads::Omit).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_write_ahead_log_is_checkpointed_in_a_pause() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_store(dir.path());
    let session = create_session(&store, "s").await;
    // Text that does not compress.
    let text = crate::files::long_text("", 6 << 20);
    store.append(session.key, Append::events([crate::files::text_event(1, &text)])).await.unwrap();
    let database = dir.path().join("interlingua.db");
    // Only the size of the file shows that the checkpoint is done.
    let checkpointed = async {
        while std::fs::metadata(&database).unwrap().len() < 4 << 20 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), checkpointed).await.unwrap();
}

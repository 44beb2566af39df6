//! Many concurrent requests, readers and events.

use interlingua_client::EventQuery;
use interlingua_schema::{
    ContentPart, EventData, Item, ItemDelta, ItemKind, ItemOutcome, Origin, Role, UniversalEvent,
};
use interlingua_store::Append;
use reqwest::StatusCode;
use serde_json::json;

use crate::test_server::stores::append;
use crate::test_server::{TestServer, start_server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_twelve_creates_with_the_same_id_succeeds() {
    let server = start_server().await;
    let requests = (0..12).map(|_| server.post("/v1/sessions/same", json!({ "agent": "mock" })));
    let mut statuses = Vec::new();
    for response in futures_util::future::join_all(requests).await {
        let status = response.status();
        if status != StatusCode::OK {
            crate::test_server::expect_problem(response, 409, "session_already_exists").await;
        }
        statuses.push(status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::OK).count(), 1);
    assert_eq!(server.get_json("/v1/sessions").await["sessions"].as_array().unwrap().len(), 1);
}

/// Appends a message with this number of deltas directly to the store, as a session actor would.
async fn append_message(server: &TestServer, id: &str, deltas: u64) {
    let session = server.store.session(&id.into()).await.unwrap().unwrap();
    let mut sequence = session.event_count;
    let mut event = |data: EventData| {
        sequence += 1;
        let time = session.updated_at;
        let mut event = UniversalEvent::new(format!("evt_test_{sequence}"), sequence, time, id, Origin::AGENT, data);
        event.native_session_id.clone_from(&session.native_session_id);
        event
    };
    let mut item = Item::new(format!("itm_test_{}", session.event_count), ItemKind::Message);
    item.role = Some(Role::Assistant);
    let delta = |item: &Item| EventData::ItemDelta(ItemDelta::new(item.item_id.clone(), None, "word "));
    let mut events = vec![event(EventData::item_started(item.clone()))];
    for _ in 0..deltas {
        events.push(event(delta(&item)));
        if events.len() == 500 {
            append(&server.store, session.key, Append::events(events.drain(..))).await;
        }
    }
    item.content.push(ContentPart::text("word ".repeat(usize::try_from(deltas).unwrap())));
    events.push(event(EventData::item_completed(item, ItemOutcome::Completed)));
    append(&server.store, session.key, Append::events(events)).await;
}

#[tokio::test]
async fn a_client_that_is_50_000_events_behind_misses_none() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "echo hi").await;
    let mut stalled = server.follow("s", EventQuery::default()).await;
    let mut events = stalled.until("turn.ended").await;
    // `stalled` is not read now: its events stay on the disk.
    append_message(&server, "s", 50_000).await;
    while events.len() < 50_000 {
        events.push(stalled.event().await.unwrap());
    }
    events.extend(stalled.until("item.completed").await);
    crate::test_server::check_rules(&events);
    let count = server.get_json("/v1/sessions/s").await["eventCount"].as_u64().unwrap();
    assert_eq!(events.len() as u64, count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_readers_get_every_event() {
    let server = start_server().await;
    server.create("s").await;
    let before = server.events("s").await;
    let mut readers = Vec::new();
    for _ in 0..1000 {
        readers.push(server.follow("s", EventQuery::default()).await);
    }
    let turn = server.run_turn("s", "markdown").await;
    let expected: Vec<_> = before.into_iter().chain(turn).collect();
    crate::test_server::check_rules(&expected);
    let reads = readers.into_iter().map(|mut reader| async move { reader.until("turn.ended").await });
    for events in futures_util::future::join_all(reads).await {
        assert_eq!(events, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_ten_thousand_events_is_complete() {
    let server = start_server().await;
    server.create("s").await;
    append_message(&server, "s", 12_000).await;
    let page = server.get_json("/v1/sessions/s/events?limit=99999").await;
    assert_eq!(page["events"].as_array().unwrap().len(), 10_000);
    assert_eq!(page["hasMore"], true);
    assert_eq!(crate::test_server::sequences(page["events"].as_array().unwrap()), (1..=10_000).collect::<Vec<_>>());
}

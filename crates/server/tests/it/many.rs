//! Many at once: creates, readers, events.

use interlingua_client::EventQuery;
use interlingua_schema::{
    ContentPart, EventData, Item, ItemDelta, ItemKind, ItemOutcome, Origin, Role, UniversalEvent,
};
use interlingua_store::Append;
use reqwest::StatusCode;
use serde_json::json;

use crate::served::{Served, served};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_twelve_creates_of_one_id_one_succeeds() {
    let served = served().await;
    let created = (0..12).map(|_| served.post("/v1/sessions/same", json!({ "agent": "mock" })));
    let mut statuses = Vec::new();
    for response in futures_util::future::join_all(created).await {
        let status = response.status();
        if status != StatusCode::OK {
            crate::served::refused(response, 409, "session_already_exists").await;
        }
        statuses.push(status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::OK).count(), 1);
    assert_eq!(served.json("/v1/sessions").await["sessions"].as_array().unwrap().len(), 1);
}

/// Appends a message that was streamed in `deltas` pieces, as an agent would have it, straight to the store.
async fn append_message(served: &Served, id: &str, deltas: u64) {
    let session = served.store.session(&id.into()).await.unwrap().unwrap();
    let mut sequence = session.event_count;
    let mut event = |data: EventData| {
        sequence += 1;
        let time = session.updated_at;
        let mut event = UniversalEvent::new(format!("evt_made_{sequence}"), sequence, time, id, Origin::AGENT, data);
        event.native_session_id.clone_from(&session.native_session_id);
        event
    };
    let mut item = Item::new(format!("itm_made_{}", session.event_count), ItemKind::Message);
    item.role = Some(Role::Assistant);
    let delta = |item: &Item| EventData::ItemDelta(ItemDelta::new(item.item_id.clone(), None, "word "));
    let mut events = vec![event(EventData::item_started(item.clone()))];
    for _ in 0..deltas {
        events.push(event(delta(&item)));
        if events.len() == 500 {
            served.store.append(session.key, Append::events(events.drain(..))).await.unwrap();
        }
    }
    item.content.push(ContentPart::text("word ".repeat(usize::try_from(deltas).unwrap())));
    events.push(event(EventData::item_completed(item, ItemOutcome::Completed)));
    served.store.append(session.key, Append::events(events)).await.unwrap();
}

#[tokio::test]
async fn a_client_that_stopped_reading_for_50_000_events_misses_none() {
    let served = served().await;
    served.create("s").await;
    served.turn("s", "echo hi").await;
    let mut stalled = served.follow("s", EventQuery::default()).await;
    let mut events = stalled.until("turn.ended").await;
    // Nobody reads `stalled` now: what it does not take stays on the disk.
    append_message(&served, "s", 50_000).await;
    while events.len() < 50_000 {
        events.push(stalled.event().await.unwrap());
    }
    events.extend(stalled.until("item.completed").await);
    crate::served::check(&events);
    let count = served.json("/v1/sessions/s").await["eventCount"].as_u64().unwrap();
    assert_eq!(events.len() as u64, count);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_readers_all_see_everything() {
    let served = served().await;
    served.create("s").await;
    let before = served.events("s").await;
    let mut readers = Vec::new();
    for _ in 0..1000 {
        readers.push(served.follow("s", EventQuery::default()).await);
    }
    let turn = served.turn("s", "markdown").await;
    let expected: Vec<_> = before.into_iter().chain(turn).collect();
    crate::served::check(&expected);
    let reading = readers.into_iter().map(|mut reader| async move { reader.until("turn.ended").await });
    for events in futures_util::future::join_all(reading).await {
        assert_eq!(events, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_ten_thousand_events_is_whole() {
    let served = served().await;
    served.create("s").await;
    append_message(&served, "s", 12_000).await;
    let page = served.json("/v1/sessions/s/events?limit=99999").await;
    assert_eq!(page["events"].as_array().unwrap().len(), 10_000);
    assert_eq!(page["hasMore"], true);
    assert_eq!(crate::served::sequences(page["events"].as_array().unwrap()), (1..=10_000).collect::<Vec<_>>());
}

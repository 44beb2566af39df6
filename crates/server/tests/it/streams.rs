//! Reading events: pages, streams, and resuming.

use interlingua_client::{EventQuery, Frame, TurnQuery};
use reqwest::Method;
use serde_json::{Value, json};

use crate::test_server::{event_types, sequences, start_server};

#[tokio::test]
async fn a_page_continues_after_the_previous_one() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "markdown").await;
    let all = server.events("s").await;
    assert!(all.len() > 10);
    let mut read = Vec::new();
    loop {
        let offset = read.len();
        let page = server.get_json(&format!("/v1/sessions/s/events?offset={offset}&limit=3")).await;
        let events = page["events"].as_array().unwrap();
        assert!(events.len() <= 3);
        read.extend(events.iter().cloned());
        assert_eq!(page["hasMore"], read.len() < all.len());
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!(read, all);
    let last = server.get_json(&format!("/v1/sessions/s/events?offset={}", all.len())).await;
    assert_eq!(last, json!({ "events": [], "hasMore": false }));
    let none = server.get_json("/v1/sessions/s/events?limit=0").await;
    assert_eq!(none, json!({ "events": [], "hasMore": true }));
}

#[tokio::test]
async fn raw_payloads_are_included_on_request_in_either_spelling() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "tool").await;
    let plain = server.events("s").await;
    assert!(plain.iter().all(|event| event.as_object().unwrap().get("raw") == Some(&Value::Null)));
    for query in ["include_raw=true", "includeRaw=1"] {
        let with = server.get_json(&format!("/v1/sessions/s/events?{query}")).await;
        let mut checker = interlingua_schema::Checker::with_raw();
        for (with, without) in with["events"].as_array().unwrap().iter().zip(&plain) {
            assert!(checker.push_line(&with.to_string()).unwrap().is_empty());
            if with["source"] == "agent" {
                assert!(!with["raw"].is_null(), "{with}");
            }
            let mut with = with.clone();
            with["raw"] = Value::Null;
            assert_eq!(with, *without);
        }
    }
    let mut stream = server.follow("s", EventQuery::default().include_raw(true)).await;
    let events = stream.until("turn.ended").await;
    assert!(events.iter().any(|event| !event["raw"].is_null()));
}

#[tokio::test]
async fn a_stream_resumes_after_the_last_event_and_the_header_takes_precedence() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "echo hi").await;
    let all = server.events("s").await;
    let last = all.len();
    let follow = async |query: &str, header: Option<usize>| {
        let mut request = server.request(Method::GET, &format!("/v1/sessions/s/events/sse{query}"));
        if let Some(id) = header {
            request = request.header("Last-Event-ID", id.to_string());
        }
        server.stream(request).await.until("turn.ended").await
    };
    assert_eq!(follow("", None).await, all);
    assert_eq!(follow("?offset=0", None).await, all);
    assert_eq!(follow("?offset=3", None).await, all[3..]);
    assert_eq!(follow("", Some(4)).await, all[4..]);
    assert_eq!(follow("?offset=1", Some(last - 1)).await, all[last - 1..]);
    assert_eq!(follow("?offset=999", Some(0)).await, all);
}

#[tokio::test]
async fn a_stream_closes_after_session_ended() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "echo hi").await;
    let open = server.follow("s", EventQuery::default()).await;
    server.post_ok("/v1/sessions/s/terminate", json!({})).await;
    let events = open.events().await;
    crate::test_server::check_rules(&events);
    assert_eq!(events.last().unwrap()["type"], "session.ended");
    // A stream that is opened later closes too, with or without events left to read.
    let all = server.events("s").await;
    assert_eq!(server.follow("s", EventQuery::default()).await.events().await, all);
    let nothing = server.follow("s", EventQuery::after(all.len() as u64)).await;
    assert_eq!(nothing.events().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_stream_closes_when_its_session_is_deleted() {
    let server = start_server().await;
    server.create("s").await;
    let before = server.events("s").await.len();
    let open = server.follow("s", EventQuery::after(before as u64)).await;
    server.delete("/v1/sessions/s").await;
    assert!(event_types(&open.events().await).iter().all(|kind| *kind == "session.ended"));
}

#[tokio::test]
async fn a_comment_every_15_seconds_keeps_the_connection_alive() {
    let server = start_server().await;
    server.create("s").await;
    let offset = server.events("s").await.len();
    let mut stream = server.follow("s", EventQuery::after(offset as u64)).await;
    // From here on only time passes, so the clock can be paused: it advances by itself.
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    assert!(matches!(stream.next().await, Some(Frame::Comment(_))));
    assert!(matches!(stream.next().await, Some(Frame::Comment(_))));
    let waited = started.elapsed().as_secs();
    assert!((29..=31).contains(&waited), "{waited}");
}

#[tokio::test]
async fn a_turn_stream_has_only_the_events_of_the_turn() {
    let server = start_server().await;
    server.create("s").await;
    let first = server.run_turn("s", "echo one").await;
    let second = server.run_turn("s", "echo two").await;
    for turn in [&first, &second] {
        assert_eq!(turn.iter().filter(|event| event["type"] == "turn.started").count(), 1);
        assert_eq!(turn.last().unwrap()["type"], "turn.ended");
    }
    assert_eq!(second[0]["type"], "turn.started");
    assert_eq!(sequences(&second)[0], sequences(&first).last().unwrap() + 1);
    let all = server.events("s").await;
    assert!(all.ends_with(&second));
}

#[tokio::test]
async fn a_queued_turn_is_streamed_when_it_starts() {
    let server = start_server().await;
    server.create("s").await;
    server.post_ok("/v1/sessions/s/messages", json!({ "message": "permission" })).await;
    let mut stream = server.follow("s", EventQuery::default()).await;
    stream.until("permission.requested").await;
    let (queued, ()) = tokio::join!(server.run_turn("s", "echo later"), async {
        server.post_ok("/v1/sessions/s/interrupt", json!({})).await;
    });
    assert_eq!(queued[0]["type"], "turn.started");
    let prompt = queued.iter().find(|event| event["data"]["item"]["role"] == "user").unwrap();
    assert_eq!(prompt["data"]["item"]["kind"], "message");
    assert!(queued.iter().any(|event| event["data"]["item"]["content"][0]["text"] == "later"), "{queued:#?}");
}

#[tokio::test]
async fn a_turn_stream_closes_when_the_turn_waits_for_the_user_unless_it_is_held() {
    let server = start_server().await;
    for kind in ["permission", "question"] {
        server.create(kind).await;
        let requested = format!("{kind}.requested");
        let turn = server.run_turn(kind, kind).await;
        assert!(event_types(&turn).contains(&requested.as_str()));
        assert!(!event_types(&turn).contains(&"turn.ended"));
        server.post_ok(&format!("/v1/sessions/{kind}/interrupt"), json!({})).await;

        let mut held = server.stream_turn(kind, kind, TurnQuery::held()).await;
        held.until(&requested).await;
        server.post_ok(&format!("/v1/sessions/{kind}/interrupt"), json!({})).await;
        let rest = held.events().await;
        assert_eq!(rest.last().unwrap()["type"], "turn.ended");
        server.events(kind).await;
    }
}

#[tokio::test]
async fn a_turn_stream_closes_when_the_session_ends() {
    let server = start_server().await;
    server.create("s").await;
    let mut held = server.stream_turn("s", "permission", TurnQuery::held()).await;
    held.until("permission.requested").await;
    // This message is queued behind it, and its turn never starts.
    let queued = server.stream_turn("s", "echo never", TurnQuery::default()).await;
    server.post_ok("/v1/sessions/s/terminate", json!({})).await;
    let rest = held.events().await;
    assert!(event_types(&rest).contains(&"turn.ended") || event_types(&rest).contains(&"session.ended"));
    let rest = queued.events().await;
    assert!(!event_types(&rest).contains(&"turn.started"), "{rest:#?}");
    server.events("s").await;
}

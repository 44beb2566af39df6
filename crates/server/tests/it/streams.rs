//! Reading events: pages, streams, and picking up where one left off.

use interlingua_client::{EventQuery, Frame, TurnQuery};
use reqwest::Method;
use serde_json::{Value, json};

use crate::served::{kinds, sequences, served};

#[tokio::test]
async fn pages_go_on_where_the_last_one_ended() {
    let served = served().await;
    served.create("s").await;
    served.turn("s", "markdown").await;
    let all = served.events("s").await;
    assert!(all.len() > 10);
    let mut read = Vec::new();
    loop {
        let offset = read.len();
        let page = served.json(&format!("/v1/sessions/s/events?offset={offset}&limit=3")).await;
        let events = page["events"].as_array().unwrap();
        assert!(events.len() <= 3);
        read.extend(events.iter().cloned());
        assert_eq!(page["hasMore"], read.len() < all.len());
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!(read, all);
    let beyond = served.json("/v1/sessions/s/events?offset=1000").await;
    assert_eq!(beyond, json!({ "events": [], "hasMore": false }));
    let none = served.json("/v1/sessions/s/events?limit=0").await;
    assert_eq!(none, json!({ "events": [], "hasMore": true }));
}

#[tokio::test]
async fn raw_payloads_come_when_they_are_asked_for_in_either_spelling() {
    let served = served().await;
    served.create("s").await;
    served.turn("s", "tool").await;
    let plain = served.events("s").await;
    assert!(plain.iter().all(|event| event.as_object().unwrap().get("raw") == Some(&Value::Null)));
    for query in ["include_raw=true", "includeRaw=1"] {
        let with = served.json(&format!("/v1/sessions/s/events?{query}")).await;
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
    let mut stream = served.follow("s", EventQuery::default().include_raw(true)).await;
    let events = stream.until("turn.ended").await;
    assert!(events.iter().any(|event| !event["raw"].is_null()));
}

#[tokio::test]
async fn a_stream_resumes_after_the_last_event_and_the_header_wins() {
    let served = served().await;
    served.create("s").await;
    served.turn("s", "echo hi").await;
    let all = served.events("s").await;
    let last = all.len();
    let follow = async |query: &str, header: Option<usize>| {
        let mut request = served.request(Method::GET, &format!("/v1/sessions/s/events/sse{query}"));
        if let Some(id) = header {
            request = request.header("Last-Event-ID", id.to_string());
        }
        served.stream(request).await.until("turn.ended").await
    };
    assert_eq!(follow("", None).await, all);
    assert_eq!(follow("?offset=0", None).await, all);
    assert_eq!(follow("?offset=3", None).await, all[3..]);
    assert_eq!(follow("", Some(4)).await, all[4..]);
    assert_eq!(follow("?offset=1", Some(last - 1)).await, all[last - 1..]);
    assert_eq!(follow("?offset=999", Some(0)).await, all);
}

#[tokio::test]
async fn a_stream_closes_after_the_session_ended() {
    let served = served().await;
    served.create("s").await;
    served.turn("s", "echo hi").await;
    let open = served.follow("s", EventQuery::default()).await;
    served.act("/v1/sessions/s/terminate", json!({})).await;
    let events = open.events().await;
    crate::served::check(&events);
    assert_eq!(events.last().unwrap()["type"], "session.ended");
    // So does one that begins later, with or without anything left to read.
    let all = served.events("s").await;
    assert_eq!(served.follow("s", EventQuery::default()).await.events().await, all);
    let nothing = served.follow("s", EventQuery::after(all.len() as u64)).await;
    assert_eq!(nothing.events().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_stream_closes_when_its_session_is_deleted() {
    let served = served().await;
    served.create("s").await;
    let before = served.events("s").await.len();
    let open = served.follow("s", EventQuery::after(before as u64)).await;
    served.delete("/v1/sessions/s").await;
    assert!(kinds(&open.events().await).iter().all(|kind| *kind == "session.ended"));
}

#[tokio::test]
async fn a_comment_every_15_seconds_keeps_the_connection_alive() {
    let served = served().await;
    served.create("s").await;
    let offset = served.events("s").await.len();
    let mut stream = served.follow("s", EventQuery::after(offset as u64)).await;
    // From here on nothing happens but time, which need not be waited for.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    assert!(matches!(stream.next().await, Some(Frame::Comment(_))));
    assert!(matches!(stream.next().await, Some(Frame::Comment(_))));
    let waited = began.elapsed().as_secs();
    assert!((29..=31).contains(&waited), "{waited}");
}

#[tokio::test]
async fn a_turns_stream_has_the_turn_and_nothing_else() {
    let served = served().await;
    served.create("s").await;
    let first = served.turn("s", "echo one").await;
    let second = served.turn("s", "echo two").await;
    for turn in [&first, &second] {
        assert_eq!(turn.iter().filter(|event| event["type"] == "turn.started").count(), 1);
        assert_eq!(turn.last().unwrap()["type"], "turn.ended");
    }
    assert_eq!(second[0]["type"], "turn.started");
    assert_eq!(sequences(&second)[0], sequences(&first).last().unwrap() + 1);
    let all = served.events("s").await;
    assert!(all.ends_with(&second));
}

#[tokio::test]
async fn a_turn_that_waits_in_the_queue_is_streamed_when_it_begins() {
    let served = served().await;
    served.create("s").await;
    served.act("/v1/sessions/s/messages", json!({ "message": "permission" })).await;
    let mut stream = served.follow("s", EventQuery::default()).await;
    stream.until("permission.requested").await;
    let (queued, ()) = tokio::join!(served.turn("s", "echo later"), async {
        served.act("/v1/sessions/s/interrupt", json!({})).await;
    });
    assert_eq!(queued[0]["type"], "turn.started");
    let said = queued.iter().find(|event| event["data"]["item"]["role"] == "user").unwrap();
    assert_eq!(said["data"]["item"]["kind"], "message");
    assert!(queued.iter().any(|event| event["data"]["item"]["content"][0]["text"] == "later"), "{queued:#?}");
}

#[tokio::test]
async fn a_turns_stream_closes_when_the_user_is_asked_unless_it_is_held() {
    let served = served().await;
    for kind in ["permission", "question"] {
        served.create(kind).await;
        let asked = format!("{kind}.requested");
        let turn = served.turn(kind, kind).await;
        assert!(kinds(&turn).contains(&asked.as_str()));
        assert!(!kinds(&turn).contains(&"turn.ended"));
        served.act(&format!("/v1/sessions/{kind}/interrupt"), json!({})).await;

        let mut held = served.stream_turn(kind, kind, TurnQuery::held()).await;
        held.until(&asked).await;
        served.act(&format!("/v1/sessions/{kind}/interrupt"), json!({})).await;
        let rest = held.events().await;
        assert_eq!(rest.last().unwrap()["type"], "turn.ended");
        served.events(kind).await;
    }
}

#[tokio::test]
async fn a_turns_stream_closes_when_the_session_ends() {
    let served = served().await;
    served.create("s").await;
    let mut held = served.stream_turn("s", "permission", TurnQuery::held()).await;
    held.until("permission.requested").await;
    // This one waits behind it, and will never be taken up.
    let waiting = served.stream_turn("s", "echo never", TurnQuery::default()).await;
    served.act("/v1/sessions/s/terminate", json!({})).await;
    let rest = held.events().await;
    assert!(kinds(&rest).contains(&"turn.ended") || kinds(&rest).contains(&"session.ended"));
    let never = waiting.events().await;
    assert!(!kinds(&never).contains(&"turn.started"), "{never:#?}");
    served.events("s").await;
}

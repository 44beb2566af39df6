//! Requests at a server that does not own the session have the same answers as at the owner.

use interlingua_client::{EventQuery, TurnQuery};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::two_servers::{start_two, wait_until};
use crate::test_server::{TestServer, check_rules, expect_problem, sequences};

/// Reads the events of a session up to the first of a type, at a server.
async fn until(server: &TestServer, id: &str, kind: &str) -> Vec<Value> {
    server.follow(id, EventQuery::default()).await.until(kind).await
}

/// Id of the first permission request or question.
fn request_id(events: &[Value], kind: &str) -> String {
    let last = events.last().unwrap();
    last["data"][format!("{kind}_id")].as_str().unwrap().to_owned()
}

/// The server that owns the session.
async fn owner(server: &TestServer, id: &str) -> Option<String> {
    server.get_json(&format!("/v1/sessions/{id}")).await["server"].as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_driven_from_another_server() {
    let Some((a, b)) = start_two().await else { return };
    a.create("s").await;
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "permission" })).await;
    let events = until(&b, "s", "permission.requested").await;
    assert_eq!(owner(&b, "s").await.as_deref(), Some("a"));
    let first = request_id(&events, "permission");
    let reply = |id: &str| format!("/v1/sessions/s/permissions/{id}/reply");
    b.post_ok(&reply(&first), json!({ "reply": "once" })).await;
    expect_problem(b.post(&reply(&first), json!({ "reply": "once" })).await, 409, "already_resolved").await;
    expect_problem(b.post(&reply("none"), json!({ "reply": "once" })).await, 404, "permission_not_found").await;
    // A message that is queued at the other server has its turn afterwards; its stream is the same at both.
    let mut turn = b.stream_turn("s", "echo queued at b", TurnQuery::default()).await;
    let events = b.follow("s", EventQuery::default()).await.until("permission.resolved").await;
    let second = a.get_json("/v1/sessions/s").await["pending"][0]["permission_id"].as_str().map(str::to_owned);
    let second = if let Some(id) = second {
        id
    } else {
        let mut rest = a.follow("s", EventQuery::after(events.len() as u64)).await;
        request_id(&rest.until("permission.requested").await, "permission")
    };
    b.post_ok(&reply(&second), json!({ "reply": "reject" })).await;
    let streamed = turn.until("turn.ended").await;
    assert!(streamed.iter().any(|event| event.to_string().contains("echo queued at b")), "{streamed:?}");
    let all = a.events("s").await;
    assert_eq!(all, b.events("s").await);
    assert_eq!(sequences(&all), (1..=all.len() as u64).collect::<Vec<_>>());
    assert_eq!(streamed, all[all.len() - streamed.len()..]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_interrupts_and_ends_reach_the_owner() {
    let Some((a, b)) = start_two().await else { return };
    a.create("q").await;
    a.post_ok("/v1/sessions/q/messages", json!({ "message": "question" })).await;
    let events = until(&b, "q", "question.requested").await;
    let question = request_id(&events, "question");
    b.post_ok(&format!("/v1/sessions/q/questions/{question}/reject"), json!({})).await;
    until(&a, "q", "question.resolved").await;
    let again = b.post(&format!("/v1/sessions/q/questions/{question}/reject"), json!({})).await;
    expect_problem(again, 409, "already_resolved").await;
    b.post_ok("/v1/sessions/q/interrupt", json!({})).await;

    a.create("i").await;
    a.post_ok("/v1/sessions/i/messages", json!({ "message": "permission" })).await;
    until(&b, "i", "permission.requested").await;
    b.post_ok("/v1/sessions/i/interrupt", json!({})).await;
    let events = b.events("i").await;
    assert_eq!(events.last().unwrap()["data"]["status"], "interrupted", "the interrupt answered before the end");
    // Without a turn, nothing happens.
    b.post_ok("/v1/sessions/i/interrupt", json!({})).await;

    b.post_ok("/v1/sessions/i/terminate", json!({})).await;
    assert_eq!(a.events("i").await.last().unwrap()["type"], "session.ended");
    b.post_ok("/v1/sessions/i/terminate", json!({})).await;
    let late = b.post("/v1/sessions/i/messages", json!({ "message": "late" })).await;
    expect_problem(late, 409, "session_ended").await;
    assert_eq!(b.delete("/v1/sessions/q").await.status(), StatusCode::NO_CONTENT);
    expect_problem(a.get("/v1/sessions/q").await, 404, "session_not_found").await;
    expect_problem(b.post("/v1/sessions/q/interrupt", json!({})).await, 404, "session_not_found").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queued_messages_are_listed_cancelled_and_deduplicated_anywhere() {
    let Some((a, b)) = start_two().await else { return };
    a.create("s").await;
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "permission", "id": "first" })).await;
    until(&b, "s", "permission.requested").await;
    for id in ["m1", "m2"] {
        b.post_ok("/v1/sessions/s/messages", json!({ "message": format!("echo {id}"), "id": id })).await;
    }
    // The same request at the other server does nothing, another one with the same id is refused.
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "echo m1", "id": "m1" })).await;
    let other = b.post("/v1/sessions/s/messages", json!({ "message": "echo other", "id": "m1" })).await;
    expect_problem(other, 409, "message_conflict").await;
    let queue = a.get_json("/v1/sessions/s/messages").await;
    assert_eq!(queue["messages"].as_array().unwrap().len(), 2);
    assert_eq!(b.delete("/v1/sessions/s/messages/m1").await.status(), StatusCode::NO_CONTENT);
    assert_eq!(a.delete("/v1/sessions/s/messages/m1").await.status(), StatusCode::NO_CONTENT);
    expect_problem(b.delete("/v1/sessions/s/messages/first").await, 409, "message_conflict").await;
    expect_problem(b.delete("/v1/sessions/s/messages/none").await, 404, "not_found").await;
    b.post_ok("/v1/sessions/s/interrupt", json!({})).await;
    let has_ended = async || {
        let info = b.get_json("/v1/sessions/s").await;
        info["state"] == "idle" && info["queued"] == 0
    };
    wait_until("the queue is empty", has_ended).await;
    let all = serde_json::to_string(&a.events("s").await).unwrap();
    assert!(all.contains("echo m2") && !all.contains("echo m1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn options_are_changed_at_the_owner() {
    let Some((a, b)) = start_two().await else { return };
    a.create("s").await;
    a.run_turn("s", "echo hi").await;
    let patch = |server: &TestServer, body: Value| server.request(Method::PATCH, "/v1/sessions/s").json(&body).send();
    let changed = patch(&b, json!({ "permissionMode": "bypass", "labels": { "team": "core" } })).await.unwrap();
    assert!(changed.status().is_success(), "{}", changed.text().await.unwrap());
    assert_eq!(a.get_json("/v1/sessions/s").await["permissionMode"], "bypass");
    assert_eq!(a.get_json("/v1/sessions?label=team=core").await["total"], 1);
    // In this mode, the agent does not ask.
    let turn = b.run_turn("s", "permission").await;
    assert!(turn.iter().all(|event| event["type"] != "permission.requested"), "{turn:?}");
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "question" })).await;
    until(&b, "s", "question.requested").await;
    expect_problem(patch(&b, json!({ "permissionMode": "plan" })).await.unwrap(), 409, "change_refused").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_resume_on_another_server() {
    let Some((a, b)) = start_two().await else { return };
    a.create("s").await;
    let mut at_b = b.follow("s", EventQuery::default()).await;
    let turn = a.run_turn("s", "markdown").await;
    let events = at_b.until("turn.ended").await;
    check_rules(&events);
    let middle = turn.len() as u64 / 2;
    for server in [&a, &b] {
        let rest = server.follow("s", EventQuery::after(middle)).await.until("turn.ended").await;
        assert_eq!(sequences(&rest).first(), Some(&(middle + 1)));
    }
    let beyond = b.get(&format!("/v1/sessions/s/events?offset={}", events.len() + 1)).await;
    expect_problem(beyond, 410, "cursor_gone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stream_of_many_sessions_and_the_search_are_the_same_at_both() {
    let Some((a, b)) = start_two().await else { return };
    let stream = |server: &TestServer| server.request(Method::GET, "/v1/events/sse");
    let mut live = b.stream(stream(&b)).await;
    for (server, id) in [(&a, "s1"), (&b, "s2"), (&a, "s3")] {
        server.create(id).await;
        server.run_turn(id, "echo needle").await;
    }
    let mut total = 0;
    for id in ["s1", "s2", "s3"] {
        total += a.events(id).await.len();
    }
    let mut seen = Vec::new();
    let mut last = String::new();
    while seen.len() < total {
        if let Some(interlingua_client::Frame::Event(event)) = live.next().await {
            last = event.id.clone().unwrap();
            seen.push(event);
        }
    }
    // A reader at the other server goes on with the cursor of this one.
    a.run_turn("s2", "echo more").await;
    let mut resumed = a.stream(stream(&a).header("last-event-id", last)).await;
    let next = loop {
        if let Some(interlingua_client::Frame::Event(event)) = resumed.next().await {
            break event;
        }
    };
    let next: Value = serde_json::from_slice(&next.data).unwrap();
    assert_eq!((&next["session_id"], &next["type"]), (&json!("s2"), &json!("turn.started")));
    for server in [&a, &b] {
        let found = server.get_json("/v1/search?q=needle").await;
        let sessions: Vec<&str> =
            found["results"].as_array().unwrap().iter().map(|hit| hit["sessionId"].as_str().unwrap()).collect();
        assert_eq!(sessions.first(), Some(&"s3"), "{found}");
        assert!(sessions.contains(&"s1") && sessions.contains(&"s2"), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_and_metrics_say_which_store_and_which_leases() {
    let Some((a, b)) = start_two().await else { return };
    a.create("s").await;
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "permission" })).await;
    until(&b, "s", "permission.requested").await;
    let store = |health: &Value| health["store"].clone();
    let health = store(&a.get_json("/v1/health").await);
    assert_eq!((&health["kind"], &health["server"], &health["leases"]), (&json!("postgres"), &json!("a"), &json!(1)));
    assert_eq!(store(&b.get_json("/v1/health").await)["leases"], 0);
    let connected = async || b.get_json("/v1/health").await["store"]["receivesSignals"] == true;
    wait_until("signals arrive", connected).await;
    let metrics = a.get("/metrics").await.text().await.unwrap();
    for line in ["interlingua_store_info{kind=\"postgres\"} 1", "interlingua_store_leases 1"] {
        assert!(metrics.lines().any(|found| found == line), "expected {line} in:\n{metrics}");
    }
    assert_eq!(a.get_json("/v1/ready").await["status"], "ready");
}

//! Ids of messages, and the queue.

use interlingua_client::{EventQuery, MessageRequest, PermissionAnswer, TurnQuery};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestServer, event_types, expect_problem, start_server};

/// The ids of the messages of each turn, in order.
pub(crate) fn message_ids(events: &[Value]) -> Vec<String> {
    let turns = events.iter().filter(|event| event["type"] == "turn.started");
    turns
        .flat_map(|event| event["data"]["metadata"]["message_ids"].as_array().cloned().unwrap_or_default())
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

/// Starts a turn that waits for the answer to a permission request.
async fn start_waiting_turn(server: &TestServer, id: &str) {
    server.create(id).await;
    let turn = server.stream_turn(id, "permission", TurnQuery::default()).await.events().await;
    assert_eq!(turn.last().unwrap()["type"], "permission.requested");
}

/// Answers the permission requests of a session until no turn runs and nothing is queued.
async fn finish(server: &TestServer, id: &str) {
    loop {
        let session = server.client.session(id).await.unwrap();
        if session.state.to_string() == "idle" {
            return;
        }
        for request in &session.pending {
            // Another answer may have ended the turn.
            let _ = server.client.reply_permission(id, request.id().unwrap(), PermissionAnswer::Once).await;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_repeated_message_is_queued_once() {
    let server = start_server().await;
    start_waiting_turn(&server, "s").await;
    let message = json!({ "id": "m1", "message": "echo once" });
    for _ in 0..3 {
        server.post_ok("/v1/sessions/s/messages", message.clone()).await;
    }
    assert_eq!(server.client.queued_messages("s").await.unwrap().len(), 1);
    finish(&server, "s").await;
    // Also when its turn is over.
    server.post_ok("/v1/sessions/s/messages", message.clone()).await;
    let events = server.events("s").await;
    assert_eq!(message_ids(&events).iter().filter(|id| *id == "m1").count(), 1);
    assert_eq!(event_types(&events).iter().filter(|kind| **kind == "turn.started").count(), 2);

    // And when the session has ended.
    server.client.terminate("s").await.unwrap();
    server.post_ok("/v1/sessions/s/messages", message).await;
    let late = server.post("/v1/sessions/s/messages", json!({ "id": "m2", "message": "echo late" })).await;
    expect_problem(late, 409, "session_ended").await;
}

#[tokio::test]
async fn another_message_with_the_same_id_is_a_conflict() {
    let server = start_server().await;
    server.create("s").await;
    server.create("t").await;
    server.post_ok("/v1/sessions/s/messages", json!({ "id": "m", "message": "echo a" })).await;
    for (path, body) in [
        ("messages", json!({ "id": "m", "message": "echo b" })),
        ("messages/stream", json!({ "id": "m", "message": "echo b" })),
        ("messages", json!({ "id": "m", "message": "echo a", "attachments": [{ "path": "/x" }] })),
    ] {
        let conflict = server.post(&format!("/v1/sessions/s/{path}"), body).await;
        expect_problem(conflict, 409, "message_conflict").await;
    }
    // Ids are those of a session.
    server.post_ok("/v1/sessions/t/messages", json!({ "id": "m", "message": "echo b" })).await;
}

#[tokio::test]
async fn an_invalid_message_id_is_refused() {
    let server = start_server().await;
    server.create("s").await;
    for id in ["", "a\nb", &"x".repeat(129)] {
        let refused = server.post("/v1/sessions/s/messages", json!({ "id": id, "message": "hi" })).await;
        let problem = expect_problem(refused, 400, "invalid_request").await;
        assert_eq!(problem["details"]["field"], "id");
    }
    let refused = server.post("/v1/sessions/s/messages", json!({ "id": 1, "message": "hi" })).await;
    expect_problem(refused, 422, "invalid_request").await;
}

#[tokio::test]
async fn a_repeated_stream_has_the_events_of_the_same_turn() {
    let server = start_server().await;
    start_waiting_turn(&server, "s").await;
    // Both wait in the queue, behind the first turn.
    let message = MessageRequest::new("echo hello").id("m1");
    let (first, second) = (
        server.client.stream_turn("s", &message, TurnQuery::default()).await.unwrap(),
        server.client.stream_turn("s", &message, TurnQuery::default()).await.unwrap(),
    );
    let read =
        |turn: interlingua_client::TurnStream| crate::test_server::frames::Frames::new(turn.into_frames()).events();
    let (first, second, ()) = tokio::join!(read(first), read(second), finish(&server, "s"));
    assert_eq!(message_ids(&first), ["m1"]);
    assert_eq!(
        (first[0]["type"].as_str(), first.last().unwrap()["type"].as_str()),
        (Some("turn.started"), Some("turn.ended"))
    );
    assert_eq!(first, second);
    // The turn is over.
    let third = read(server.client.stream_turn("s", &message, TurnQuery::default()).await.unwrap()).await;
    assert_eq!(first, third);
    let all = server.events("s").await;
    assert_eq!(event_types(&all).iter().filter(|kind| **kind == "turn.started").count(), 2);
}

#[tokio::test]
async fn queued_messages_are_listed_in_order_and_can_be_cancelled() {
    let server = start_server().await;
    start_waiting_turn(&server, "s").await;
    for (id, text) in [("a", "echo a"), ("b b/c", "echo b"), ("c", "echo c")] {
        server.client.send_message("s", &MessageRequest::new(text).id(id)).await.unwrap();
    }
    server.client.send_message("s", &MessageRequest::new("echo unnamed")).await.unwrap();
    let queue = server.get_json("/v1/sessions/s/messages").await;
    let messages = queue["messages"].as_array().unwrap();
    let ids: Vec<&str> = messages.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!(ids[..3], ["a", "b b/c", "c"]);
    assert_eq!((&messages[0]["message"], &messages[0]["attachments"]), (&json!("echo a"), &json!([])));
    assert!(messages[0]["createdAt"].as_i64().unwrap() > 0);
    assert_eq!(server.client.session("s").await.unwrap().queued, 4);

    for _ in 0..2 {
        server.client.cancel_message("s", "b b/c").await.unwrap();
    }
    server.client.cancel_message("s", ids[3]).await.unwrap();
    // A cancelled message is not queued again.
    server.client.send_message("s", &MessageRequest::new("echo b").id("b b/c")).await.unwrap();
    let repeated =
        server.client.stream_turn("s", &MessageRequest::new("echo b").id("b b/c"), TurnQuery::default()).await;
    assert!(repeated.unwrap().next().await.unwrap().is_none());

    let unknown = server.request(Method::DELETE, "/v1/sessions/s/messages/unknown").send().await.unwrap();
    let problem = expect_problem(unknown, 404, "not_found").await;
    assert_eq!(problem["details"]["messageId"], "unknown");
    finish(&server, "s").await;
    let events = server.events("s").await;
    assert_eq!(message_ids(&events)[1..], ["a", "c"]);
    let begun = server.delete("/v1/sessions/s/messages/a").await;
    expect_problem(begun, 409, "message_conflict").await;
}

#[tokio::test]
async fn a_queue_of_large_messages_is_sent_piece_by_piece() {
    let server = start_server().await;
    start_waiting_turn(&server, "s").await;
    let texts: Vec<String> = ["a", "\u{20ac}", "\"", "z"].iter().map(|letter| letter.repeat(200 << 10)).collect();
    for text in &texts {
        server.client.send_message("s", &MessageRequest::new(text.as_str())).await.unwrap();
    }
    let response = server.get("/v1/sessions/s/messages").await;
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.content_length(), None, "the queue was in memory before the answer began");
    let queue: Value = response.json().await.unwrap();
    let listed: Vec<&str> =
        queue["messages"].as_array().unwrap().iter().map(|message| message["message"].as_str().unwrap()).collect();
    assert_eq!(listed, texts);
}

#[tokio::test]
async fn a_running_message_cannot_be_cancelled_and_ids_survive_a_restart() {
    let server = start_server().await;
    server.create("s").await;
    let mut stream = server.follow("s", EventQuery::default()).await;
    server.client.send_message("s", &MessageRequest::new("permission").id("m")).await.unwrap();
    stream.until("permission.requested").await;
    let running = server.delete("/v1/sessions/s/messages/m").await;
    expect_problem(running, 409, "message_conflict").await;
    drop(stream);

    let access = interlingua_server::Access::Token(interlingua_server::Token::new(crate::test_server::TOKEN).unwrap());
    let server = server.restart(interlingua_server::ServerConfig::new(access)).await;
    server.client.send_message("s", &MessageRequest::new("permission").id("m")).await.unwrap();
    let conflict = server.post("/v1/sessions/s/messages", json!({ "id": "m", "message": "other" })).await;
    expect_problem(conflict, 409, "message_conflict").await;
    assert_eq!(message_ids(&server.events("s").await), ["m"]);
    let missing = server.post("/v1/sessions/none/messages", json!({ "id": "m", "message": "hi" })).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

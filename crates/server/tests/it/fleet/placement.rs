//! Where the agent of a session runs: with its files, and with its secrets.

use std::sync::Arc;
use std::time::Duration;

use interlingua_client::EventQuery;
use interlingua_runtime::mock::MockDriver;
use interlingua_store::PostgresOptions;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::two_servers::{URL_FILE, start_one, start_two, start_two_with, wait_until};
use crate::test_server::{TestServer, expect_problem, start_server};

/// Stops a server as a rolling restart does: its sessions are given back.
async fn leave(server: TestServer) {
    server.runtime.shutdown().await;
    server.store.close().await;
    server.stop().await;
}

async fn create(server: &TestServer, id: &str, body: Value) {
    let response = server.post(&format!("/v1/sessions/{id}"), body).await;
    assert_eq!(response.status(), StatusCode::OK, "{}", response.text().await.unwrap());
}

async fn has_text(server: &TestServer, id: &str, text: &str) -> bool {
    server.get_json(&format!("/v1/sessions/{id}/events")).await.to_string().contains(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_waits_for_the_server_that_has_the_files() {
    let Some((a, b)) = start_two().await else { return };
    create(&a, "s", json!({ "agent": "mock", "placement": "a" })).await;
    create(&a, "any", json!({ "agent": "mock" })).await;
    assert_eq!(b.get_json("/v1/sessions/s").await["placement"], "a");
    assert_eq!(b.get_json("/v1/sessions/any").await["placement"], "any");
    b.post_ok("/v1/sessions/s/messages", json!({ "message": "permission" })).await;
    b.follow("s", EventQuery::default()).await.until("permission.requested").await;
    assert_eq!(b.get_json("/v1/sessions/s").await["server"], "a");

    let url = store_url(&a);
    leave(a).await;
    b.post_ok("/v1/sessions/s/messages", json!({ "message": "echo later" })).await;
    b.post_ok("/v1/sessions/any/messages", json!({ "message": "echo now" })).await;
    wait_until("the other session runs here", async || has_text(&b, "any", "turn.ended").await).await;
    // What was left open is closed; the message waits.
    let info = b.get_json("/v1/sessions/s").await;
    assert_eq!((&info["queued"], &info["pending"]), (&json!(1), &json!([])));
    let again = start_one(&url, "a", &|options| options, Arc::new(MockDriver::new())).await;
    wait_until("the message has its turn", async || has_text(&b, "s", "echo later").await).await;
    again.events("s").await;
}

/// Address of a server's store.
fn store_url(server: &TestServer) -> String {
    std::fs::read_to_string(server.data_dir().join(URL_FILE)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_fail_when_the_server_with_the_files_stays_away() {
    let short = |options: PostgresOptions| options.absence_limit(Duration::from_millis(500));
    let Some((a, b)) = start_two_with(&short, &|| Arc::new(MockDriver::new())).await else { return };
    create(&a, "s", json!({ "agent": "mock", "placement": "a" })).await;
    a.run_turn("s", "echo before").await;
    leave(a).await;
    b.post_ok("/v1/sessions/s/messages", json!({ "message": "echo lost" })).await;
    let events = b.follow("s", EventQuery::default()).await.until("error").await;
    let error = events.last().unwrap()["data"]["message"].as_str().unwrap();
    assert!(error.contains("server `a`") && error.contains("start it again"), "{error}");
    wait_until("the turn has failed", async || b.get_json("/v1/sessions/s").await["lastTurnStatus"] == "failed").await;
    let all = b.events("s").await;
    assert!(all.iter().any(|event| event["type"] == "item.completed" && event.to_string().contains("echo lost")));
}

#[tokio::test]
async fn a_placement_needs_servers_that_share_a_store() {
    if crate::test_server::stores::is_postgres() {
        return;
    }
    let server = start_server().await;
    let response = server.post("/v1/sessions/s", json!({ "agent": "mock", "placement": "any" })).await;
    let problem = expect_problem(response, 400, "invalid_request").await;
    assert_eq!(problem["details"]["field"], "placement");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_invalid_placement_is_refused() {
    let Some((a, _b)) = start_two().await else { return };
    for placement in [json!(""), json!("x".repeat(129)), json!("a\nb")] {
        let response = a.post("/v1/sessions/s", json!({ "agent": "mock", "placement": placement })).await;
        assert!(matches!(response.status().as_u16(), 400 | 422), "{placement}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_runs_where_its_secrets_are() {
    let Some((a, b)) = start_two().await else { return };
    create(&a, "s", json!({ "agent": "mock", "env": { "INTERLINGUA_MOCK_PACE_MS": "1", "KEY": "s3cret" } })).await;
    assert_eq!(b.get_json("/v1/sessions/s").await["state"], "idle");
    b.post_ok("/v1/sessions/s/messages", json!({ "message": "permission" })).await;
    b.follow("s", EventQuery::default()).await.until("permission.requested").await;
    assert_eq!(b.get_json("/v1/sessions/s").await["server"], "a");

    // Newer values at the other server: it takes the session over when the turn has ended.
    let put =
        |server: &TestServer, body: Value| server.request(Method::PUT, "/v1/sessions/s/secrets").json(&body).send();
    let values = json!({ "env": { "INTERLINGUA_MOCK_PACE_MS": "2", "KEY": "s3cret-2" } });
    assert_eq!(put(&b, values.clone()).await.unwrap().status(), StatusCode::NO_CONTENT);
    a.post_ok("/v1/sessions/s/interrupt", json!({})).await;
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "question" })).await;
    let is_at_b = async || b.get_json("/v1/sessions/s").await["server"] == "b";
    wait_until("the other server has taken over", is_at_b).await;
    a.follow("s", EventQuery::default()).await.until("question.requested").await;

    // No server has the values any more: the session waits for them.
    leave(b).await;
    let is_waiting = async || a.get_json("/v1/sessions/s").await["state"] == "needs_secrets";
    wait_until("the values are missing", is_waiting).await;
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "echo with values" })).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!has_text(&a, "s", "echo with values").await);
    assert_eq!(a.get_json("/v1/sessions?state=needs_secrets").await["total"], 1);
    assert_eq!(put(&a, values).await.unwrap().status(), StatusCode::NO_CONTENT);
    wait_until("the message has its turn", async || has_text(&a, "s", "echo with values").await).await;
    let text = a.get_json("/v1/sessions/s/events").await.to_string();
    assert!(!text.contains("s3cret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_uploaded_to_one_server_is_attached_at_another() {
    let Some((a, b)) = start_two().await else { return };
    create(&a, "s", json!({ "agent": "mock" })).await;
    let upload = b.request(Method::POST, "/v1/sessions/s/attachments?filename=notes.txt").body("content of the file");
    let attachment: Value = upload.send().await.unwrap().json().await.unwrap();
    let path = attachment["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with(b.data_dir().to_str().unwrap()), "{path}");
    // Another host does not have the file.
    std::fs::remove_file(&path).unwrap();
    a.post_ok("/v1/sessions/s/messages", json!({ "message": "echo see file", "attachments": [attachment] })).await;
    a.follow("s", EventQuery::default()).await.until("turn.ended").await;
    let copies: Vec<_> = walk(a.data_dir()).collect();
    assert_eq!(copies.len(), 1, "{copies:?}");
    assert_eq!(std::fs::read_to_string(&copies[0]).unwrap(), "content of the file");
}

/// The uploaded files in a data directory.
fn walk(data_dir: &std::path::Path) -> impl Iterator<Item = std::path::PathBuf> {
    let entries = |folder: &std::path::Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_uploads = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("uploads-");
    let sessions = entries(data_dir).filter(is_uploads).flat_map(move |folder| entries(&folder));
    sessions.flat_map(move |session| entries(&session))
}

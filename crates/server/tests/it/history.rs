//! Listing and importing the sessions that agents keep on disk.

use std::fs;
use std::path::Path;

use interlingua_server::{Access, ServerConfig};
use interlingua_store::StoreOptions;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::test_server::{TestServer, check_rules, expect_problem, start_server_with};

const NATIVE_ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";
const SESSION_ID: &str = "ses_0a1b2c3d-0000-4000-8000-000000000001";

/// A home with one session of Claude Code.
pub(crate) fn claude_history() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    write_session(home.path(), 1);
    home
}

/// Writes the session with this number of turns.
fn write_session(home: &Path, turns: usize) {
    let project = home.join(".claude/projects/-workspace");
    fs::create_dir_all(&project).unwrap();
    let line = |number: usize, kind: &str, message: &Value| {
        let parent = if number == 1 { Value::Null } else { json!(format!("u{}", number - 1)) };
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "type": kind, "message": message, "uuid": format!("u{number}"),
            "timestamp": format!("2026-11-18T01:00:{number:02}.000Z"), "cwd": "/workspace", "sessionId": NATIVE_ID,
            "version": "2.1.326",
        });
        format!("{line}\n")
    };
    let turn = |turn: usize| {
        let answer = json!({
            "id": format!("msg_{turn}"), "role": "assistant", "model": "claude-x",
            "content": [{ "type": "text", "text": "42" }], "stop_reason": "end_turn",
            "usage": { "input_tokens": 10, "output_tokens": 3 },
        });
        line(turn * 2 - 1, "user", &json!({ "role": "user", "content": "What is six times seven?" }))
            + &line(turn * 2, "assistant", &answer)
    };
    let text: String = (1..=turns).map(turn).collect();
    fs::write(project.join(format!("{NATIVE_ID}.jsonl")), text).unwrap();
}

async fn start(home: &TempDir) -> TestServer {
    let config = ServerConfig::new(Access::Loopback).history_folders(vec![home.path().to_owned()]);
    start_server_with(config, StoreOptions::default()).await
}

async fn import(server: &TestServer, body: Value) -> Value {
    let response = server.post("/v1/history/import", body).await;
    let status = response.status();
    let text = response.text().await.unwrap();
    assert_eq!(status, StatusCode::OK, "{text}");
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn an_imported_session_is_listed_read_and_searched() {
    let home = claude_history();
    let server = start(&home).await;
    let before = server.get_json("/v1/history").await;
    assert_eq!((&before["total"], &before["sessions"][0]["nativeSessionId"]), (&json!(1), &json!(NATIVE_ID)));
    assert_eq!(before["sessions"][0].get("sessionId"), None);
    assert_eq!(server.get_json("/v1/history/import").await, json!({ "id": 0, "state": "none" }));

    let imported = import(&server, json!({ "nativeSessionIds": [NATIVE_ID] })).await;
    assert_eq!((&imported["state"], &imported["result"]["imported"]), (&json!("done"), &json!(1)), "{imported}");
    let after = server.get_json("/v1/history").await;
    assert_eq!(after["sessions"][0]["sessionId"], SESSION_ID);
    let session = server.get_json(&format!("/v1/sessions/{SESSION_ID}")).await;
    assert_eq!(
        (&session["createdAt"], &session["updatedAt"]),
        (&json!(1_794_963_601_000_u64), &json!(1_794_963_602_000_u64))
    );
    assert_eq!(session["usage"]["input_tokens"], 10);
    let events = server.get_json(&format!("/v1/sessions/{SESSION_ID}/events")).await;
    check_rules(events["events"].as_array().unwrap());
    let found = server.get_json("/v1/search?q=six%20times").await;
    assert_eq!(found["results"][0]["sessionId"], SESSION_ID, "{found}");
}

#[tokio::test]
async fn importing_again_adds_only_what_is_new() {
    let home = claude_history();
    let server = start(&home).await;
    import(&server, json!({ "all": true })).await;
    let again = import(&server, json!({ "all": true })).await;
    assert_eq!((&again["id"], &again["result"]["unchanged"]), (&json!(2), &json!(1)));
    write_session(home.path(), 2);
    let extended = import(&server, json!({ "agent": "claude" })).await;
    assert_eq!(extended["result"]["extended"], 1, "{extended}");
    // The agent goes back to the beginning.
    write_session(home.path(), 1);
    let replaced = import(&server, json!({ "all": true })).await;
    assert_eq!(replaced["result"]["replaced"], 1, "{replaced}");
    assert_eq!(server.get_json("/v1/history/import?id=1").await["result"]["imported"], 1);
    expect_problem(server.get("/v1/history/import?id=9").await, 404, "not_found").await;
}

#[tokio::test]
async fn an_import_can_run_in_the_background() {
    let home = claude_history();
    let server = start(&home).await;
    let request = server.request(Method::POST, "/v1/history/import").header("prefer", "respond-async");
    let response = request.json(&json!({ "all": true })).send().await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["preference-applied"]),
        (StatusCode::ACCEPTED, &"respond-async".parse().unwrap())
    );
    let accepted: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!(accepted["id"], 1);
    // Joins it, or begins after it.
    import(&server, json!({ "all": true })).await;
    let done = server.get_json("/v1/history/import?id=1").await;
    assert_eq!((&done["state"], &done["result"]["imported"]), (&json!("done"), &json!(1)), "{done}");
}

#[tokio::test]
async fn a_request_says_which_sessions_it_means() {
    let home = claude_history();
    let server = start(&home).await;
    for (body, field) in [
        (json!({}), "all"),
        (json!({ "all": false }), "all"),
        (json!({ "agent": "amp" }), "agent"),
        (json!({ "nativeSessionIds": [] }), "nativeSessionIds"),
    ] {
        let problem =
            expect_problem(server.post("/v1/history/import", body.clone()).await, 400, "invalid_request").await;
        assert_eq!(problem["details"]["field"], field, "{body}: {problem}");
    }
    expect_problem(server.post("/v1/history/import", json!({ "agents": "claude" })).await, 422, "invalid_request")
        .await;
    let unknown = server.post("/v1/history/import", json!({ "nativeSessionIds": ["no"] })).await;
    expect_problem(unknown, 404, "session_not_found").await;
    expect_problem(server.get("/v1/history?agent=hal").await, 400, "invalid_request").await;
    expect_problem(server.get("/v1/history?limits=1").await, 422, "invalid_request").await;
}

#[tokio::test]
async fn the_list_is_read_in_pages_and_filtered() {
    let home = claude_history();
    let server = start(&home).await;
    let all = server.get_json("/v1/history?limit=1").await;
    assert_eq!((all["sessions"].as_array().unwrap().len(), all.get("nextCursor")), (1, None));
    for (query, total) in [
        ("agent=claude", 1),
        ("agent=codex", 0),
        ("directory=/workspace", 1),
        ("directory=/other", 0),
        ("since=2026-11-18T01:00:02Z", 1),
        ("since=2026-11-18T01:00:03Z", 0),
    ] {
        assert_eq!(server.get_json(&format!("/v1/history?{query}")).await["total"], total, "{query}");
    }
}

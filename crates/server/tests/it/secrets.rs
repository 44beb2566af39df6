//! `PUT /v1/sessions/{id}/secrets`.

use interlingua_server::{Access, ServerConfig};
use interlingua_store::StoreOptions;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{TestServer, expect_problem, read_problem, start_server_with};

fn config() -> ServerConfig {
    ServerConfig::new(Access::Loopback)
}

/// A server that was restarted after session `s` was created with the variables `A` and `B`, and got two messages.
async fn restarted_server() -> TestServer {
    let server = start_server_with(config(), StoreOptions::default()).await;
    let env = json!({ "agent": "mock", "env": { "A": "s3cret-1", "B": "s3cret-2" } });
    assert_eq!(server.post("/v1/sessions/s", env).await.status(), StatusCode::OK);
    for message in ["permission", "echo queued"] {
        server.post_ok("/v1/sessions/s/messages", json!({ "message": message })).await;
    }
    server.restart(config()).await
}

async fn put_secrets(server: &TestServer, body: &Value) -> Response {
    server.request(Method::PUT, "/v1/sessions/s/secrets").json(body).send().await.unwrap()
}

#[tokio::test]
async fn a_turn_can_be_streamed_while_the_session_waits_for_values() {
    let server = restarted_server().await;
    let info = server.get_json("/v1/sessions/s").await;
    assert_eq!((&info["state"], &info["secretsMissing"]), (&json!("needs_secrets"), &json!(["A", "B"])));
    let list = server.get_json("/v1/sessions").await;
    assert_eq!(list["sessions"][0], info);

    let mut turn = server.stream_turn("s", "echo later", interlingua_client::TurnQuery::default()).await;
    assert_eq!(put_secrets(&server, &json!({ "env": { "A": "1" } })).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(server.get_json("/v1/sessions/s").await["secretsMissing"], json!(["B"]));
    assert_eq!(put_secrets(&server, &json!({ "env": { "B": "2" }, "mcp": {} })).await.status(), StatusCode::NO_CONTENT);
    let events = turn.until("turn.ended").await;
    assert!(events.iter().any(|event| event.to_string().contains("echo later")), "{events:?}");
    let info = server.get_json("/v1/sessions/s").await;
    assert_eq!((&info["state"], info.get("secretsMissing")), (&json!("idle"), None));
    let all = server.events("s").await;
    assert!(all.iter().any(|event| event["type"] == "item.completed" && event.to_string().contains("echo queued")));
}

#[tokio::test]
async fn invalid_values_are_refused_and_never_shown() {
    let server = restarted_server().await;
    for (body, status, expected) in [
        (json!({ "env": { "C": "s3cret" } }), 400, "A, B"),
        (json!({ "env": { "A": "s3cret", "C": "s3cret" } }), 400, "A, B"),
        (json!({ "mcp": { "tool": { "env": { "A": "s3cret" } } } }), 400, "mcp.tool.env.A"),
        (json!({ "env": { "A": "s3cret\u{0}" } }), 400, "NUL"),
        (json!({ "env": { "A": ["s3cret"] } }), 422, "env.A"),
        (json!({ "env": "s3cret" }), 422, "env"),
        (json!({ "mcp": { "tool": { "A": "s3cret" } } }), 422, "mcp"),
    ] {
        let (found, kind, document) = read_problem(put_secrets(&server, &body).await).await;
        assert_eq!((found, kind.as_str()), (status, "invalid_request"), "{body}: {document}");
        let detail = document["detail"].as_str().unwrap();
        assert!(detail.contains(expected) && !document.to_string().contains("s3cret"), "{document}");
        assert_eq!(server.get_json("/v1/sessions/s").await["secretsMissing"], json!(["A", "B"]), "nothing was kept");
    }
    let missing = server.request(Method::PUT, "/v1/sessions/other/secrets").json(&json!({})).send().await.unwrap();
    expect_problem(missing, 404, "session_not_found").await;
    server.post_ok("/v1/sessions/s/terminate", json!({})).await;
    expect_problem(put_secrets(&server, &json!({ "env": { "A": "1" } })).await, 409, "session_ended").await;
    assert_eq!(server.get_json("/v1/sessions/s").await["state"], "ended");
}

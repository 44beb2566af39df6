//! Unknown names, wrong JSON types and positions that do not exist are refused instead of ignored.

use serde_json::json;

use crate::test_server::{expect_problem, start_server};

#[tokio::test]
async fn a_misspelt_field_of_a_session_is_422_and_names_the_nearest_one() {
    let server = start_server().await;
    for (field, nearest) in [("permission_mode", "permissionMode"), ("agentmode", "agentMode"), ("modle", "model")] {
        let body = json!({ "agent": "mock", field: "bypass" });
        let document = expect_problem(server.post("/v1/sessions/s", body).await, 422, "invalid_request").await;
        assert_eq!((&document["details"]["field"], &document["details"]["nearest"]), (&json!(field), &json!(nearest)));
    }
    // The misspelt name of a required field is not reported as a missing field.
    let document =
        expect_problem(server.post("/v1/sessions/s", json!({ "Agent": "mock" })).await, 422, "invalid_request");
    assert_eq!(document.await["details"]["nearest"], "agent");
    let document = expect_problem(
        server.post("/v1/sessions/s", json!({ "agent": "mock", "zz": 1 })).await,
        422,
        "invalid_request",
    );
    assert!(document.await["details"]["known"].as_array().unwrap().contains(&json!("directory")));
    assert_eq!(server.get_json("/v1/sessions").await["sessions"], json!([]));
}

#[tokio::test]
async fn an_unknown_query_parameter_of_a_list_or_stream_is_422() {
    let server = start_server().await;
    server.create("s").await;
    for (path, nearest) in [
        ("/v1/sessions?limits=1", "limit"),
        ("/v1/sessions/s/events?ofset=1", "offset"),
        ("/v1/sessions/s/events?include-raw=true", "include_raw"),
        ("/v1/sessions/s/events/sse?ofset=7", "offset"),
    ] {
        let document = expect_problem(server.get(path).await, 422, "invalid_request").await;
        assert_eq!(document["details"]["nearest"], nearest, "{path}");
    }
    for path in ["sessions/s/messages", "sessions/s/check", "agents", "agents/mock/models", "agents/mock/modes"] {
        let document = expect_problem(server.get(&format!("/v1/{path}?limit=1")).await, 422, "invalid_request").await;
        assert!(document["detail"].as_str().unwrap().contains("there are none"), "{path}: {document}");
    }
    server.get_json("/v1/sessions/s/events?includeRaw=true&limit=1").await;
}

#[tokio::test]
async fn a_json_array_is_not_an_object() {
    let server = start_server().await;
    expect_problem(server.post("/v1/sessions/s", json!(["mock"])).await, 422, "invalid_request").await;
    let mcp = json!({ "agent": "mock", "mcp": { "tool": ["stdio", "program"] } });
    expect_problem(server.post("/v1/sessions/s", mcp).await, 422, "invalid_request").await;
    server.create("s").await;
    for body in [json!(["hi"]), json!({ "message": "hi", "attachments": [["/etc/hostname"]] })] {
        let document = expect_problem(server.post("/v1/sessions/s/messages", body).await, 422, "invalid_request").await;
        assert!(document["detail"].as_str().unwrap().contains("expected an object"), "{document}");
    }
    expect_problem(server.post("/v1/agents/mock/install", json!([])).await, 422, "invalid_request").await;
    assert_eq!(server.events("s").await.len(), 1);
}

#[tokio::test]
async fn session_ids_that_clients_remove_from_paths_are_refused() {
    let server = start_server().await;
    for id in [".", ".."] {
        // `reqwest` would remove the segment too, so the runtime is asked directly.
        let id = id.into();
        assert!(interlingua_runtime::check_session_id(&id).is_err(), "{id:?}");
    }
    for id in ["...", ".a", "a.", "a/../b"] {
        server.create(id).await;
    }
}

#[tokio::test]
async fn an_offset_beyond_the_last_event_is_410() {
    let server = start_server().await;
    server.create("s").await;
    for path in ["events", "events/sse"] {
        let document =
            expect_problem(server.get(&format!("/v1/sessions/s/{path}?offset=2")).await, 410, "cursor_gone").await;
        assert_eq!((&document["details"]["lastSequence"], &document["sessionId"]), (&json!(1), &json!("s")));
    }
    let resumed = server.request(reqwest::Method::GET, "/v1/sessions/s/events/sse").header("Last-Event-ID", "7");
    expect_problem(resumed.send().await.unwrap(), 410, "cursor_gone").await;
    assert_eq!(server.get_json("/v1/sessions/s/events?offset=1").await["events"], json!([]));
}

#[tokio::test]
async fn an_event_source_of_an_ended_session_is_told_not_to_connect_again() {
    let server = start_server().await;
    server.create("s").await;
    server.post_ok("/v1/sessions/s/terminate", json!({})).await;
    let last = server.events("s").await.len();
    let path = "/v1/sessions/s/events/sse";
    let resumed = server.request(reqwest::Method::GET, path).header("Last-Event-ID", last.to_string());
    assert_eq!(resumed.send().await.unwrap().status(), 204);
    let earlier = server.get(&format!("{path}?offset={}", last - 1)).await;
    assert_eq!(earlier.status(), 200);
    assert!(earlier.text().await.unwrap().contains("session.ended"));
}

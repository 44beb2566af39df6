//! Every error is a problem document, and a refused request changes nothing.

use interlingua_client::EventQuery;
use interlingua_runtime::RuntimeOptions;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::test_server::{expect_problem, start_server, start_server_with, start_server_without_agents};

#[tokio::test]
async fn unknown_paths_are_404_and_unknown_methods_405() {
    let server = start_server().await;
    for path in ["/", "/v1/nothing", "/v2/health", "/v1/sessions/a/b", "/v1/health/"] {
        expect_problem(server.get(path).await, 404, "not_found").await;
    }
    for (method, path, allow) in [
        (Method::POST, "/v1/health", "GET,HEAD"),
        (Method::PUT, "/v1/sessions/a", "GET,HEAD,POST,PATCH,DELETE"),
        (Method::PUT, "/v1/sessions/a/messages", "GET,HEAD,POST"),
        (Method::PATCH, "/v1/sessions", "GET,HEAD"),
    ] {
        let response = server.request(method, path).send().await.unwrap();
        assert_eq!(response.headers()["allow"], allow, "{path}");
        expect_problem(response, 405, "method_not_allowed").await;
    }
}

#[tokio::test]
async fn a_head_that_is_too_long_is_431_and_the_next_connection_works() {
    let server = start_server().await;
    for (bytes, status) in [(8 << 10, 200), (20 << 10, 431)] {
        let request = server.request(Method::GET, "/v1/agents").header("x-long", "x".repeat(bytes));
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        assert_eq!(response.text().await.unwrap().is_empty(), status == 431);
    }
    assert_eq!(server.get("/v1/health").await.status(), 200);
}

#[tokio::test]
async fn invalid_session_ids_are_400() {
    let server = start_server().await;
    let too_long = "x".repeat(257);
    for id in ["", "%00", "a%0Ab", "%7F", "%C2%85", "%FF", too_long.as_str(), "%E2%82"] {
        for path in ["", "/events", "/events/sse"] {
            expect_problem(server.get(&format!("/v1/sessions/{id}{path}")).await, 400, "invalid_request").await;
        }
        let created = server.post(&format!("/v1/sessions/{id}"), json!({ "agent": "mock" })).await;
        expect_problem(created, 400, "invalid_request").await;
    }
    assert_eq!(server.get_json("/v1/sessions").await["sessions"], json!([]));
}

#[tokio::test]
async fn unknown_sessions_are_404() {
    let server = start_server().await;
    for path in ["", "/events", "/events/sse"] {
        let document =
            expect_problem(server.get(&format!("/v1/sessions/unknown{path}")).await, 404, "session_not_found").await;
        assert_eq!(document["sessionId"], "unknown");
    }
    for (path, body) in [
        ("messages", json!({ "message": "hi" })),
        ("messages/stream", json!({ "message": "hi" })),
        ("interrupt", json!({})),
        ("terminate", json!({})),
        ("questions/q/reply", json!({ "answers": [["a"]] })),
        ("questions/q/reject", json!({})),
        ("permissions/p/reply", json!({ "reply": "once" })),
    ] {
        let response = server.post(&format!("/v1/sessions/unknown/{path}"), body).await;
        expect_problem(response, 404, "session_not_found").await;
    }
}

#[tokio::test]
async fn unknown_permissions_and_questions_are_404() {
    let server = start_server().await;
    server.create("s").await;
    let reply = server.post("/v1/sessions/s/permissions/p/reply", json!({ "reply": "once" })).await;
    assert_eq!(expect_problem(reply, 404, "permission_not_found").await["sessionId"], "s");
    let reply = server.post("/v1/sessions/s/questions/q/reply", json!({ "answers": [["a"]] })).await;
    expect_problem(reply, 404, "question_not_found").await;
    expect_problem(server.post("/v1/sessions/s/questions/q/reject", json!({})).await, 404, "question_not_found").await;
}

#[tokio::test]
async fn requests_to_an_ended_session_are_409() {
    let server = start_server().await;
    server.create("s").await;
    server.run_turn("s", "echo hi").await;
    server.post_ok("/v1/sessions/s/terminate", json!({})).await;
    let before = server.events("s").await;
    for (path, body) in [
        ("messages", json!({ "message": "hi" })),
        ("messages/stream", json!({ "message": "hi" })),
        ("interrupt", json!({})),
        ("questions/q/reply", json!({ "answers": [["a"]] })),
        ("permissions/p/reply", json!({ "reply": "once" })),
    ] {
        let document =
            expect_problem(server.post(&format!("/v1/sessions/s/{path}"), body).await, 409, "session_ended").await;
        assert_eq!(document["sessionId"], "s");
    }
    assert_eq!(server.events("s").await, before);
}

#[tokio::test]
async fn unknown_agents_and_modes_are_400() {
    let server = start_server().await;
    let create = async |body: Value| server.post("/v1/sessions/s", body).await;
    let document = expect_problem(create(json!({ "agent": "hal" })).await, 400, "unsupported_agent").await;
    assert_eq!(document["agent"], "hal");
    for field in ["agentMode", "permissionMode"] {
        let body = json!({ "agent": "mock", field: "sideways" });
        let document = expect_problem(create(body).await, 400, "mode_not_supported").await;
        assert_eq!((&document["agent"], &document["details"]["field"]), (&json!("mock"), &json!(field)));
    }
    for body in [
        json!({ "agent": "mock", "directory": "/no/such/directory" }),
        json!({ "agent": "mock", "model": "no-such-model" }),
        json!({ "agent": "mock", "env": { "A=B": "c" } }),
    ] {
        let document = expect_problem(create(body).await, 400, "invalid_request").await;
        assert!(document["details"]["field"].is_string(), "{document}");
    }
    for path in ["modes", "models"] {
        expect_problem(server.get(&format!("/v1/agents/hal/{path}")).await, 400, "unsupported_agent").await;
    }
    expect_problem(server.post("/v1/agents/hal/install", json!({})).await, 400, "unsupported_agent").await;
    assert_eq!(server.get_json("/v1/sessions").await["sessions"], json!([]));
}

#[tokio::test]
async fn a_missing_agent_is_404_with_the_install_command() {
    let server = start_server().await;
    let response = server.post("/v1/sessions/s", json!({ "agent": "claude" })).await;
    let document = expect_problem(response, 404, "agent_not_installed").await;
    assert_eq!(document["agent"], "claude");
    assert_eq!(document["details"]["command"], "interlingua agents install claude");
    expect_problem(server.get("/v1/sessions/s").await, 404, "session_not_found").await;
}

#[tokio::test]
async fn an_agent_that_this_program_cannot_install_is_404_with_instructions() {
    for auto_install in [false, true] {
        let server = start_server_without_agents(RuntimeOptions::default().auto_install(auto_install)).await;
        for (agent, program) in [("goose", "goose"), ("cursor", "cursor-agent"), ("kimi", "kimi")] {
            let created = server.post("/v1/sessions/s", json!({ "agent": agent })).await;
            let modes = server.get(&format!("/v1/agents/{agent}/modes")).await;
            for response in [created, modes] {
                let document = expect_problem(response, 404, "agent_not_installed").await;
                let detail = document["detail"].as_str().unwrap();
                assert!(detail.contains(&format!("so that `{program}` is on the PATH")), "{detail}");
                assert!(!detail.contains("interlingua agents install"), "{detail}");
                assert_eq!(document.get("details"), None);
            }
            let listed = server.get_json(&format!("/v1/agents/{agent}/models")).await;
            assert_eq!(listed, json!({ "models": [], "fallback": true }));
        }
    }
}

#[tokio::test]
async fn a_session_id_that_is_taken_is_409() {
    let server = start_server().await;
    server.create("s").await;
    let response = server.post("/v1/sessions/s", json!({ "agent": "mock" })).await;
    assert_eq!(expect_problem(response, 409, "session_already_exists").await["sessionId"], "s");
}

#[tokio::test]
async fn invalid_bodies_are_400_415_or_422() {
    let server = start_server().await;
    server.create("s").await;
    let post = async |path: &str, content_type: Option<&str>, body: &str| {
        let request = server.request(Method::POST, path).body(body.to_owned());
        let request = content_type.into_iter().fold(request, |request, value| request.header("content-type", value));
        request.send().await.unwrap()
    };
    let messages = "/v1/sessions/s/messages";
    let permission = "/v1/sessions/s/permissions/p/reply";
    let json_type = Some("application/json");

    for body in ["", "{", "not json", "{\"message\":\"a\"} trailing", "\u{feff}{}"] {
        expect_problem(post(messages, json_type, body).await, 400, "invalid_request").await;
    }
    for (path, body, field) in [
        (messages, "{}", "message"),
        (messages, r#"{"message":5}"#, "message"),
        (messages, r#"{"message":"a","attachments":[{"mime":"b"}]}"#, "attachments[0]"),
        (messages, r#"{"message":"a","attachments":"b"}"#, "attachments"),
        (permission, r#"{"reply":"maybe"}"#, "reply"),
        (permission, "{}", "reply"),
        ("/v1/sessions/t", "{}", "agent"),
        ("/v1/sessions/t", r#"{"agent":1}"#, "agent"),
        ("/v1/sessions/t", r#"{"agent":"mock","env":{"A":1}}"#, "env.A"),
        ("/v1/agents/mock/install", r#"{"reinstall":"yes"}"#, "reinstall"),
    ] {
        let document = expect_problem(post(path, json_type, body).await, 422, "invalid_request").await;
        assert_eq!(document["details"]["field"], field, "{document}");
        assert!(document["detail"].as_str().unwrap().contains(field.split(['[', '.']).next().unwrap()), "{document}");
    }
    expect_problem(post(messages, json_type, "[]").await, 422, "invalid_request").await;
    for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("")] {
        expect_problem(post(messages, content_type, "{\"message\":\"a\"}").await, 415, "unsupported_media_type").await;
    }
    let accepted = post(messages, Some("Application/JSON; charset=utf-8"), "{\"message\":\"echo a\"}").await;
    assert_eq!(accepted.status(), StatusCode::NO_CONTENT);
    expect_problem(server.get("/v1/sessions/t").await, 404, "session_not_found").await;
}

#[tokio::test]
async fn a_problem_document_contains_no_secrets() {
    let server = start_server().await;
    for body in [
        json!({ "agent": "mock", "env": "s3cret-value" }),
        json!({ "agent": "mock", "env": { "KEY": ["s3cret-value"] } }),
        json!({ "agent": "mock", "env": { "KEY": "s3cret-value\u{0}" } }),
        json!({ "agent": "mock", "mcp": { "tool": { "url": "http://x", "headers": "s3cret-value" } } }),
    ] {
        let response = server.post("/v1/sessions/s", body).await;
        assert!(response.status().is_client_error());
        let (_, _, document) = crate::test_server::read_problem(response).await;
        assert!(!document.to_string().contains("s3cret"), "{document}");
    }
}

#[tokio::test]
async fn large_bodies_are_413() {
    let server = start_server().await;
    server.create("s").await;
    // Formatted by hand, because a JSON encoder would be slow for bodies of this size.
    let send = async |path: &str, mib: usize| {
        let body = format!("{{\"message\":\"echo {}\"}}", "x".repeat(mib * 1024 * 1024));
        let request = server.request(Method::POST, path).header("content-type", "application/json");
        request.body(body).send().await.unwrap()
    };
    expect_problem(send("/v1/sessions/s/messages", 32).await, 413, "payload_too_large").await;
    expect_problem(send("/v1/sessions/s/messages/stream", 33).await, 413, "payload_too_large").await;
    let title = json!({ "agent": "mock", "title": "x".repeat(2 * 1024 * 1024) });
    expect_problem(server.post("/v1/sessions/t", title).await, 413, "payload_too_large").await;
    assert_eq!(send("/v1/sessions/s/messages", 2).await.status(), StatusCode::NO_CONTENT);
    let mut stream = server.follow("s", EventQuery::default()).await;
    let events = stream.until("turn.ended").await;
    crate::test_server::check_rules(&events);
}

#[tokio::test]
async fn invalid_queries_are_400() {
    let server = start_server().await;
    server.create("s").await;
    for query in ["offset=-1", "offset=x", "limit=1.5", "include_raw=maybe", "offset=1&offset=2", "offset="] {
        expect_problem(server.get(&format!("/v1/sessions/s/events?{query}")).await, 400, "invalid_request").await;
    }
    for query in ["offset=x", "includeRaw=2"] {
        expect_problem(server.get(&format!("/v1/sessions/s/events/sse?{query}")).await, 400, "invalid_request").await;
    }
    for query in ["limit=x", "cursor=abc"] {
        expect_problem(server.get(&format!("/v1/sessions?{query}")).await, 400, "invalid_request").await;
    }
    let response = server.post("/v1/sessions/s/messages/stream?hold=perhaps", json!({ "message": "echo a" })).await;
    expect_problem(response, 400, "invalid_request").await;
    let request = server.request(Method::GET, "/v1/sessions/s/events/sse").header("last-event-id", "first");
    expect_problem(request.send().await.unwrap(), 400, "invalid_request").await;
    // The message was refused before it was queued.
    assert!(server.events("s").await.iter().all(|event| event["type"] != "turn.started"));
}

#[tokio::test]
async fn a_full_disk_is_507_and_stored_events_are_served() {
    let access = interlingua_server::Access::Loopback;
    let config = interlingua_server::ServerConfig::new(access);
    let options = interlingua_store::StoreOptions::default().max_pages(160);
    let server = start_server_with(config, options).await;
    server.create("s").await;
    server.run_turn("s", "echo before").await;
    let before = server.events("s").await;

    let long = json!({ "message": format!("echo {}", "x".repeat(1024 * 1024)) });
    let document = expect_problem(server.post("/v1/sessions/s/messages", long).await, 507, "storage_full").await;
    assert!(document["detail"].as_str().unwrap().contains("disk is full"), "{document}");
    assert_eq!(server.events("s").await, before);

    let turn = server.run_turn("s", "echo after").await;
    assert_eq!(turn.last().unwrap()["data"]["status"], "completed");
    server.events("s").await;
}

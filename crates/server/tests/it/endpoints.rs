//! Every endpoint, with the mock agent.

use interlingua_client::EventQuery;
use interlingua_server::{Access, FileRoots, ServerConfig, Token};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::test_server::{event_types, sequences, start_server, start_server_with, stores};

#[tokio::test]
async fn health_reports_the_version_and_the_store() {
    let server = start_server().await;
    let mut health = server.get_json("/v1/health").await;
    let store = health["store"].take();
    assert_eq!(health, json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION"), "store": null }));
    if stores::is_postgres() {
        assert_eq!((&store["kind"], &store["server"]), (&json!("postgres"), &json!("test-server")));
    } else {
        assert_eq!(store, json!({ "kind": "sqlite" }));
    }
}

#[tokio::test]
async fn agents_are_listed_with_their_capabilities() {
    let server = start_server().await;
    let agents = server.get_json("/v1/agents").await;
    let ids: Vec<_> = agents["agents"].as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    let (native, others) = ids.split_at(4);
    assert_eq!(native, ["claude", "codex", "opencode", "amp"]);
    let profiles: Vec<_> = interlingua_agents::AcpProfile::ALL.iter().map(|profile| profile.descriptor.id).collect();
    assert_eq!(others, [profiles.as_slice(), &["mock"]].concat());
    assert_eq!(
        (&agents["agents"][0]["name"], &agents["agents"][4]["name"]),
        (&json!("Claude Code"), &json!("Gemini CLI"))
    );
    let mock = agents["agents"].as_array().unwrap().last().unwrap();
    assert_eq!(mock["name"], "Mock");
    assert_eq!((&mock["installed"], &mock["credentialsAvailable"]), (&json!(true), &json!(true)));
    let capabilities = mock["capabilities"].as_object().unwrap();
    assert_eq!(capabilities.len(), 18);
    assert!(capabilities.iter().all(|(name, enabled)| *enabled == (name != "sharedProcess")), "{capabilities:?}");
    assert_eq!(agents["agents"][1]["capabilities"]["sharedProcess"], true);
}

#[tokio::test]
async fn the_mock_agent_has_modes_and_a_model_and_needs_no_install() {
    let server = start_server().await;
    let all_modes = server.get_json("/v1/agents/mock/modes").await;
    for mode in all_modes["modes"].as_array().unwrap() {
        assert!(mode["id"].is_string() && mode["name"].is_string() && mode["description"].is_string(), "{mode}");
    }
    let models = server.get_json("/v1/agents/mock/models").await;
    assert!(models["models"].as_array().unwrap().iter().any(|model| model["id"] == "mock"), "{models}");
    assert_eq!(models["defaultModel"], "mock");
    server.post_ok("/v1/agents/mock/install", json!({})).await;
    let empty = server.request(reqwest::Method::POST, "/v1/agents/mock/install").send().await.unwrap();
    assert_eq!(empty.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_session_can_be_created_used_ended_and_deleted() {
    let server = start_server().await;
    let directory = server.data_dir().canonicalize().unwrap().to_string_lossy().into_owned();
    let create = json!({ "agent": "mock", "title": "First", "directory": directory });
    let created = server.post("/v1/sessions/one", create).await;
    assert_eq!(created.status(), StatusCode::OK);
    let created: Value = created.json().await.unwrap();
    assert_eq!(created, json!({ "healthy": true, "nativeSessionId": "mock-one" }));

    let info = server.get_json("/v1/sessions/one").await;
    let fields: Vec<_> = info.as_object().unwrap().keys().map(String::as_str).collect();
    for field in [
        "sessionId",
        "agent",
        "agentMode",
        "permissionMode",
        "model",
        "variant",
        "nativeSessionId",
        "ended",
        "eventCount",
        "createdAt",
        "updatedAt",
        "directory",
        "title",
    ] {
        assert!(fields.contains(&field), "expected {field} in {info}");
    }
    assert_eq!((&info["sessionId"], &info["title"], &info["ended"]), (&json!("one"), &json!("First"), &json!(false)));
    assert_eq!((&info["directory"], &info["nativeSessionId"]), (&json!(directory), &json!("mock-one")));
    assert_eq!(info["variant"], Value::Null);

    server.post_ok("/v1/sessions/one/messages", json!({ "message": "echo hello" })).await;
    let mut stream = server.follow("one", EventQuery::default()).await;
    let events = stream.until("turn.ended").await;
    crate::test_server::check_rules(&events);
    assert_eq!(events[0]["type"], "session.started");

    server.post_ok("/v1/sessions/one/terminate", json!({})).await;
    server.post_ok("/v1/sessions/one/terminate", json!({})).await;
    let rest = stream.events().await;
    assert_eq!(event_types(&rest), ["session.ended"]);
    assert_eq!(rest[0]["data"], json!({ "reason": "terminated", "terminated_by": "daemon" }));
    let info = server.get_json("/v1/sessions/one").await;
    assert_eq!((&info["ended"], info["eventCount"].as_u64()), (&json!(true), Some(events.len() as u64 + 1)));

    assert_eq!(server.delete("/v1/sessions/one").await.status(), StatusCode::NO_CONTENT);
    crate::test_server::expect_problem(server.get("/v1/sessions/one").await, 404, "session_not_found").await;
    crate::test_server::expect_problem(server.delete("/v1/sessions/one").await, 404, "session_not_found").await;
    server.create("one").await;
    assert_eq!(server.get_json("/v1/sessions/one").await["ended"], false);
}

#[tokio::test]
async fn a_session_id_can_be_any_text() {
    let server = start_server().await;
    for (encoded, id) in [
        ("a%2Fb%3Fc%23d", "a/b?c#d".to_owned()),
        ("%E2%82%AC%20%25", "€ %".to_owned()),
        ("..%2F..%2Fetc%2Fpasswd", "../../etc/passwd".to_owned()),
        (&"x".repeat(256), "x".repeat(256)),
    ] {
        server.create(&id).await;
        assert_eq!(server.get_json(&format!("/v1/sessions/{encoded}")).await["sessionId"], json!(id));
        let events = server.run_turn(&id, "echo hi").await;
        assert_eq!(events[0]["session_id"], json!(id));
    }
}

#[tokio::test]
async fn sessions_are_listed_in_pages_newest_first() {
    let server = start_server().await;
    for id in ["a", "b", "c"] {
        server.create(id).await;
    }
    let ids = |page: &Value| -> Vec<String> {
        page["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["sessionId"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = server.get_json("/v1/sessions").await;
    assert_eq!(ids(&all), ["c", "b", "a"]);
    assert_eq!(all.get("nextCursor"), None);
    let first = server.get_json("/v1/sessions?limit=2").await;
    assert_eq!(ids(&first), ["c", "b"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = server.get_json(&format!("/v1/sessions?limit=2&cursor={cursor}")).await;
    assert_eq!(ids(&second), ["a"]);
    assert_eq!(second.get("nextCursor"), None);
}

#[tokio::test]
async fn messages_sent_during_a_turn_are_handled_in_order() {
    let server = start_server().await;
    server.create("queue").await;
    for word in ["one", "two", "three"] {
        server.post_ok("/v1/sessions/queue/messages", json!({ "message": format!("echo {word}") })).await;
    }
    let mut stream = server.follow("queue", EventQuery::default()).await;
    let mut events = Vec::new();
    for _ in 0..3 {
        events.extend(stream.until("turn.ended").await);
    }
    crate::test_server::check_rules(&events);
    let texts: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "item.completed" && event["data"]["item"]["role"] == "assistant")
        .map(|event| event["data"]["item"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["one", "two", "three"]);
}

#[tokio::test]
async fn permissions_are_approved_or_denied() {
    let server = start_server().await;
    server.create("p").await;
    server.post_ok("/v1/sessions/p/messages", json!({ "message": "permission" })).await;
    let mut stream = server.follow("p", EventQuery::default()).await;
    let mut events = stream.until("permission.requested").await;
    events.extend(stream.until("permission.requested").await);
    let ids: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "permission.requested")
        .map(|event| event["data"]["permission_id"].as_str().unwrap().to_owned())
        .collect();
    server.post_ok(&format!("/v1/sessions/p/permissions/{}/reply", ids[0]), json!({ "reply": "always" })).await;
    server.post_ok(&format!("/v1/sessions/p/permissions/{}/reply", ids[1]), json!({ "reply": "reject" })).await;
    events.extend(stream.until("turn.ended").await);
    crate::test_server::check_rules(&events);
    let resolved: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "permission.resolved")
        .map(|event| event["data"]["status"].as_str().unwrap())
        .collect();
    assert_eq!(resolved, ["approved", "denied"]);
    let again = server.post(&format!("/v1/sessions/p/permissions/{}/reply", ids[0]), json!({ "reply": "once" })).await;
    crate::test_server::expect_problem(again, 409, "already_resolved").await;
}

#[tokio::test]
async fn questions_are_answered_or_rejected() {
    let server = start_server().await;
    server.create("q").await;
    server.post_ok("/v1/sessions/q/messages", json!({ "message": "question" })).await;
    let mut stream = server.follow("q", EventQuery::default()).await;
    let mut events = stream.until("question.requested").await;
    events.extend(stream.until("question.requested").await);
    let questions: Vec<_> = events.iter().filter(|event| event["type"] == "question.requested").cloned().collect();
    let option = questions[0]["data"]["options"][0].clone();
    let path = |index: usize| {
        format!(
            "/v1/sessions/q/questions/{}",
            questions[index]["data"]["question_id"].as_str().unwrap().replace(':', "%3A")
        )
    };
    for answers in [json!([]), json!([["a"], ["b"]])] {
        let refused = server.post(&format!("{}/reply", path(0)), json!({ "answers": answers })).await;
        let document = crate::test_server::expect_problem(refused, 422, "invalid_request").await;
        assert_eq!(document["details"]["field"], "answers");
    }
    server.post_ok(&format!("{}/reply", path(0)), json!({ "answers": [[option]] })).await;
    server.post_ok(&format!("{}/reject", path(1)), json!({})).await;
    events.extend(stream.until("turn.ended").await);
    crate::test_server::check_rules(&events);
    let again = server.post(&format!("{}/reject", path(1)), json!({})).await;
    crate::test_server::expect_problem(again, 409, "already_resolved").await;
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_not_the_session() {
    let server = start_server().await;
    server.create("i").await;
    server.post_ok("/v1/sessions/i/messages", json!({ "message": "permission" })).await;
    let mut stream = server.follow("i", EventQuery::default()).await;
    let mut events = stream.until("permission.requested").await;
    server.post_ok("/v1/sessions/i/interrupt", json!({})).await;
    events.extend(stream.until("turn.ended").await);
    assert_eq!(events.last().unwrap()["data"]["status"], "interrupted");
    server.post_ok("/v1/sessions/i/interrupt", json!({})).await;
    server.post_ok("/v1/sessions/i/messages", json!({ "message": "echo on we go" })).await;
    events.extend(stream.until("turn.ended").await);
    assert_eq!(events.last().unwrap()["data"]["status"], "completed");
    crate::test_server::check_rules(&events);
}

#[tokio::test]
async fn the_demo_has_every_event_type_and_breaks_no_rule() {
    let server = start_server().await;
    server.create("demo").await;
    server.post_ok("/v1/sessions/demo/messages", json!({ "message": "demo" })).await;
    let mut stream = server.follow("demo", EventQuery::default()).await;
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &Value| event["type"] != "turn.ended") {
        let event = stream.event().await.unwrap();
        let data = &event["data"];
        match event["type"].as_str().unwrap() {
            "permission.requested" => {
                let path = format!("/v1/sessions/demo/permissions/{}/reply", data["permission_id"].as_str().unwrap());
                server.post_ok(&path, json!({ "reply": "once" })).await;
            }
            "question.requested" => {
                let id = data["question_id"].as_str().unwrap().replace(':', "%3A");
                let answers = json!({ "answers": [[data["options"][0]]] });
                server.post_ok(&format!("/v1/sessions/demo/questions/{id}/reply"), answers).await;
            }
            "session.ended" => {
                events.push(event);
                break;
            }
            _ => {}
        }
        events.push(event);
    }
    server.post_ok("/v1/sessions/demo/terminate", json!({})).await;
    let events = server.events("demo").await;
    for kind in [
        "session.started",
        "turn.started",
        "item.started",
        "item.delta",
        "item.completed",
        "permission.requested",
        "permission.resolved",
        "question.requested",
        "question.resolved",
        "error",
        "agent.unparsed",
        "turn.ended",
        "session.ended",
    ] {
        assert!(event_types(&events).contains(&kind), "{kind}");
    }
    assert_eq!(sequences(&events), (1..=events.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_documents_match_the_server() {
    let access = Access::Token(Token::new(crate::test_server::TOKEN).unwrap());
    let config = ServerConfig::new(access).files(Some(FileRoots::default()));
    let server = start_server_with(config, interlingua_store::StoreOptions::default()).await;
    let openapi = server.get_json("/v1/openapi.json").await;
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        let concrete = path.replace("{id}", "unknown").replace("{agent}", "unknown").replace("{request}", "unknown");
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase().parse().unwrap();
            let response = server.request(method, &concrete).send().await.unwrap();
            assert_ne!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
            if response.status() == StatusCode::NOT_FOUND {
                let (_, kind, _) = crate::test_server::read_problem(response).await;
                assert_ne!(kind, "not_found", "{path} is documented but does not exist");
            }
        }
    }
    let schema = server.get_json("/v1/schema.json").await;
    assert_eq!(&schema, interlingua_schema::json_schema().as_value());
}

#[tokio::test]
async fn metrics_count_requests_streams_and_events() {
    let server = start_server().await;
    server.create("m").await;
    server.run_turn("m", "echo hi").await;
    let _open = server.follow("m", EventQuery::default()).await;
    let response = server.get("/metrics").await;
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    let text = response.text().await.unwrap();
    for line in [
        r#"interlingua_http_requests_total{method="POST",route="/v1/sessions/{id}",status="200"} 1"#,
        "interlingua_open_streams 1",
        "# TYPE interlingua_http_request_duration_seconds histogram",
        r#"interlingua_http_request_duration_seconds_count{method="POST",route="/v1/sessions/{id}"} 1"#,
        r#"interlingua_sessions{agent="mock",state="idle"} 1"#,
        "interlingua_queued_messages 0",
        "interlingua_working_sessions 0",
        r#"interlingua_turns_total{agent="mock",status="completed"} 1"#,
        r#"interlingua_turn_duration_seconds_bucket{agent="mock",le="+Inf"} 1"#,
        "interlingua_message_wait_seconds_count 1",
        "interlingua_draining 0",
    ] {
        assert!(text.lines().any(|found| found == line), "expected {line} in:\n{text}");
    }
    let number = |name: &str| -> f64 {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("no {name} in:\n{text}")).parse().unwrap()
    };
    for name in ["interlingua_store_bytes", "interlingua_store_lag_seconds", "interlingua_disk_free_bytes"] {
        assert!(number(name) > 0.0, "{name}");
    }
    let events = text.lines().find_map(|line| line.strip_prefix("interlingua_events_total ")).unwrap();
    assert_eq!(events.parse::<usize>().unwrap(), server.events("m").await.len());
}

#[tokio::test]
async fn an_uploaded_file_is_an_attachment_until_its_session_is_deleted() {
    let server = start_server().await;
    server.post("/v1/sessions/s", json!({ "agent": "mock" })).await;
    let upload = |session: &'static str, name: &'static str, content: Vec<u8>| {
        server.client.upload_attachment(session, name, Some("image/png"), content)
    };
    let file = upload("s", "a shot.png", vec![0, 159, 146]).await.unwrap();
    assert_eq!((file.mime.as_deref(), file.filename.as_deref()), (Some("image/png"), Some("a shot.png")));
    assert_eq!(std::fs::read(&file.path).unwrap(), [0, 159, 146]);
    server.post_ok("/v1/sessions/s/messages", json!({ "message": "echo hi", "attachments": [file] })).await;

    for (session, name, bytes, status, kind) in [
        ("s", "../x", 1, 400, "invalid_request"),
        ("s", "", 1, 400, "invalid_request"),
        ("s", "large", (32 << 20) + 1, 413, "payload_too_large"),
        ("none", "x", 1, 404, "session_not_found"),
    ] {
        let error = upload(session, name, vec![0; bytes]).await.unwrap_err();
        let problem = error.problem().unwrap();
        assert_eq!((problem.status, problem.kind()), (status, kind), "{session} {name}");
    }
    server.client.terminate("s").await.unwrap();
    assert_eq!(upload("s", "late", vec![0]).await.unwrap_err().problem().unwrap().kind(), "session_ended");
    server.client.delete_session("s").await.unwrap();
    assert!(!std::path::Path::new(&file.path).exists());
}

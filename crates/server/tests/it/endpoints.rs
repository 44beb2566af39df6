//! Every endpoint does what it says.

use interlingua_client::EventQuery;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::served::{kinds, sequences, served};

#[tokio::test]
async fn health_and_version() {
    let served = served().await;
    assert_eq!(served.json("/v1/health").await, json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") }));
}

#[tokio::test]
async fn agents_are_listed_with_what_they_can_do() {
    let served = served().await;
    let agents = served.json("/v1/agents").await;
    let ids: Vec<_> = agents["agents"].as_array().unwrap().iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["claude", "codex", "opencode", "amp", "mock"]);
    let mock = &agents["agents"][4];
    assert_eq!((&mock["installed"], &mock["credentialsAvailable"]), (&json!(true), &json!(true)));
    let capabilities = mock["capabilities"].as_object().unwrap();
    assert_eq!(capabilities.len(), 18);
    assert!(capabilities.iter().all(|(name, able)| *able == (name != "sharedProcess")), "{capabilities:?}");
    assert_eq!(agents["agents"][1]["capabilities"]["sharedProcess"], true);
}

#[tokio::test]
async fn the_mock_agent_has_modes_and_a_model_and_needs_no_install() {
    let served = served().await;
    let all_modes = served.json("/v1/agents/mock/modes").await;
    for mode in all_modes["modes"].as_array().unwrap() {
        assert!(mode["id"].is_string() && mode["name"].is_string() && mode["description"].is_string(), "{mode}");
    }
    let models = served.json("/v1/agents/mock/models").await;
    assert!(models["models"].as_array().unwrap().iter().any(|model| model["id"] == "mock"), "{models}");
    assert_eq!(models["defaultModel"], "mock");
    served.act("/v1/agents/mock/install", json!({})).await;
    let empty = served.request(reqwest::Method::POST, "/v1/agents/mock/install").send().await.unwrap();
    assert_eq!(empty.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_session_from_creation_to_deletion() {
    let served = served().await;
    let folder = served.folder().canonicalize().unwrap().to_string_lossy().into_owned();
    let create = json!({ "agent": "mock", "title": "First", "directory": folder, "somethingElse": 1 });
    let created = served.post("/v1/sessions/one", create).await;
    assert_eq!(created.status(), StatusCode::OK);
    let created: Value = created.json().await.unwrap();
    assert_eq!(created, json!({ "healthy": true, "nativeSessionId": "mock-one" }));

    let info = served.json("/v1/sessions/one").await;
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
        assert!(fields.contains(&field), "{field} is not in {info}");
    }
    assert_eq!((&info["sessionId"], &info["title"], &info["ended"]), (&json!("one"), &json!("First"), &json!(false)));
    assert_eq!((&info["directory"], &info["nativeSessionId"]), (&json!(folder), &json!("mock-one")));
    assert_eq!(info["variant"], Value::Null);

    served.act("/v1/sessions/one/messages", json!({ "message": "echo hello" })).await;
    let mut stream = served.follow("one", EventQuery::default()).await;
    let events = stream.until("turn.ended").await;
    crate::served::check(&events);
    assert_eq!(events[0]["type"], "session.started");

    served.act("/v1/sessions/one/terminate", json!({})).await;
    served.act("/v1/sessions/one/terminate", json!({})).await;
    let rest = stream.events().await;
    assert_eq!(kinds(&rest), ["session.ended"]);
    assert_eq!(rest[0]["data"], json!({ "reason": "terminated", "terminated_by": "daemon" }));
    let info = served.json("/v1/sessions/one").await;
    assert_eq!((&info["ended"], info["eventCount"].as_u64()), (&json!(true), Some(events.len() as u64 + 1)));

    assert_eq!(served.delete("/v1/sessions/one").await.status(), StatusCode::NO_CONTENT);
    crate::served::refused(served.get("/v1/sessions/one").await, 404, "session_not_found").await;
    crate::served::refused(served.delete("/v1/sessions/one").await, 404, "session_not_found").await;
    served.create("one").await;
    assert_eq!(served.json("/v1/sessions/one").await["ended"], false);
}

#[tokio::test]
async fn a_session_id_is_any_text_that_can_be_written_in_a_path() {
    let served = served().await;
    for (encoded, id) in [
        ("a%2Fb%3Fc%23d", "a/b?c#d".to_owned()),
        ("%E2%82%AC%20%25", "€ %".to_owned()),
        ("..%2F..%2Fetc%2Fpasswd", "../../etc/passwd".to_owned()),
        (&"x".repeat(256), "x".repeat(256)),
    ] {
        served.create(&id).await;
        assert_eq!(served.json(&format!("/v1/sessions/{encoded}")).await["sessionId"], json!(id));
        let events = served.turn(&id, "echo hi").await;
        assert_eq!(events[0]["session_id"], json!(id));
    }
}

#[tokio::test]
async fn sessions_are_listed_newest_first_a_page_at_a_time() {
    let served = served().await;
    for id in ["a", "b", "c"] {
        served.create(id).await;
    }
    let ids = |page: &Value| -> Vec<String> {
        page["sessions"].as_array().unwrap().iter().map(|one| one["sessionId"].as_str().unwrap().to_owned()).collect()
    };
    let all = served.json("/v1/sessions").await;
    assert_eq!(ids(&all), ["c", "b", "a"]);
    assert_eq!(all.get("nextCursor"), None);
    let first = served.json("/v1/sessions?limit=2").await;
    assert_eq!(ids(&first), ["c", "b"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = served.json(&format!("/v1/sessions?limit=2&cursor={cursor}")).await;
    assert_eq!(ids(&second), ["a"]);
    assert_eq!(second.get("nextCursor"), None);
}

#[tokio::test]
async fn messages_that_come_during_a_turn_are_taken_in_order() {
    let served = served().await;
    served.create("queue").await;
    for word in ["one", "two", "three"] {
        served.act("/v1/sessions/queue/messages", json!({ "message": format!("echo {word}") })).await;
    }
    let mut stream = served.follow("queue", EventQuery::default()).await;
    let mut events = Vec::new();
    for _ in 0..3 {
        events.extend(stream.until("turn.ended").await);
    }
    crate::served::check(&events);
    let said: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "item.completed" && event["data"]["item"]["role"] == "assistant")
        .map(|event| event["data"]["item"]["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["one", "two", "three"]);
}

#[tokio::test]
async fn permissions_are_replied_to() {
    let served = served().await;
    served.create("p").await;
    served.act("/v1/sessions/p/messages", json!({ "message": "permission" })).await;
    let mut stream = served.follow("p", EventQuery::default()).await;
    let mut events = stream.until("permission.requested").await;
    events.extend(stream.until("permission.requested").await);
    let asked: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "permission.requested")
        .map(|event| event["data"]["permission_id"].as_str().unwrap().to_owned())
        .collect();
    served.act(&format!("/v1/sessions/p/permissions/{}/reply", asked[0]), json!({ "reply": "always" })).await;
    served.act(&format!("/v1/sessions/p/permissions/{}/reply", asked[1]), json!({ "reply": "reject" })).await;
    events.extend(stream.until("turn.ended").await);
    crate::served::check(&events);
    let resolved: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "permission.resolved")
        .map(|event| event["data"]["status"].as_str().unwrap())
        .collect();
    assert_eq!(resolved, ["approved", "denied"]);
    let again =
        served.post(&format!("/v1/sessions/p/permissions/{}/reply", asked[0]), json!({ "reply": "once" })).await;
    crate::served::refused(again, 409, "already_resolved").await;
}

#[tokio::test]
async fn questions_are_answered_or_rejected() {
    let served = served().await;
    served.create("q").await;
    served.act("/v1/sessions/q/messages", json!({ "message": "question" })).await;
    let mut stream = served.follow("q", EventQuery::default()).await;
    let mut events = stream.until("question.requested").await;
    events.extend(stream.until("question.requested").await);
    let asked: Vec<_> = events.iter().filter(|event| event["type"] == "question.requested").cloned().collect();
    let option = asked[0]["data"]["options"][0].clone();
    let path = |index: usize| {
        format!(
            "/v1/sessions/q/questions/{}",
            asked[index]["data"]["question_id"].as_str().unwrap().replace(':', "%3A")
        )
    };
    for wrong in [json!([]), json!([["a"], ["b"]])] {
        let refused = served.post(&format!("{}/reply", path(0)), json!({ "answers": wrong })).await;
        let document = crate::served::refused(refused, 422, "invalid_request").await;
        assert_eq!(document["details"]["field"], "answers");
    }
    served.act(&format!("{}/reply", path(0)), json!({ "answers": [[option]] })).await;
    served.act(&format!("{}/reject", path(1)), json!({})).await;
    events.extend(stream.until("turn.ended").await);
    crate::served::check(&events);
    let again = served.post(&format!("{}/reject", path(1)), json!({})).await;
    crate::served::refused(again, 409, "already_resolved").await;
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_not_the_session() {
    let served = served().await;
    served.create("i").await;
    served.act("/v1/sessions/i/messages", json!({ "message": "permission" })).await;
    let mut stream = served.follow("i", EventQuery::default()).await;
    let mut events = stream.until("permission.requested").await;
    served.act("/v1/sessions/i/interrupt", json!({})).await;
    events.extend(stream.until("turn.ended").await);
    assert_eq!(events.last().unwrap()["data"]["status"], "interrupted");
    served.act("/v1/sessions/i/interrupt", json!({})).await;
    served.act("/v1/sessions/i/messages", json!({ "message": "echo on we go" })).await;
    events.extend(stream.until("turn.ended").await);
    assert_eq!(events.last().unwrap()["data"]["status"], "completed");
    crate::served::check(&events);
}

#[tokio::test]
async fn the_demo_shows_every_event_type_and_keeps_every_rule() {
    let served = served().await;
    served.create("demo").await;
    served.act("/v1/sessions/demo/messages", json!({ "message": "demo" })).await;
    let mut stream = served.follow("demo", EventQuery::default()).await;
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &Value| event["type"] != "turn.ended") {
        let event = stream.event().await.unwrap();
        let data = &event["data"];
        match event["type"].as_str().unwrap() {
            "permission.requested" => {
                let path = format!("/v1/sessions/demo/permissions/{}/reply", data["permission_id"].as_str().unwrap());
                served.act(&path, json!({ "reply": "once" })).await;
            }
            "question.requested" => {
                let id = data["question_id"].as_str().unwrap().replace(':', "%3A");
                let answers = json!({ "answers": [[data["options"][0]]] });
                served.act(&format!("/v1/sessions/demo/questions/{id}/reply"), answers).await;
            }
            "session.ended" => {
                events.push(event);
                break;
            }
            _ => {}
        }
        events.push(event);
    }
    served.act("/v1/sessions/demo/terminate", json!({})).await;
    let events = served.events("demo").await;
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
        assert!(kinds(&events).contains(&kind), "{kind}");
    }
    assert_eq!(sequences(&events), (1..=events.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_documents_describe_what_is_there() {
    let served = served().await;
    let openapi = served.json("/v1/openapi.json").await;
    assert!(openapi["openapi"].as_str().unwrap().starts_with("3.1"));
    for (path, methods) in openapi["paths"].as_object().unwrap() {
        let concrete = path.replace("{id}", "nobody").replace("{agent}", "nobody").replace("{request}", "nothing");
        for method in methods.as_object().unwrap().keys() {
            let method = method.to_uppercase().parse().unwrap();
            let response = served.request(method, &concrete).send().await.unwrap();
            assert_ne!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
            if response.status() == StatusCode::NOT_FOUND {
                let (_, kind, _) = crate::served::problem(response).await;
                assert_ne!(kind, "not_found", "{path} is described but not there");
            }
        }
    }
    let schema = served.json("/v1/schema.json").await;
    assert_eq!(&schema, interlingua_schema::json_schema().as_value());
}

#[tokio::test]
async fn metrics_count() {
    let served = served().await;
    served.create("m").await;
    served.turn("m", "echo hi").await;
    let _open = served.follow("m", EventQuery::default()).await;
    let response = served.get("/metrics").await;
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    let text = response.text().await.unwrap();
    for line in [
        r#"interlingua_http_requests_total{method="POST",route="/v1/sessions/{id}",status="200"} 1"#,
        "interlingua_open_streams 1",
    ] {
        assert!(text.lines().any(|written| written == line), "{line} is not in\n{text}");
    }
    let events = text.lines().find_map(|line| line.strip_prefix("interlingua_events_total ")).unwrap();
    assert_eq!(events.parse::<usize>().unwrap(), served.events("m").await.len());
}

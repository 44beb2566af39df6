//! What sessions are doing, their labels, their list, and changing them.

use std::collections::BTreeMap;

use interlingua_client::{CreateSessionRequest, EventQuery, MessageRequest, PermissionAnswer, SessionQuery, TurnQuery};
use reqwest::Method;
use serde_json::{Value, json};

use crate::test_server::{TestServer, expect_problem, start_server};

async fn patch(server: &TestServer, id: &str, body: Value) -> reqwest::Response {
    server.request(Method::PATCH, &format!("/v1/sessions/{id}")).json(&body).send().await.unwrap()
}

async fn listed(server: &TestServer, query: &str) -> Vec<String> {
    let list = server.get_json(&format!("/v1/sessions?{query}")).await;
    let sessions = list["sessions"].as_array().unwrap();
    assert!(list["total"].as_u64().unwrap() >= sessions.len() as u64, "{list}");
    sessions.iter().map(|session| session["sessionId"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_session_shows_what_it_waits_for() {
    let server = start_server().await;
    server.create("s").await;
    let idle = server.get_json("/v1/sessions/s").await;
    assert_eq!((&idle["state"], &idle["pending"], &idle["queued"]), (&json!("idle"), &json!([]), &json!(0)));
    assert_eq!((&idle["labels"], &idle["usage"]), (&json!({}), &Value::Null));
    assert_eq!((&idle["agentMode"], &idle["model"]), (&json!("build"), &json!("mock")));
    assert!(idle.get("lastTurnStatus").is_none() && idle.get("secretsMissing").is_none(), "{idle}");

    let turn = server.stream_turn("s", "permission", TurnQuery::default()).await.events().await;
    server.client.send_message("s", &MessageRequest::new("question")).await.unwrap();
    let waiting = server.get_json("/v1/sessions/s").await;
    assert_eq!((&waiting["state"], &waiting["queued"]), (&json!("waiting"), &json!(1)));
    let requested: Vec<&Value> = turn.iter().filter(|event| event["type"] == "permission.requested").collect();
    for (pending, event) in waiting["pending"].as_array().unwrap().iter().zip(&requested) {
        let mut expected = event["data"].clone();
        expected["kind"] = "permission".into();
        assert_eq!(*pending, expected);
    }
    assert_eq!(listed(&server, "state=waiting").await, ["s"]);
    assert_eq!(listed(&server, "state=idle").await, [""; 0]);

    let mut stream = server.follow("s", EventQuery::default()).await;
    for request in server.client.session("s").await.unwrap().pending {
        server.client.reply_permission("s", request.id().unwrap(), PermissionAnswer::Once).await.unwrap();
    }
    stream.until("question.requested").await;
    let waiting = server.get_json("/v1/sessions/s").await;
    assert_eq!((&waiting["lastTurnStatus"], &waiting["queued"]), (&json!("completed"), &json!(0)));
    assert_eq!(waiting["pending"][0]["kind"], "question");
    assert!(waiting["pending"][0]["question_id"].is_string(), "{waiting}");
    assert!(waiting["usage"]["input_tokens"].is_u64(), "{waiting}");

    server.client.terminate("s").await.unwrap();
    let ended = server.get_json("/v1/sessions/s").await;
    assert_eq!((&ended["state"], &ended["pending"]), (&json!("ended"), &json!([])));
}

#[tokio::test]
async fn the_usage_is_the_sum_of_all_turns() {
    let server = start_server().await;
    server.create("s").await;
    let mut expected = 0;
    for _ in 0..3 {
        let turn = server.run_turn("s", "echo hello").await;
        expected += turn.last().unwrap()["data"]["usage"]["output_tokens"].as_u64().unwrap();
    }
    let session = server.get_json("/v1/sessions/s").await;
    assert_eq!(session["usage"]["output_tokens"], expected);
}

#[tokio::test]
async fn a_list_is_filtered_and_counted() {
    let server = start_server().await;
    let directory = server.data_dir().canonicalize().unwrap().to_string_lossy().into_owned();
    for (id, title, team) in [("a", "Fix build", "core"), ("b", "Write docs", "web"), ("c", "Fix docs", "core")] {
        let mut create = CreateSessionRequest::new("mock");
        create.title = Some(title.to_owned());
        create.labels = BTreeMap::from([("team".to_owned(), team.to_owned()), (id.to_owned(), String::new())]);
        if id == "a" {
            create.directory = Some(directory.clone());
        }
        server.client.create_session(id, &create).await.unwrap();
    }
    let before = server.get_json("/v1/sessions/c").await["createdAt"].as_i64().unwrap() + 60_000;
    for (query, expected) in [
        (String::new(), vec!["c", "b", "a"]),
        ("agent=mock".to_owned(), vec!["c", "b", "a"]),
        ("agent=claude".to_owned(), vec![]),
        ("agent=no-such-agent".to_owned(), vec![]),
        ("agent=&label=&q=&directory=&state=&since=".to_owned(), vec!["c", "b", "a"]),
        ("label=&label=a".to_owned(), vec!["a"]),
        ("label=team%3Dcore".to_owned(), vec!["c", "a"]),
        ("label=team%3Dcore&label=a".to_owned(), vec!["a"]),
        ("label=team".to_owned(), vec!["c", "b", "a"]),
        ("q=FIX".to_owned(), vec!["c", "a"]),
        ("q=%25".to_owned(), vec![]),
        (format!("directory={directory}/"), vec!["a"]),
        ("since=0".to_owned(), vec!["c", "b", "a"]),
        ("since=2001-02-03T04:05:06Z".to_owned(), vec!["c", "b", "a"]),
        (format!("since={before}"), vec![]),
        ("state=idle&q=docs&limit=1".to_owned(), vec!["c"]),
    ] {
        assert_eq!(listed(&server, &query).await, expected, "{query}");
    }
    let mut query = SessionQuery::default();
    (query.labels, query.limit) = (vec!["team=core".to_owned()], Some(1));
    let first = server.client.sessions(&query).await.unwrap();
    assert_eq!((first.sessions[0].session_id.as_str(), first.total), ("c", 2));
    query.cursor = first.next_cursor;
    let second = server.client.sessions(&query).await.unwrap();
    assert_eq!((second.sessions[0].session_id.as_str(), second.total, second.next_cursor), ("a", 2, None));

    for query in ["state=busy", "since=yesterday", "limit=x", "cursor=x"] {
        expect_problem(server.get(&format!("/v1/sessions?{query}")).await, 400, "invalid_request").await;
    }
}

#[tokio::test]
async fn a_list_without_a_limit_is_complete() {
    let server = start_server().await;
    for number in 0..600 {
        server.create(&format!("s{number}")).await;
    }
    let all = listed(&server, "").await;
    assert_eq!(all.len(), 600);
    assert_eq!((all[0].as_str(), all[599].as_str()), ("s599", "s0"));
    assert_eq!(server.get_json("/v1/sessions?limit=10").await["total"], 600);

    for _ in 0..200 {
        server.client.send_message("s0", &MessageRequest::new("markdown")).await.unwrap();
    }
    let mut stream = server.follow("s0", EventQuery::default()).await;
    for _ in 0..200 {
        stream.until("turn.ended").await;
    }
    let page = server.get_json("/v1/sessions/s0/events").await;
    let count = server.client.session("s0").await.unwrap().event_count;
    assert!(count > 1000, "only {count} events");
    assert_eq!((page["events"].as_array().unwrap().len() as u64, &page["hasMore"]), (count, &json!(false)));
}

#[tokio::test]
async fn a_patch_changes_what_it_names() {
    let server = start_server().await;
    let create = json!({ "agent": "mock", "title": "Old", "labels": { "a": "1", "b": "2" } });
    assert_eq!(server.post("/v1/sessions/s", create).await.status(), 200);
    let changed: Value = patch(&server, "s", json!({ "labels": { "a": null, "c": "3" } })).await.json().await.unwrap();
    assert_eq!((&changed["title"], &changed["labels"]), (&json!("Old"), &json!({ "b": "2", "c": "3" })));
    let changed: Value = patch(&server, "s", json!({ "title": null })).await.json().await.unwrap();
    assert_eq!((&changed["title"], &changed["labels"]), (&Value::Null, &json!({ "b": "2", "c": "3" })));
    let body = json!({ "title": "New", "permissionMode": "bypass", "model": "mock" });
    let changed: Value = patch(&server, "s", body).await.json().await.unwrap();
    assert_eq!((&changed["title"], &changed["permissionMode"]), (&json!("New"), &json!("bypass")));
    // The agent works in the new mode: it does not ask.
    let turn = server.run_turn("s", "permission").await;
    assert!(turn.iter().all(|event| event["type"] != "permission.requested"), "{turn:?}");

    for (body, status, kind) in [
        (json!({ "model": "gpt" }), 400, "invalid_request"),
        (json!({ "permissionMode": "root" }), 400, "mode_not_supported"),
        (json!({ "labels": { "": "x" } }), 400, "invalid_request"),
        (json!({ "title": 1 }), 422, "invalid_request"),
        (json!({ "labels": ["x"] }), 422, "invalid_request"),
    ] {
        expect_problem(patch(&server, "s", body).await, status, kind).await;
    }
    expect_problem(patch(&server, "none", json!({})).await, 404, "session_not_found").await;
    assert_eq!(server.get_json("/v1/sessions/s").await["title"], "New");
}

#[tokio::test]
async fn what_the_agent_cannot_change_while_it_works_is_refused_as_a_whole() {
    let server = start_server().await;
    server.create("s").await;
    server.stream_turn("s", "permission", TurnQuery::default()).await.events().await;
    let refused = patch(&server, "s", json!({ "title": "New", "permissionMode": "bypass" })).await;
    let problem = expect_problem(refused, 409, "change_refused").await;
    assert!(problem["detail"].as_str().unwrap().contains("interrupt the turn"), "{problem}");
    let session = server.get_json("/v1/sessions/s").await;
    assert_eq!((&session["title"], &session["permissionMode"]), (&Value::Null, &json!("default")));
    // Labels and the title do not concern the agent, nor does what it has already.
    for (unchanged, title) in [
        (json!({}), "One"),
        (json!({ "permissionMode": "default" }), "Two"),
        (json!({ "permissionMode": null, "model": null }), "Three"),
        (json!({ "permissionMode": "default", "model": "mock" }), "Four"),
        (json!({ "model": "mock" }), "Five"),
    ] {
        let mut body = json!({ "title": title, "labels": { "x": "y" } });
        body.as_object_mut().unwrap().extend(unchanged.as_object().unwrap().clone());
        let response = patch(&server, "s", body.clone()).await;
        assert_eq!(response.status(), 200, "{body}");
        let changed: Value = response.json().await.unwrap();
        assert_eq!((&changed["title"], &changed["model"]), (&json!(title), &json!("mock")));
    }

    server.client.terminate("s").await.unwrap();
    assert_eq!(patch(&server, "s", json!({ "labels": { "x": null } })).await.status(), 200);
    expect_problem(patch(&server, "s", json!({ "permissionMode": "plan" })).await, 409, "session_ended").await;
}

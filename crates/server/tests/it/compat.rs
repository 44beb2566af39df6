//! `--compat sandbox-agent`: every method of the SDK of sandbox-agent 0.1, as its requests on the wire.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlingua_server::{Access, Compat, FileRoots, ServerConfig, Token};
use interlingua_store::StoreOptions;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::test_server::{TOKEN, TestServer, start_server_with};

/// A server that answers as sandbox-agent.
struct OldServer {
    server: TestServer,
    root: PathBuf,
    _folder: TempDir,
}

async fn start_old_server() -> OldServer {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let config = ServerConfig::new(Access::Token(Token::new(TOKEN).unwrap()))
        .compat(Some(Compat::SandboxAgent))
        .files(Some(FileRoots::new([&root]).unwrap()));
    OldServer { server: start_server_with(config, StoreOptions::default()).await, root, _folder: folder }
}

impl OldServer {
    /// Sends a request as the SDK does. A body that is null is none.
    async fn send(&self, method: Method, path: &str, body: Value) -> Response {
        let request = self.server.request(method, path).header("accept", "application/json");
        let request = if body.is_null() { request } else { request.json(&body) };
        request.send().await.unwrap()
    }

    async fn json(&self, method: Method, path: &str, body: Value) -> Value {
        let response = self.send(method, path, body).await;
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    async fn empty(&self, path: &str, body: Value) {
        let response = self.send(Method::POST, path, body).await;
        let status = response.status();
        assert_eq!((status.as_u16(), response.text().await.unwrap().as_str()), (204, ""), "{path}");
    }

    /// Expects an error document with this status, kind and title.
    async fn error(&self, response: Response, status: u16, kind: &str, title: &str) -> Value {
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(response.status(), status, "{kind}");
        let document: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(document["type"], format!("urn:sandbox-agent:error:{kind}"), "{document}");
        assert_eq!((&document["title"], &document["status"]), (&json!(title), &json!(status)), "{document}");
        assert!(document["detail"].is_string(), "{document}");
        document
    }

    async fn create(&self, id: &str) {
        let created = self.json(Method::POST, &format!("/v1/sessions/{id}"), json!({ "agent": "mock" })).await;
        assert_eq!(created, json!({ "healthy": true, "nativeSessionId": format!("mock-{id}") }));
    }

    /// Reads a stream as the SDK does: blocks between empty lines, of which only `data:` lines count.
    async fn read_stream(&self, response: Response, last: &str) -> Vec<Value> {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        let (mut response, mut text, mut events) = (response, String::new(), Vec::new());
        loop {
            while let Some((block, rest)) = text.split_once("\n\n") {
                let data: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("data:")).collect();
                if !data.is_empty() {
                    events.push(serde_json::from_str::<Value>(data.join("\n").trim()).unwrap());
                }
                text = rest.to_owned();
            }
            if events.last().is_some_and(|event| event["type"] == last) {
                return events;
            }
            match response.chunk().await.unwrap() {
                Some(piece) => text.push_str(std::str::from_utf8(&piece).unwrap()),
                None => return events,
            }
        }
    }

    async fn events(&self, id: &str) -> Vec<Value> {
        let page = self.json(Method::GET, &format!("/v1/sessions/{id}/events?offset=0"), Value::Null).await;
        page["events"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn health_agents_modes_models_and_install() {
    let old = start_old_server().await;
    assert_eq!(old.json(Method::GET, "/v1/health", Value::Null).await["status"], "ok");
    let agents = old.json(Method::GET, "/v1/agents", Value::Null).await;
    let agents = agents["agents"].as_array().unwrap();
    let ids: Vec<&str> = agents.iter().map(|agent| agent["id"].as_str().unwrap()).collect();
    assert!(ids.starts_with(&["claude", "codex", "opencode", "amp"]) && ids.ends_with(&["mock"]), "{ids:?}");
    for agent in agents {
        assert!(agent["installed"].is_boolean() && agent["credentialsAvailable"].is_boolean(), "{agent}");
        for capability in [
            "planMode",
            "permissions",
            "questions",
            "toolCalls",
            "toolResults",
            "textMessages",
            "images",
            "fileAttachments",
            "sessionLifecycle",
            "errorEvents",
            "reasoning",
            "status",
            "commandExecution",
            "fileChanges",
            "mcpTools",
            "streamingDeltas",
            "itemStarted",
            "sharedProcess",
        ] {
            assert!(agent["capabilities"][capability].is_boolean(), "{capability}: {agent}");
        }
    }
    old.empty("/v1/agents/mock/install", json!({})).await;
    old.empty("/v1/agents/mock/install", json!({ "reinstall": true, "unknown": 1 })).await;
    let answer = old.json(Method::GET, "/v1/agents/claude/modes", Value::Null).await;
    assert!(
        answer["modes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|mode| { mode["id"].is_string() && mode["name"].is_string() && mode["description"].is_string() })
    );
    for (agent, model, default) in [
        ("mock", "mock", Some("mock")),
        ("claude", "sonnet", Some("default")),
        ("codex", "gpt-5.5", None),
        ("amp", "amp-default", Some("amp-default")),
    ] {
        let models = old.json(Method::GET, &format!("/v1/agents/{agent}/models"), Value::Null).await;
        assert!(models["models"].as_array().unwrap().iter().any(|known| known["id"] == model), "{agent}: {models}");
        assert_eq!(models["defaultModel"].as_str(), default, "{agent}");
    }
    let unknown = old.send(Method::GET, "/v1/agents/none/modes", Value::Null).await;
    let document = old.error(unknown, 400, "unsupported_agent", "Unsupported Agent").await;
    assert_eq!(document["agent"], "none");
}

#[tokio::test]
async fn sessions_are_created_listed_and_terminated() {
    let old = start_old_server().await;
    // Fields that are not known are ignored.
    let create = json!({
        "agent": "mock", "agentMode": "plan", "permissionMode": "acceptEdits", "model": "mock", "title": "Title",
        "directory": old.root, "permission_mode": "plan", "later": { "field": true },
    });
    let created = old.json(Method::POST, "/v1/sessions/s", create).await;
    assert_eq!(created, json!({ "healthy": true, "nativeSessionId": "mock-s" }));
    let started = &old.events("s").await[0];
    assert_eq!(started["type"], "session.started");
    assert_eq!(
        started["data"]["metadata"],
        json!({ "agent": "mock", "agentMode": "plan", "permissionMode": "default", "model": "mock", "variant": null })
    );
    let sessions = old.json(Method::GET, "/v1/sessions?unknown=1", Value::Null).await;
    let session = &sessions["sessions"][0];
    for (name, value) in [
        ("sessionId", json!("s")),
        ("agent", json!("mock")),
        ("agentMode", json!("plan")),
        ("permissionMode", json!("default")),
        ("model", json!("mock")),
        ("variant", json!(null)),
        ("nativeSessionId", json!("mock-s")),
        ("ended", json!(false)),
        ("eventCount", json!(1)),
        ("directory", json!(old.root)),
        ("title", json!("Title")),
    ] {
        assert_eq!(session.get(name), Some(&value), "{name}: {session}");
    }
    assert!(session["createdAt"].is_i64() && session["updatedAt"].is_i64());

    let again = old.send(Method::POST, "/v1/sessions/s", json!({ "agent": "mock" })).await;
    let document = old.error(again, 409, "session_already_exists", "Session Already Exists").await;
    assert_eq!(document["sessionId"], "s");
    let mode = old.send(Method::POST, "/v1/sessions/m", json!({ "agent": "mock", "agentMode": "fly" })).await;
    let document = old.error(mode, 400, "mode_not_supported", "Mode Not Supported").await;
    assert_eq!((&document["agent"], &document["details"]["mode"]), (&json!("mock"), &json!("fly")));
    let missing = old.send(Method::POST, "/v1/sessions/i", json!({ "agent": "claude" })).await;
    let document = old.error(missing, 404, "agent_not_installed", "Agent Not Installed").await;
    assert_eq!(document["agent"], "claude");
    let wrong = old.send(Method::POST, "/v1/sessions/w", json!({ "agentMode": "plan" })).await;
    assert_eq!(wrong.status(), 422);

    old.empty("/v1/sessions/s/terminate", Value::Null).await;
    old.empty("/v1/sessions/s/terminate", Value::Null).await;
    let ended = old.send(Method::POST, "/v1/sessions/s/messages", json!({ "message": "hi" })).await;
    old.error(ended, 400, "invalid_request", "Invalid Request").await;
    let unknown = old.send(Method::POST, "/v1/sessions/none/terminate", Value::Null).await;
    let document = old.error(unknown, 404, "session_not_found", "Session Not Found").await;
    assert_eq!(document["sessionId"], "none");
}

#[tokio::test]
async fn amp_and_its_default_model_can_be_named() {
    let old = start_old_server().await;
    for permission_mode in ["acceptEdits", "default"] {
        let create = json!({ "agent": "amp", "model": "amp-default", "permissionMode": permission_mode });
        let refused = old.send(Method::POST, "/v1/sessions/amp", create).await;
        // It is not installed, but nothing else is wrong.
        old.error(refused, 404, "agent_not_installed", "Agent Not Installed").await;
    }
}

#[tokio::test]
async fn messages_are_posted_and_events_are_read_and_streamed() {
    let old = start_old_server().await;
    old.create("s").await;
    let file = old.root.join("a.txt");
    fs::write(&file, "attached").unwrap();
    old.empty("/v1/sessions/s/messages", json!({ "message": "echo one", "attachments": [{ "path": file }] })).await;
    let stream = old.send(Method::GET, "/v1/sessions/s/events/sse?offset=0", Value::Null).await;
    let events = old.read_stream(stream, "turn.ended").await;
    assert_eq!((&events[0]["type"], &events[0]["sequence"]), (&json!("session.started"), &json!(1)));
    assert_eq!(events[0]["data"]["metadata"]["agentMode"], "build");
    for event in &events {
        for optional in ["raw", "native_session_id"] {
            assert!(event.get(optional).is_some(), "{optional} is null, not absent: {event}");
        }
    }
    let turn = old.send(Method::POST, "/v1/sessions/s/messages/stream", json!({ "message": "echo two" })).await;
    let turn = old.read_stream(turn, "turn.ended").await;
    assert_eq!((&turn[0]["type"], &turn.last().unwrap()["type"]), (&json!("turn.started"), &json!("turn.ended")));
    let page = old.json(Method::GET, "/v1/sessions/s/events?offset=1&limit=2&includeRaw=true", Value::Null).await;
    assert_eq!((page["events"].as_array().unwrap().len(), &page["hasMore"]), (2, &json!(true)));
    assert_eq!(page["events"][0]["sequence"], 2);
    let raw =
        old.send(Method::POST, "/v1/sessions/s/messages/stream?include_raw=true", json!({ "message": "echo 3" })).await;
    assert!(old.read_stream(raw, "turn.ended").await.iter().any(|event| event["raw"].is_object()));

    // An ended session has a stream without events, not an answer that the SDK cannot read.
    old.empty("/v1/sessions/s/terminate", Value::Null).await;
    let last = old.events("s").await.len();
    let rest = old.send(Method::GET, &format!("/v1/sessions/s/events/sse?offset={last}"), Value::Null).await;
    assert_eq!(old.read_stream(rest, "never").await, Vec::<Value>::new());
}

#[tokio::test]
async fn permissions_and_questions_are_answered_in_its_words() {
    let old = start_old_server().await;
    old.create("p").await;
    old.empty("/v1/sessions/p/messages", json!({ "message": "permission" })).await;
    for (reply, status) in [("once", "accept"), ("reject", "reject")] {
        let stream = old.send(Method::GET, "/v1/sessions/p/events/sse?offset=0", Value::Null).await;
        let mut open: Vec<String> = Vec::new();
        for event in old.read_stream_until_open(stream, "permission").await {
            let id = event["data"]["permission_id"].as_str().unwrap_or_default().to_owned();
            match event["type"].as_str().unwrap() {
                "permission.requested" => open.push(id),
                "permission.resolved" => open.retain(|other| *other != id),
                _ => {}
            }
        }
        let id = open.first().unwrap();
        old.empty(&format!("/v1/sessions/p/permissions/{id}/reply"), json!({ "reply": reply })).await;
        let resolved = old.resolved("p", id).await;
        assert_eq!(resolved["data"]["status"], status, "{resolved}");
        let path = format!("/v1/sessions/p/permissions/{id}/reply");
        let again = old.send(Method::POST, &path, json!({ "reply": reply })).await;
        old.error(again, 400, "invalid_request", "Invalid Request").await;
    }
    old.create("always").await;
    let turn = old.send(Method::POST, "/v1/sessions/always/messages/stream", json!({ "message": "permission" })).await;
    let turn = old.read_stream(turn, "permission.requested").await;
    assert_eq!(turn.last().unwrap()["data"]["status"], "requested");
    let id = turn.last().unwrap()["data"]["permission_id"].as_str().unwrap().to_owned();
    old.empty(&format!("/v1/sessions/always/permissions/{id}/reply"), json!({ "reply": "always" })).await;
    assert_eq!(old.resolved("always", &id).await["data"]["status"], "accept_for_session");

    old.create("q").await;
    let turn = old.send(Method::POST, "/v1/sessions/q/messages/stream", json!({ "message": "question" })).await;
    let turn = old.read_stream(turn, "question.requested").await;
    let id = turn.last().unwrap()["data"]["question_id"].as_str().unwrap().replace(':', "%3A");
    let option = turn.last().unwrap()["data"]["options"][0].clone();
    old.empty(&format!("/v1/sessions/q/questions/{id}/reply"), json!({ "answers": [[option]] })).await;
    let answered = old.resolved("q", &id.replace("%3A", ":")).await;
    assert_eq!(answered["data"]["status"], "answered");
    let other = loop {
        let events = old.events("q").await;
        let asked = events.iter().filter(|event| event["type"] == "question.requested");
        let mut ids = asked.map(|event| event["data"]["question_id"].as_str().unwrap().to_owned());
        if let Some(other) = ids.find(|other| *other != id.replace("%3A", ":")) {
            break other;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    old.empty(&format!("/v1/sessions/q/questions/{}/reject", other.replace(':', "%3A")), Value::Null).await;
    assert_eq!(old.resolved("q", &other).await["data"]["status"], "rejected");
    for path in ["/v1/sessions/q/questions/none/reject", "/v1/sessions/q/questions/none/reply"] {
        let unknown = old.send(Method::POST, path, json!({ "answers": [["x"]] })).await;
        old.error(unknown, 400, "invalid_request", "Invalid Request").await;
    }
}

impl OldServer {
    /// The events up to the next request that is open.
    async fn read_stream_until_open(&self, response: Response, kind: &str) -> Vec<Value> {
        let (mut response, mut text) = (response, String::new());
        loop {
            let blocks =
                text.split("\n\n").filter_map(|block| block.lines().find_map(|line| line.strip_prefix("data:")));
            let events: Vec<Value> = blocks.filter_map(|data| serde_json::from_str(data).ok()).collect();
            let count =
                |suffix: &str| events.iter().filter(|event| event["type"] == format!("{kind}.{suffix}")).count();
            if count("requested") > count("resolved") {
                return events;
            }
            text.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
        }
    }

    /// The event that resolved a request.
    async fn resolved(&self, session: &str, id: &str) -> Value {
        loop {
            let found = self.events(session).await.into_iter().find(|event| {
                let data = &event["data"];
                event["type"].as_str().unwrap().ends_with(".resolved")
                    && (data["permission_id"] == id || data["question_id"] == id)
            });
            if let Some(found) = found {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn files_are_listed_read_written_moved_and_uploaded() {
    let old = start_old_server().await;
    let absolute = |path: &str| old.root.join(path).to_str().unwrap().to_owned();
    let create = json!({ "agent": "mock", "directory": old.root });
    old.json(Method::POST, "/v1/sessions/s", create).await;
    for query in ["", "&session_id=s", "&sessionId=s"] {
        let request = old.server.request(Method::PUT, &format!("/v1/fs/file?path=a/b.txt{query}")).body("hello");
        let written = request.header("content-type", "application/octet-stream").send().await.unwrap();
        let written: Value = written.json().await.unwrap();
        assert_eq!(written, json!({ "path": absolute("a/b.txt"), "bytesWritten": 5 }));
        let read = old.send(Method::GET, &format!("/v1/fs/file?path=a/b.txt{query}"), Value::Null).await;
        assert_eq!(read.headers()["content-type"], "application/octet-stream");
        assert_eq!(read.text().await.unwrap(), "hello");
        // Absolute paths are answered, and accepted.
        let stat =
            old.json(Method::GET, &format!("/v1/fs/stat?path={}{query}", absolute("a/b.txt")), Value::Null).await;
        assert_eq!(
            (&stat["path"], &stat["entryType"], &stat["size"]),
            (&json!(absolute("a/b.txt")), &json!("file"), &json!(5))
        );
        let entries = old.json(Method::GET, &format!("/v1/fs/entries?path=.{query}"), Value::Null).await;
        assert!(entries.as_array().unwrap().iter().any(|entry| {
            entry["name"] == "a" && entry["path"] == absolute("a") && entry["entryType"] == "directory"
        }));
        let made = old.json(Method::POST, &format!("/v1/fs/mkdir?path=d/e{query}"), Value::Null).await;
        assert_eq!(made, json!({ "path": absolute("d/e") }));
        let body = json!({ "from": "a/b.txt", "to": "d/c.txt", "overwrite": true });
        let moved = old.json(Method::POST, &format!("/v1/fs/move?{query}"), body).await;
        assert_eq!(moved, json!({ "from": absolute("a/b.txt"), "to": absolute("d/c.txt") }));
        let archive = crate::files::tar(&[("x.txt", "x")]);
        let request = old.server.request(Method::POST, &format!("/v1/fs/upload-batch?path=up{query}")).body(archive);
        let uploaded: Value =
            request.header("content-type", "application/x-tar").send().await.unwrap().json().await.unwrap();
        assert_eq!(uploaded, json!({ "paths": [absolute("up/x.txt")], "truncated": false }));
        let not_empty = old.send(Method::DELETE, &format!("/v1/fs/entry?path=d{query}"), Value::Null).await;
        old.error(not_empty, 502, "stream_error", "Stream Error").await;
        let deleted =
            old.json(Method::DELETE, &format!("/v1/fs/entry?path=d&recursive=true{query}"), Value::Null).await;
        assert_eq!(deleted, json!({ "path": absolute("d") }));
        let missing = old.send(Method::GET, &format!("/v1/fs/file?path=d/c.txt{query}"), Value::Null).await;
        old.error(missing, 400, "invalid_request", "Invalid Request").await;
        let outside = old.send(Method::GET, &format!("/v1/fs/file?path=../x{query}"), Value::Null).await;
        old.error(outside, 400, "invalid_request", "Invalid Request").await;
    }
    std::os::unix::fs::symlink("/etc/passwd", old.root.join("link")).unwrap();
    let stat = old.json(Method::GET, "/v1/fs/stat?path=link", Value::Null).await;
    assert_eq!(stat["entryType"], "file", "its clients know two types");
    fs::remove_file(old.root.join("link")).unwrap();
}

#[tokio::test]
async fn every_scheme_of_authorization_is_accepted() {
    let old = start_old_server().await;
    let get = async |authorization: Option<String>| {
        let request = old.server.http.get(format!("{}/v1/agents", old.server.base));
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        request.send().await.unwrap()
    };
    let basic = |text: String| Some(format!("Basic {}", STANDARD.encode(text)));
    for authorization in [
        Some(format!("bearer {TOKEN}")),
        Some(format!("Token {TOKEN}")),
        basic(format!("user:{TOKEN}")),
        basic(TOKEN.to_owned()),
    ] {
        assert_eq!(get(authorization.clone()).await.status(), 200, "{authorization:?}");
    }
    for authorization in [None, Some("Bearer wrong".to_owned()), basic("user:wrong".to_owned())] {
        let document = old.error(get(authorization).await, 401, "token_invalid", "Token Invalid").await;
        assert_eq!(document["details"]["message"], "missing or invalid token");
    }
}

#[tokio::test]
async fn nothing_of_it_is_stored() {
    let old = start_old_server().await;
    old.create("s").await;
    let turn = old.send(Method::POST, "/v1/sessions/s/messages/stream", json!({ "message": "permission" })).await;
    let turn = old.read_stream(turn, "permission.requested").await;
    let id = turn.last().unwrap()["data"]["permission_id"].as_str().unwrap().to_owned();
    old.empty(&format!("/v1/sessions/s/permissions/{id}/reply"), json!({ "reply": "once" })).await;
    old.resolved("s", &id).await;
    let config = ServerConfig::new(Access::Token(Token::new(TOKEN).unwrap()));
    let server = old.server.restart(config).await;
    let events = server.events("s").await;
    assert!(events[0]["data"]["metadata"].get("agentMode").is_none(), "{}", events[0]);
    let resolved = events.iter().find(|event| event["type"] == "permission.resolved").unwrap();
    assert_eq!(resolved["data"]["status"], "approved");
}

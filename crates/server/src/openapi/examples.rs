//! Examples of bodies in the `OpenAPI` document.

use axum::http::StatusCode;
use interlingua_schema::{EventData, Origin, Timestamp, TurnStarted, UniversalEvent};
use serde_json::{Value, json};

use crate::capabilities::Capabilities;
use crate::problem::ProblemKind;

/// Bodies of requests, by operation.
pub(super) const REQUESTS: [(&str, &str); 10] = [
    ("createSession", r#"{"agent": "claude", "directory": "/home/me/project", "permissionMode": "acceptEdits"}"#),
    ("updateSession", r#"{"title": "Fix the build", "labels": {"team": "core", "draft": null}}"#),
    ("sendMessage", r#"{"id": "msg-1", "message": "Why does the test fail?"}"#),
    ("streamTurn", r#"{"id": "msg-1", "message": "Why does the test fail?"}"#),
    ("replyPermission", r#"{"reply": "once"}"#),
    ("replyQuestion", r#"{"answers": [["SQLite"]]}"#),
    ("setSecrets", r#"{"env": {"API_KEY": "the key"}}"#),
    ("installAgent", r#"{"version": "1.2.3"}"#),
    ("importHistory", r#"{"agent": "codex", "since": 1767225600000}"#),
    ("moveFsEntry", r#"{"from": "draft.md", "to": "docs/plan.md"}"#),
];

/// A session.
const SESSION: &str = r#"{
    "sessionId": "demo", "agent": "claude", "agentMode": "build", "permissionMode": "acceptEdits", "model": "sonnet",
    "variant": null, "nativeSessionId": "5e55104d", "state": "idle", "lastTurnStatus": "completed", "pending": [],
    "queued": 0, "usage": {"input_tokens": 1200, "output_tokens": 340}, "labels": {"team": "core"}, "ended": false,
    "eventCount": 42, "createdAt": 1767225600000, "updatedAt": 1767225660000, "directory": "/home/me/project",
    "title": "Fix the build"
}"#;

/// Bodies of answers with status 200 or 202, by operation. Words in capitals stand for a session, an event and the
/// capabilities of an agent.
const ANSWERS: [(&str, &str); 27] = [
    ("getHealth", r#"{"status": "ok", "version": "0.1.0", "store": {"kind": "sqlite"}}"#),
    ("getReady", r#"{"status": "ready", "storeLagMs": 2, "freeBytes": 1073741824}"#),
    (
        "listAgents",
        r#"{"agents": [{
            "id": "mock", "name": "Mock", "installed": true, "credentialsAvailable": true,
            "capabilities": CAPABILITIES
        }]}"#,
    ),
    ("installAgent", r#"{"state": "running", "progress": {"bytes": 1048576}}"#),
    ("getInstall", r#"{"state": "failed", "message": "npm cannot be found: install Node.js"}"#),
    ("listModes", r#"{"modes": [{"id": "build", "name": "Build", "description": "Changes files and runs commands"}]}"#),
    ("listModels", r#"{"models": [{"id": "sonnet", "variants": ["low", "high"]}], "defaultModel": "sonnet"}"#),
    ("listSessions", r#"{"sessions": [SESSION], "nextCursor": "17", "total": 18}"#),
    ("createSession", r#"{"healthy": true, "nativeSessionId": "5e55104d"}"#),
    ("getSession", "SESSION"),
    ("updateSession", "SESSION"),
    (
        "listMessages",
        r#"{"messages": [
            {"id": "msg-2", "message": "Now fix it", "attachments": [], "createdAt": 1767225661000}
        ]}"#,
    ),
    (
        "uploadAttachment",
        r#"{"path": "/var/lib/interlingua/uploads/7/shot.png", "mime": "image/png", "filename": "shot.png"}"#,
    ),
    ("listEvents", r#"{"events": [EVENT], "hasMore": true}"#),
    (
        "search",
        r#"{"results": [{
            "sessionId": "demo", "agent": "claude", "title": "Fix the build", "sequence": 17, "time": 1767225630000,
            "snippet": "…the failing test expects a comma…"
        }], "hasMore": false, "complete": true}"#,
    ),
    (
        "checkSession",
        r#"{"valid": false, "events": 42, "types": {"item.completed": 12, "turn.ended": 2}, "violationCount": 1,
            "violations": [{"rule": "L5", "sequence": 17, "message": "item itm_1 is completed twice"}]}"#,
    ),
    ("getMetrics", "interlingua_open_streams 3\n"),
    (
        "listFsEntries",
        r#"[{
            "name": "src", "path": "/home/me/project/src", "entryType": "directory", "size": 4096,
            "modified": "2026-01-31T08:00:00.000Z"
        }]"#,
    ),
    (
        "statFsEntry",
        r#"{
            "path": "/home/me/project/README.md", "entryType": "file", "size": 1200,
            "modified": "2026-01-31T08:00:00.000Z"
        }"#,
    ),
    ("writeFsFile", r#"{"path": "/home/me/project/README.md", "bytesWritten": 1200}"#),
    ("createFsDirectory", r#"{"path": "/home/me/project/docs"}"#),
    ("moveFsEntry", r#"{"from": "/home/me/project/draft.md", "to": "/home/me/project/docs/plan.md"}"#),
    ("deleteFsEntry", r#"{"path": "/home/me/project/draft.md"}"#),
    ("uploadFsBatch", r#"{"paths": ["/home/me/project/src", "/home/me/project/src/main.rs"], "truncated": false}"#),
    (
        "listHistory",
        r#"{"sessions": [{
            "agent": "claude", "nativeSessionId": "5e55104d", "format": "claude-jsonl",
            "path": "/home/me/.claude/projects/-home-me-project/5e55104d.jsonl", "title": "Why does the test fail?",
            "directory": "/home/me/project", "agentVersion": "2.1.326", "startedAt": 1767225600000,
            "lastActivity": 1767225660000
        }], "total": 1, "problems": []}"#,
    ),
    ("importHistory", r#"{"id": 1, "state": "running", "progress": {"sessions": 120, "done": 37, "bytes": 52428800}}"#),
    ("getImport", r#"{"id": 1, "state": "running", "progress": {"sessions": 120, "done": 37, "bytes": 52428800}}"#),
];

/// The example of an operation's answer.
pub(super) fn answer(operation: &str) -> Option<Value> {
    let (_, text) = ANSWERS.iter().find(|(id, _)| *id == operation)?;
    let capabilities = json!(Capabilities::for_agent("mock")).to_string();
    let text = text.replace("SESSION", SESSION).replace("EVENT", &event().to_string());
    let text = text.replace("CAPABILITIES", &capabilities);
    Some(serde_json::from_str(&text).unwrap_or_else(|_| text.into()))
}

/// An event.
fn event() -> Value {
    let data = EventData::TurnStarted(TurnStarted::new("turn_1"));
    let time = Timestamp::from_millis(1_767_225_600_000);
    json!(UniversalEvent::new("evt_2", 2, time, "demo", Origin::AGENT, data))
}

/// A stream of events. The frames of the stream of all sessions have cursors as their ids.
pub(super) fn stream(operation: &str) -> String {
    let id = if operation == "streamAllEvents" { "1f8a03c2.12" } else { "2" };
    format!("id: {id}\ndata: {}\n\n", event())
}

/// A problem document with this status.
pub(super) fn problem(status: &str, detail: &str) -> Option<Value> {
    let status: StatusCode = status.parse().ok()?;
    // Statuses that a kind has besides its own.
    let kind = match status {
        StatusCode::UNPROCESSABLE_ENTITY => ProblemKind::InvalidRequest,
        StatusCode::REQUEST_TIMEOUT => ProblemKind::Timeout,
        _ => *ProblemKind::ALL.iter().find(|kind| kind.status() == status)?,
    };
    Some(json!({ "type": kind.urn(), "title": kind.title(), "status": status.as_u16(), "detail": detail }))
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    /// All operations, with their ids.
    fn operations(document: &Value) -> Vec<(String, &Value)> {
        let paths = document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|operations| operations.as_object().unwrap().values());
        operations.map(|operation| (operation["operationId"].as_str().unwrap().to_owned(), operation)).collect()
    }

    #[test]
    fn every_example_is_used_and_has_the_shape_of_its_schema() {
        let document = document();
        let operations = operations(&document);
        for id in REQUESTS.iter().chain(&ANSWERS).map(|(id, _)| *id) {
            assert!(operations.iter().any(|(operation, _)| operation == id), "no operation {id}");
        }
        let mut checked = 0;
        for (id, operation) in &operations {
            let request = operation.get("requestBody").into_iter();
            let responses = operation["responses"].as_object().unwrap().values();
            let contents = request.chain(responses).filter_map(|body| body.get("content"));
            for (kind, media) in contents.flat_map(|content| content.as_object().unwrap()) {
                let Some(example) = media.get("example").filter(|_| kind.contains("json")) else { continue };
                let mut schema = media["schema"].clone();
                schema["components"] = document["components"].clone();
                let validator = jsonschema::validator_for(&schema).unwrap();
                let errors: Vec<String> = validator.iter_errors(example).map(|error| error.to_string()).collect();
                assert!(errors.is_empty(), "{id} {kind}: {errors:?}\n{example:#}");
                checked += 1;
            }
        }
        assert!(checked > REQUESTS.len() + ANSWERS.len(), "only {checked} examples");
    }

    #[test]
    fn every_body_in_json_has_an_example() {
        let document = document();
        for (id, operation) in operations(&document) {
            // These answer with the documents themselves.
            if ["getOpenApi", "getSchema"].contains(&id.as_str()) {
                continue;
            }
            for (status, response) in operation["responses"].as_object().unwrap() {
                for (kind, media) in response.get("content").and_then(Value::as_object).into_iter().flatten() {
                    let is_text = kind.starts_with("text/") && kind != "text/event-stream" || kind.contains("ndjson");
                    let is_text = is_text || kind == "application/octet-stream";
                    assert!(is_text || media["example"] != Value::Null, "{id} {status} {kind}");
                }
            }
        }
    }
}

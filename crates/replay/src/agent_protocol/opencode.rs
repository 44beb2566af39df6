//! OpenCode: HTTP requests and the payloads of its event stream.

use serde_json::{Value, json};

use super::{Interruption, SyntheticOutput};
use crate::message::{HostMessage, LineInfo, MessageClass};

/// Prefixes of ids.
const ID_PREFIXES: &[&str] = &["ses_", "msg_", "prt_", "per_", "que_", "pty_", "evt_"];

/// Ends of the paths of requests that advance the conversation.
const REQUIRED_PATHS: &[&str] = &[
    "/session",
    "/message",
    "/prompt",
    "/command",
    "/shell",
    "/summarize",
    "/compact",
    "/abort",
    "/interrupt",
    "/reply",
    "/reject",
    "/fork",
];

/// Ends of the paths of requests that start a turn.
const TURN_PATHS: &[&str] = &["/message", "/prompt", "/command", "/shell", "/summarize", "/compact"];

/// Ends of the paths that return a list. Without a recorded answer the list is empty.
const LIST_PATHS: &[&str] = &[
    "/session",
    "/permission",
    "/question",
    "/message",
    "/todo",
    "/diff",
    "/children",
    "/agent",
    "/command",
    "/project",
];

/// Paths that return an object. Without a recorded answer the object is empty.
const OBJECT_PATHS: &[&str] = &["/session/status", "/config", "/mcp", "/provider", "/config/providers"];

/// Parses an HTTP request. The two ways to send a prompt have the same meaning, and so have the two ways to answer a
/// permission request.
pub(crate) fn parse_request(method: &str, path: &str, body: Option<&str>) -> HostMessage {
    let path = path.split('?').next().unwrap_or_default();
    let mut ids = Vec::new();
    let shape: Vec<&str> = path
        .split('/')
        .map(|part| {
            if ID_PREFIXES.iter().any(|prefix| part.starts_with(prefix)) {
                ids.push(part.to_owned());
                return "{}";
            }
            part
        })
        .collect();
    let mut shape = shape.join("/");
    if shape == "/session/{}/prompt_async" {
        "/session/{}/message".clone_into(&mut shape);
    }
    if shape == "/session/{}/permissions/{}" {
        "/permission/{}/reply".clone_into(&mut shape);
        ids.remove(0);
    }
    let ends_in = |list: &[&str]| list.iter().any(|end| shape.ends_with(end));
    let is_post = method == "POST";
    let class = match method {
        "GET" | "HEAD" | "OPTIONS" => MessageClass::Query,
        "POST" if ends_in(REQUIRED_PATHS) => MessageClass::Required,
        _ => MessageClass::Optional,
    };
    let body: Value = body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
    HostMessage {
        ids,
        chosen_id: body["messageID"].as_str().map(str::to_owned),
        starts_turn: is_post && ends_in(TURN_PATHS),
        is_interrupt: is_post && ends_in(&["/abort", "/interrupt"]),
        ..HostMessage::new(format!("{method} {shape}"), class)
    }
}

pub(super) fn parse_agent_line(line: &str) -> LineInfo {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    let properties = &line["properties"];
    let session = session_id(&line).map(str::to_owned);
    let kind = line["type"].as_str().unwrap_or_default();
    let opened_request =
        properties["id"].as_str().filter(|_| kind.rsplit('.').next() == Some("asked")).map(str::to_owned);
    LineInfo { session, opened_request, ends_turn: kind == "session.idle", ..LineInfo::default() }
}

/// Id of the session that an event belongs to.
pub(crate) fn session_id(event: &Value) -> Option<&str> {
    let properties = &event["properties"];
    properties["sessionID"].as_str().or_else(|| properties["info"]["id"].as_str())
}

/// Whether a payload is the greeting: the first event of every subscriber.
pub(crate) fn is_greeting(line: &str) -> bool {
    line.contains(r#""type":"server.connected""#)
}

/// The greeting to use if the recording has none.
pub(crate) fn default_greeting() -> String {
    r#"{"id":"evt_000000000001replayreplay","type":"server.connected","properties":{}}"#.to_owned()
}

pub(super) fn answer_unrecorded(message: &HostMessage, version: &str) -> Vec<SyntheticOutput> {
    let (Some(key), Some((method, path))) = (&message.key, message.meaning.split_once(' ')) else {
        return Vec::new();
    };
    let id = message.ids.last().map_or("", String::as_str);
    let (status, body) = match method {
        "GET" if path == "/global/health" => (200, json!({"healthy": true, "version": version})),
        "GET" if OBJECT_PATHS.contains(&path) => (200, json!({})),
        "GET" if LIST_PATHS.iter().any(|end| path.ends_with(end)) => (200, json!([])),
        "DELETE" | "PATCH" | "PUT" => (200, json!(true)),
        "POST" if path.ends_with("/dispose") => (200, json!(true)),
        "POST" if path.starts_with("/permission/") => (
            404,
            json!({"_tag": "PermissionNotFoundError", "requestID": id, "message": "Permission request not found"}),
        ),
        "POST" if path.starts_with("/question/") => {
            (404, json!({"_tag": "QuestionNotFoundError", "requestID": id, "message": "Question request not found"}))
        }
        _ => {
            let text = format!("the recording has no answer to another `{method} {path}`");
            (404, json!({"name": "NotFoundError", "data": {"message": text}}))
        }
    };
    vec![SyntheticOutput::answer(key, status, &body)]
}

pub(super) fn interrupt_turn(interruption: &Interruption) -> Vec<SyntheticOutput> {
    let mut outputs: Vec<SyntheticOutput> =
        interruption.key.iter().map(|key| SyntheticOutput::answer(key, 200, &Value::Bool(true))).collect();
    if interruption.is_running {
        let session = &interruption.session;
        let error = json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}});
        for (kind, properties) in [
            ("session.error", json!({"sessionID": session, "error": error})),
            ("session.status", json!({"sessionID": session, "status": {"type": "idle"}})),
            ("session.idle", json!({"sessionID": session})),
        ] {
            let id = format!("evt_replay{:016}", outputs.len());
            outputs.push(SyntheticOutput::Line(json!({"id": id, "type": kind, "properties": properties}).to_string()));
        }
    }
    outputs
}

//! OpenCode: HTTP requests and the payloads of its event stream.

use serde_json::{Value, json};

use super::{Extra, Interruption};
use crate::said::{Role, Said, Sense};

/// What ids begin with.
const IDS: &[&str] = &["ses_", "msg_", "prt_", "per_", "que_", "pty_", "evt_"];

/// What moves a conversation on, by the end of its path.
const FLOW: &[&str] = &[
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

/// What begins a turn, by the end of its path.
const TURNS: &[&str] = &["/message", "/prompt", "/command", "/shell", "/summarize", "/compact"];

/// What asks for a list; without a recorded one it is empty.
const LISTS: &[&str] = &[
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

/// What asks for an object; without a recorded one it is empty.
const OBJECTS: &[&str] = &["/session/status", "/config", "/mcp", "/provider", "/config/providers"];

/// What a request means. The two ways to send a prompt mean the same, and so do the two to answer a permission.
pub(crate) fn request(method: &str, path: &str, body: Option<&str>) -> Said {
    let path = path.split('?').next().unwrap_or_default();
    let mut ids = Vec::new();
    let shape: Vec<&str> = path
        .split('/')
        .map(|part| {
            if IDS.iter().any(|prefix| part.starts_with(prefix)) {
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
    let post = method == "POST";
    let role = match method {
        "GET" | "HEAD" | "OPTIONS" => Role::Look,
        "POST" if ends_in(FLOW) => Role::Flow,
        _ => Role::Aside,
    };
    let body: Value = body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
    Said {
        ids,
        chosen: body["messageID"].as_str().map(str::to_owned),
        begins_turn: post && ends_in(TURNS),
        interrupts: post && ends_in(&["/abort", "/interrupt"]),
        ..Said::new(format!("{method} {shape}"), role)
    }
}

pub(super) fn sense(line: &str) -> Sense {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    let about = &line["properties"];
    let session = session_of(&line).map(str::to_owned);
    let kind = line["type"].as_str().unwrap_or_default();
    let asks = about["id"].as_str().filter(|_| kind.rsplit('.').next() == Some("asked")).map(str::to_owned);
    Sense { session, asks, ends_turn: kind == "session.idle", ..Sense::default() }
}

/// The session that an event is about.
pub(crate) fn session_of(event: &Value) -> Option<&str> {
    let about = &event["properties"];
    about["sessionID"].as_str().or_else(|| about["info"]["id"].as_str())
}

/// Whether a payload is what each new reader of the event stream is greeted with.
pub(crate) fn is_greeting(line: &str) -> bool {
    line.contains(r#""type":"server.connected""#)
}

/// The greeting, where the recording has none.
pub(crate) fn greeting() -> String {
    r#"{"id":"evt_000000000001replayreplay","type":"server.connected","properties":{}}"#.to_owned()
}

pub(super) fn unforeseen(said: &Said, version: &str) -> Vec<Extra> {
    let (Some(key), Some((method, path))) = (&said.key, said.what.split_once(' ')) else {
        return Vec::new();
    };
    let id = said.ids.last().map_or("", String::as_str);
    let (status, body) = match method {
        "GET" if path == "/global/health" => (200, json!({"healthy": true, "version": version})),
        "GET" if OBJECTS.contains(&path) => (200, json!({})),
        "GET" if LISTS.iter().any(|end| path.ends_with(end)) => (200, json!([])),
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
            let message = format!("the recording has no answer to another `{method} {path}`");
            (404, json!({"name": "NotFoundError", "data": {"message": message}}))
        }
    };
    vec![Extra::answer(key, status, &body)]
}

pub(super) fn interrupted(interruption: &Interruption) -> Vec<Extra> {
    let mut extras: Vec<Extra> =
        interruption.key.iter().map(|key| Extra::answer(key, 200, &Value::Bool(true))).collect();
    if interruption.running {
        let session = &interruption.session;
        let error = json!({"name": "MessageAbortedError", "data": {"message": "Aborted"}});
        for (kind, properties) in [
            ("session.error", json!({"sessionID": session, "error": error})),
            ("session.status", json!({"sessionID": session, "status": {"type": "idle"}})),
            ("session.idle", json!({"sessionID": session})),
        ] {
            let id = format!("evt_replay{:016}", extras.len());
            extras.push(Extra::Line(json!({"id": id, "type": kind, "properties": properties}).to_string()));
        }
    }
    extras
}

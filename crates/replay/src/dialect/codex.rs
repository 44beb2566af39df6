//! Codex: the app server's JSON-RPC, and the plain events of `codex exec --json`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Extra, Interruption, replaced};
use crate::said::{Role, Said, Sense};

/// What moves a conversation on. Everything else is a question about it, or a setting.
const FLOW: &[&str] = &[
    "initialize",
    "thread/start",
    "thread/resume",
    "thread/fork",
    "thread/compact/start",
    "turn/start",
    "turn/steer",
    "turn/interrupt",
    "review/start",
];

/// What is safely answered with nothing.
const HARMLESS: &[&str] = &[
    "thread/unsubscribe",
    "thread/name/set",
    "thread/archive",
    "thread/unarchive",
    "thread/settings/update",
    "thread/backgroundTerminals/clean",
    "thread/goal/clear",
];

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(default)]
    params: Option<Value>,
    r#type: Option<String>,
    thread_id: Option<String>,
}

impl Line<'_> {
    fn param(&self, pointer: &str) -> Option<&str> {
        self.params.as_ref()?.pointer(pointer)?.as_str()
    }

    fn thread(&self) -> Option<String> {
        let thread = self.param("/threadId").or_else(|| self.param("/thread/id"));
        thread.map(str::to_owned)
    }
}

pub(super) fn heard(line: &str) -> Said {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return Said::noise();
    };
    let id = line.id.map(RawValue::get);
    match (&line.method, id) {
        (None, None) => Said::noise(),
        (Some(method), Some(id)) => {
            let role = if FLOW.contains(&method.as_str()) { Role::Flow } else { Role::Aside };
            Said {
                key: Some(id.to_owned()),
                ids: line.thread().into_iter().collect(),
                chosen: line.param("/clientUserMessageId").map(str::to_owned),
                begins_turn: matches!(method.as_str(), "turn/start" | "review/start"),
                interrupts: method == "turn/interrupt",
                ..Said::new(format!("request {method}"), role)
            }
        }
        (Some(method), None) => Said::new(format!("notification {method}"), Role::Aside),
        (None, Some(id)) => Said::answer(id),
    }
}

pub(super) fn sense(line: &str) -> Sense {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return Sense::default();
    };
    let id = line.id.map(|id| id.get().to_owned());
    let mut sense = Sense { session: line.thread().or_else(|| line.thread_id.clone()), ..Sense::default() };
    match line.method.as_deref() {
        None if id.is_some() => sense.answers = id,
        None => {
            sense.ends_turn = matches!(line.r#type.as_deref(), Some("turn.completed" | "turn.failed"));
        }
        Some("turn/started") => sense.turn = line.param("/turn/id").map(str::to_owned),
        Some("turn/completed") => sense.ends_turn = true,
        Some("serverRequest/resolved") => {
            sense.withdraws = line.params.as_ref().map(|params| params["requestId"].to_string());
        }
        Some(_) => sense.asks = id,
    }
    sense
}

pub(super) fn readdress(line: &str, key: &str) -> String {
    let id = serde_json::from_str::<Line<'_>>(line).ok().and_then(|line| line.id);
    id.map_or_else(|| line.to_owned(), |id| replaced(line, id.get(), key))
}

pub(super) fn unforeseen(said: &Said) -> Vec<Extra> {
    let (Some(key), Some(method)) = (&said.key, said.what.strip_prefix("request ")) else {
        return Vec::new();
    };
    if HARMLESS.contains(&method) {
        return vec![result(key, &json!({}))];
    }
    if method.ends_with("/list") {
        return vec![result(key, &json!({"data": [], "nextCursor": null}))];
    }
    let message = format!("the recording has no answer to another `{method}`");
    let body = format!(r#"{{"error":{},"id":{key}}}"#, json!({"code": -32600, "message": message}));
    vec![Extra::Answer { to: key.clone(), status: 200, body }]
}

pub(super) fn interrupted(interruption: &Interruption) -> Vec<Extra> {
    let mut extras: Vec<Extra> = interruption.key.iter().map(|key| result(key, &json!({}))).collect();
    if !interruption.running {
        return extras;
    }
    let thread = &interruption.session;
    let notify = |method: &str, params: Value| Extra::Line(json!({"method": method, "params": params}).to_string());
    extras.push(notify("thread/status/changed", json!({"threadId": thread, "status": {"type": "idle"}})));
    let turn = json!({
        "id": interruption.turn,
        "items": [],
        "itemsView": "notLoaded",
        "status": "interrupted",
        "error": null,
        "startedAt": null,
        "completedAt": null,
        "durationMs": null,
    });
    extras.push(notify("turn/completed", json!({"threadId": thread, "turn": turn})));
    for key in &interruption.open {
        let request: Value = serde_json::from_str(key).unwrap_or_default();
        extras.push(notify("serverRequest/resolved", json!({"threadId": thread, "requestId": request})));
    }
    extras
}

fn result(key: &str, result: &Value) -> Extra {
    Extra::Answer { to: key.to_owned(), status: 200, body: format!(r#"{{"id":{key},"result":{result}}}"#) }
}

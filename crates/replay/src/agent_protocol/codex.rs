//! Codex: the app server's JSON-RPC, and the plain events of `codex exec --json`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Interruption, SyntheticOutput, replace_part};
use crate::message::{HostMessage, LineInfo, MessageClass};

/// Methods that advance the conversation. All others only query it or change a setting.
const REQUIRED_METHODS: &[&str] = &[
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

/// Methods to which an empty result is a safe answer.
const EMPTY_RESULT_METHODS: &[&str] = &[
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

pub(super) fn parse_host_line(line: &str) -> HostMessage {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return HostMessage::unreadable();
    };
    let id = line.id.map(RawValue::get);
    match (&line.method, id) {
        (None, None) => HostMessage::unreadable(),
        (Some(method), Some(id)) => {
            let class = if REQUIRED_METHODS.contains(&method.as_str()) {
                MessageClass::Required
            } else {
                MessageClass::Optional
            };
            HostMessage {
                key: Some(id.to_owned()),
                ids: line.thread().into_iter().collect(),
                chosen_id: line.param("/clientUserMessageId").map(str::to_owned),
                starts_turn: matches!(method.as_str(), "turn/start" | "review/start"),
                is_interrupt: method == "turn/interrupt",
                ..HostMessage::new(format!("request {method}"), class)
            }
        }
        (Some(method), None) => HostMessage::new(format!("notification {method}"), MessageClass::Optional),
        (None, Some(id)) => HostMessage::answer(id),
    }
}

pub(super) fn parse_agent_line(line: &str) -> LineInfo {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return LineInfo::default();
    };
    let id = line.id.map(|id| id.get().to_owned());
    let mut info = LineInfo { session: line.thread().or_else(|| line.thread_id.clone()), ..LineInfo::default() };
    match line.method.as_deref() {
        None if id.is_some() => info.answered_request = id,
        None => {
            info.ends_turn = matches!(line.r#type.as_deref(), Some("turn.completed" | "turn.failed"));
        }
        Some("turn/started") => info.started_turn = line.param("/turn/id").map(str::to_owned),
        Some("turn/completed") => info.ends_turn = true,
        Some("serverRequest/resolved") => {
            info.withdrawn_request = line.params.as_ref().map(|params| params["requestId"].to_string());
        }
        Some(_) => info.opened_request = id,
    }
    info
}

pub(super) fn set_answer_key(line: &str, key: &str) -> String {
    let id = serde_json::from_str::<Line<'_>>(line).ok().and_then(|line| line.id);
    id.map_or_else(|| line.to_owned(), |id| replace_part(line, id.get(), key))
}

pub(super) fn answer_unrecorded(message: &HostMessage) -> Vec<SyntheticOutput> {
    let (Some(key), Some(method)) = (&message.key, message.meaning.strip_prefix("request ")) else {
        return Vec::new();
    };
    if EMPTY_RESULT_METHODS.contains(&method) {
        return vec![result(key, &json!({}))];
    }
    if method.ends_with("/list") {
        return vec![result(key, &json!({"data": [], "nextCursor": null}))];
    }
    let text = format!("the recording has no answer to another `{method}`");
    let body = format!(r#"{{"error":{},"id":{key}}}"#, json!({"code": -32600, "message": text}));
    vec![SyntheticOutput::Answer { to: key.clone(), status: 200, body }]
}

pub(super) fn interrupt_turn(interruption: &Interruption) -> Vec<SyntheticOutput> {
    let mut outputs: Vec<SyntheticOutput> = interruption.key.iter().map(|key| result(key, &json!({}))).collect();
    if !interruption.is_running {
        return outputs;
    }
    let thread = &interruption.session;
    let notify =
        |method: &str, params: Value| SyntheticOutput::Line(json!({"method": method, "params": params}).to_string());
    outputs.push(notify("thread/status/changed", json!({"threadId": thread, "status": {"type": "idle"}})));
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
    outputs.push(notify("turn/completed", json!({"threadId": thread, "turn": turn})));
    for key in &interruption.open_requests {
        let request: Value = serde_json::from_str(key).unwrap_or_default();
        outputs.push(notify("serverRequest/resolved", json!({"threadId": thread, "requestId": request})));
    }
    outputs
}

fn result(key: &str, result: &Value) -> SyntheticOutput {
    SyntheticOutput::Answer { to: key.to_owned(), status: 200, body: format!(r#"{{"id":{key},"result":{result}}}"#) }
}

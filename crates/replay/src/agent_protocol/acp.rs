//! The Agent Client Protocol: JSON-RPC in both directions. A turn lasts from a prompt to its answer.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Interruption, SyntheticOutput, replace_part};
use crate::message::{HostMessage, LineInfo, MessageClass};

/// Methods that advance the conversation. All others only query it or change a setting.
const REQUIRED_METHODS: &[&str] =
    &["initialize", "session/new", "session/load", "session/resume", "session/fork", "session/prompt"];
/// Notification that interrupts a turn.
const CANCEL: &str = "session/cancel";
/// Notification that withdraws a request.
const CANCEL_REQUEST: &str = "$/cancel_request";

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(default)]
    params: Option<Value>,
    #[serde(default)]
    result: Option<Value>,
}

impl Line<'_> {
    fn param(&self, key: &str) -> Option<&Value> {
        self.params.as_ref()?.get(key)
    }

    fn session(&self) -> Option<String> {
        let opened = || self.result.as_ref()?.get("sessionId");
        self.param("sessionId").or_else(opened)?.as_str().map(str::to_owned)
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
            let is_required = REQUIRED_METHODS.contains(&method.as_str());
            let class = if is_required { MessageClass::Required } else { MessageClass::Optional };
            HostMessage {
                key: Some(id.to_owned()),
                ids: line.session().into_iter().collect(),
                starts_turn: method == "session/prompt",
                ..HostMessage::new(format!("request {method}"), class)
            }
        }
        (Some(method), None) => {
            let is_interrupt = method == CANCEL;
            let class = if is_interrupt { MessageClass::Required } else { MessageClass::Optional };
            HostMessage {
                ids: line.session().into_iter().collect(),
                is_interrupt,
                ..HostMessage::new(format!("notification {method}"), class)
            }
        }
        (None, Some(id)) => HostMessage::answer(id),
    }
}

pub(super) fn parse_agent_line(line: &str) -> LineInfo {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return LineInfo::default();
    };
    let id = line.id.map(|id| id.get().to_owned());
    let mut info = LineInfo { session: line.session(), ..LineInfo::default() };
    match line.method.as_deref() {
        None => {
            // Only the answer to a prompt has a reason to stop.
            info.ends_turn = line.result.as_ref().is_some_and(|result| result.get("stopReason").is_some());
            info.answered_request = id;
        }
        Some(CANCEL_REQUEST) => info.withdrawn_request = line.param("requestId").map(Value::to_string),
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
    match method {
        "authenticate" | "session/set_mode" | "session/close" | "session/delete" => vec![result(key, &json!({}))],
        "session/list" => vec![result(key, &json!({"sessions": []}))],
        _ => {
            let text = format!("the recording has no answer to another `{method}`");
            let error = json!({"code": -32603, "message": text});
            let body = format!(r#"{{"jsonrpc":"2.0","id":{key},"error":{error}}}"#);
            vec![SyntheticOutput::Answer { to: key.clone(), status: 200, body }]
        }
    }
}

/// The requests that are pending are withdrawn before the prompt is answered.
pub(super) fn interrupt_turn(interruption: &Interruption) -> Vec<SyntheticOutput> {
    let mut outputs: Vec<SyntheticOutput> = Vec::new();
    if !interruption.is_running {
        return outputs;
    }
    for key in &interruption.open_requests {
        let request: Value = serde_json::from_str(key).unwrap_or_default();
        let withdrawal = json!({"jsonrpc": "2.0", "method": CANCEL_REQUEST, "params": {"requestId": request}});
        outputs.push(SyntheticOutput::Line(withdrawal.to_string()));
    }
    outputs
}

/// The answer to a prompt whose turn is interrupted.
pub(super) fn interrupted_answer(key: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{key},"result":{{"stopReason":"cancelled"}}}}"#)
}

fn result(key: &str, result: &Value) -> SyntheticOutput {
    let body = format!(r#"{{"jsonrpc":"2.0","id":{key},"result":{result}}}"#);
    SyntheticOutput::Answer { to: key.to_owned(), status: 200, body }
}

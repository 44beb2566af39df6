//! Claude Code's stream-json in both directions, with its control protocol.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Extra, Interruption, replaced};
use crate::said::{Role, Said, Sense};

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default)]
    r#type: String,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
    request: Option<Request>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    session_id: Option<String>,
    uuid: Option<String>,
}

#[derive(Deserialize)]
struct Request {
    #[serde(default)]
    subtype: String,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

fn key(id: Option<&RawValue>) -> Option<String> {
    id.map(|id| id.get().to_owned())
}

pub(super) fn heard(line: &str) -> Said {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return Said::noise();
    };
    match line.r#type.as_str() {
        "user" => Said { begins_turn: true, chosen: line.uuid, ..Said::new("message", Role::Flow) },
        "control_request" => {
            let subtype = line.request.map(|request| request.subtype).unwrap_or_default();
            let interrupts = subtype == "interrupt";
            let role = if interrupts { Role::Flow } else { Role::Aside };
            Said { key: key(line.request_id), interrupts, ..Said::new(format!("request {subtype}"), role) }
        }
        "control_response" => {
            Said::answer(&line.response.and_then(|response| key(response.request_id)).unwrap_or_default())
        }
        kind => Said::new(format!("notification {kind}"), Role::Aside),
    }
}

pub(super) fn sense(line: &str) -> Sense {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return Sense::default();
    };
    let mut sense = Sense { session: line.session_id, ..Sense::default() };
    match line.r#type.as_str() {
        "control_response" => sense.answers = line.response.and_then(|response| key(response.request_id)),
        "control_request" => sense.asks = key(line.request_id),
        "control_cancel_request" => sense.withdraws = key(line.request_id),
        "result" => sense.ends_turn = true,
        _ => {}
    }
    sense
}

pub(super) fn readdress(line: &str, key: &str) -> String {
    let id = serde_json::from_str::<Line<'_>>(line).ok().and_then(|line| line.response?.request_id);
    id.map_or_else(|| line.to_owned(), |id| replaced(line, id.get(), key))
}

pub(super) fn unforeseen(said: &Said) -> Vec<Extra> {
    match (&said.key, said.what.as_str()) {
        (Some(key), "request initialize") => {
            vec![success(key, &json!({"commands": [], "models": [], "account": {}}))]
        }
        (Some(key), _) => vec![success(key, &json!({}))],
        (None, "message") => vec![Extra::Line(result("", "the recording has no further turn", None))],
        (None, "noise") => {
            vec![Extra::Death { line: "Error parsing streaming input line: expected JSON".to_owned(), code: 1 }]
        }
        (None, _) => Vec::new(),
    }
}

pub(super) fn interrupted(interruption: &Interruption) -> Vec<Extra> {
    let mut extras: Vec<Extra> = interruption
        .open
        .iter()
        .map(|key| Extra::Line(format!(r#"{{"type":"control_cancel_request","request_id":{key}}}"#)))
        .collect();
    if let Some(key) = &interruption.key {
        extras.push(success(key, &json!({"still_queued": []})));
    }
    if interruption.running {
        let during = if interruption.open.is_empty() { "aborted_streaming" } else { "aborted_tools" };
        let marker = json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]},
            "parent_tool_use_id": null,
            "session_id": interruption.session,
            "uuid": "00000000-0000-4000-8000-0000000000a1",
        });
        extras.push(Extra::Line(marker.to_string()));
        extras.push(Extra::Line(result(&interruption.session, "interrupted", Some(during))));
    }
    extras
}

fn success(key: &str, response: &Value) -> Extra {
    let body = format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":{key},"response":{response}}}}}"#
    );
    Extra::Answer { to: key.to_owned(), status: 200, body }
}

/// A turn that ended before its time.
fn result(session: &str, error: &str, terminal_reason: Option<&str>) -> String {
    let mut result = json!({
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": true,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 1,
        "stop_reason": null,
        "session_id": session,
        "total_cost_usd": 0,
        "usage": {
            "input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 0,
        },
        "modelUsage": {},
        "permission_denials": [],
        "errors": [error],
        "uuid": "00000000-0000-4000-8000-0000000000a2",
    });
    if let Some(reason) = terminal_reason {
        result["terminal_reason"] = reason.into();
    }
    result.to_string()
}

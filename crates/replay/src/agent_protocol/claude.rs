//! Claude Code's stream-json in both directions, with its control protocol.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Interruption, SyntheticOutput, replace_part};
use crate::message::{HostMessage, LineInfo, MessageClass};

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

pub(super) fn parse_host_line(line: &str) -> HostMessage {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return HostMessage::unreadable();
    };
    match line.r#type.as_str() {
        "user" => HostMessage { chosen_id: line.uuid, ..HostMessage::prompt() },
        "control_request" => {
            let subtype = line.request.map(|request| request.subtype).unwrap_or_default();
            let is_interrupt = subtype == "interrupt";
            let class = if is_interrupt { MessageClass::Required } else { MessageClass::Optional };
            HostMessage {
                key: key(line.request_id),
                is_interrupt,
                ..HostMessage::new(format!("request {subtype}"), class)
            }
        }
        "control_response" => {
            HostMessage::answer(&line.response.and_then(|response| key(response.request_id)).unwrap_or_default())
        }
        kind => HostMessage::new(format!("notification {kind}"), MessageClass::Optional),
    }
}

pub(super) fn parse_agent_line(line: &str) -> LineInfo {
    let Ok(line) = serde_json::from_str::<Line<'_>>(line) else {
        return LineInfo::default();
    };
    let mut info = LineInfo { session: line.session_id, ..LineInfo::default() };
    match line.r#type.as_str() {
        "control_response" => info.answered_request = line.response.and_then(|response| key(response.request_id)),
        "control_request" => info.opened_request = key(line.request_id),
        "control_cancel_request" => info.withdrawn_request = key(line.request_id),
        "result" => info.ends_turn = true,
        _ => {}
    }
    info
}

pub(super) fn set_answer_key(line: &str, key: &str) -> String {
    let id = serde_json::from_str::<Line<'_>>(line).ok().and_then(|line| line.response?.request_id);
    id.map_or_else(|| line.to_owned(), |id| replace_part(line, id.get(), key))
}

pub(super) fn answer_unrecorded(message: &HostMessage) -> Vec<SyntheticOutput> {
    match (&message.key, message.meaning.as_str()) {
        (Some(key), "request initialize") => {
            vec![success(key, &json!({"commands": [], "models": [], "account": {}}))]
        }
        (Some(key), _) => vec![success(key, &json!({}))],
        (None, "message") => vec![SyntheticOutput::Line(failed_turn("", "the recording has no further turn", None))],
        (None, "unreadable") => {
            let stderr = "Error parsing streaming input line: expected JSON".to_owned();
            vec![SyntheticOutput::Exit { stderr, code: 1 }]
        }
        (None, _) => Vec::new(),
    }
}

pub(super) fn interrupt_turn(interruption: &Interruption) -> Vec<SyntheticOutput> {
    let mut outputs: Vec<SyntheticOutput> = interruption
        .open_requests
        .iter()
        .map(|key| SyntheticOutput::Line(format!(r#"{{"type":"control_cancel_request","request_id":{key}}}"#)))
        .collect();
    if let Some(key) = &interruption.key {
        outputs.push(success(key, &json!({"still_queued": []})));
    }
    if interruption.is_running {
        let reason = if interruption.open_requests.is_empty() { "aborted_streaming" } else { "aborted_tools" };
        let marker = json!({
            "type": "user",
            "message": {"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]},
            "parent_tool_use_id": null,
            "session_id": interruption.session,
            "uuid": "00000000-0000-4000-8000-0000000000a1",
        });
        outputs.push(SyntheticOutput::Line(marker.to_string()));
        outputs.push(SyntheticOutput::Line(failed_turn(&interruption.session, "interrupted", Some(reason))));
    }
    outputs
}

fn success(key: &str, response: &Value) -> SyntheticOutput {
    let body = format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":{key},"response":{response}}}}}"#
    );
    SyntheticOutput::Answer { to: key.to_owned(), status: 200, body }
}

/// The `result` line of a turn that failed or was interrupted.
fn failed_turn(session: &str, error: &str, terminal_reason: Option<&str>) -> String {
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

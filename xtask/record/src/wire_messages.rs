//! The messages of a recording, with their kinds.

use std::collections::HashMap;
use std::io;

use interlingua_convert::Agent;
use interlingua_wirelog::{Entry, Input, Reader};
use serde_json::Value;

/// A message that crossed the wire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WireMessage {
    /// Who sent it.
    pub(crate) sender: Sender,
    /// Its native type, with a detail: `item/completed commandExecution`, `system/init`.
    pub(crate) kind: String,
    /// Its payload; null if it is not JSON.
    pub(crate) value: Value,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sender {
    /// The host.
    Host,
    /// The agent.
    Agent,
    /// The process: its input was closed, or it has exited.
    Process,
}

/// Reads the messages of a recording. Standard error is left out, because it is free text that cannot be compared.
///
/// # Errors
/// When it is not a wirelog.
pub(crate) fn read(agent: Agent, recording: &[u8]) -> io::Result<Vec<WireMessage>> {
    let mut reader = Reader::new(recording)?;
    let mut messages = Vec::new();
    // Kinds of the host's requests by id. The kind of an answer contains that of its request.
    let mut requests: HashMap<String, String> = HashMap::new();
    while let Some(entry) = reader.next()? {
        let Entry::Record(record) = entry else { continue };
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let (sender, kind, value) = match &record.input {
            Input::Stderr(_) | Input::Unreadable { .. } => continue,
            Input::Sent(line) => {
                let value = json(line);
                let kind = payload_kind(agent, &value, &requests);
                if let Some(method) = value["method"].as_str() {
                    requests.insert(value["id"].to_string(), method.to_owned());
                }
                (Sender::Host, kind, value)
            }
            Input::Received(line) => {
                let value = json(line);
                (Sender::Agent, payload_kind(agent, &value, &requests), value)
            }
            Input::Request { call, method, path, body } => {
                let name = format!("{method} {}", without_ids(path));
                requests.insert(call.to_string(), name.clone());
                (Sender::Host, name, body.as_ref().map_or(Value::Null, |body| json(body)))
            }
            Input::Reply { call, status, body } => {
                let name = requests.get(&call.to_string()).cloned().unwrap_or_default();
                let body = body.as_ref().map_or(Value::Null, |body| json(body));
                (Sender::Agent, format!("{status} to {name}"), body)
            }
            Input::Close => (Sender::Process, "input closed".to_owned(), Value::Null),
            Input::Exit { code } => (Sender::Process, format!("exit {code:?}"), Value::Null),
        };
        messages.push(WireMessage { sender, kind, value });
    }
    Ok(messages)
}

/// The kind of a payload.
fn payload_kind(agent: Agent, value: &Value, requests: &HashMap<String, String>) -> String {
    match agent {
        Agent::Claude | Agent::Amp => claude_kind(value),
        Agent::Codex => codex_kind(value, requests),
        Agent::OpenCode => opencode_kind(value),
        Agent::Acp => acp_kind(value, requests),
    }
}

fn claude_kind(value: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let kind = text(&value["type"]);
    match kind.as_str() {
        "system" | "result" => format!("{kind}/{}", text(&value["subtype"])),
        "stream_event" => {
            let event = &value["event"];
            let detail = [&event["delta"]["type"], &event["content_block"]["type"]].into_iter().find_map(Value::as_str);
            with_detail(&format!("stream_event/{}", text(&event["type"])), detail)
        }
        "assistant" | "user" => {
            let content = &value["message"]["content"];
            let blocks: Vec<&str> =
                content.as_array().into_iter().flatten().filter_map(|block| block["type"].as_str()).collect();
            with_detail(&kind, Some(blocks.join("+").as_str()).filter(|blocks| !blocks.is_empty()))
        }
        "control_request" => format!("control_request/{}", text(&value["request"]["subtype"])),
        "control_response" => format!("control_response/{}", text(&value["response"]["subtype"])),
        _ => kind,
    }
}

fn acp_kind(value: &Value, requests: &HashMap<String, String>) -> String {
    match value["method"].as_str() {
        Some(method) => with_detail(method, value["params"]["update"]["sessionUpdate"].as_str()),
        None => codex_kind(value, requests),
    }
}

fn codex_kind(value: &Value, requests: &HashMap<String, String>) -> String {
    if let Some(method) = value["method"].as_str() {
        return with_detail(method, value["params"]["item"]["type"].as_str());
    }
    let request = requests.get(&value["id"].to_string()).map_or("?", String::as_str);
    if value.get("error").is_some() { format!("error to {request}") } else { format!("result of {request}") }
}

fn opencode_kind(value: &Value) -> String {
    let kind = value["type"].as_str().unwrap_or("?");
    let properties = &value["properties"];
    let part = &properties["part"];
    let detail = match kind {
        "message.updated" => properties["info"]["role"].as_str().map(str::to_owned),
        "message.part.updated" => {
            let kind = part["type"].as_str().unwrap_or("?");
            Some(with_detail(kind, part["state"]["status"].as_str()))
        }
        "session.status" => properties["status"]["type"].as_str().map(str::to_owned),
        _ => None,
    };
    with_detail(kind, detail.as_deref())
}

fn with_detail(kind: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{kind} {detail}"),
        None => kind.to_owned(),
    }
}

/// Replaces the ids in a path by `{id}`.
fn without_ids(path: &str) -> String {
    let parts: Vec<&str> =
        path.split('/').map(|part| if part.contains('_') && part.len() > 15 { "{id}" } else { part }).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(agent: Agent, lines: &[&str]) -> Vec<String> {
        let log = format!("{{\"wirelog\":1}}\n{}\n", lines.join("\n"));
        read(agent, log.as_bytes()).unwrap().into_iter().map(|message| message.kind).collect()
    }

    #[test]
    fn kinds_are_the_native_types_of_the_agents() {
        let codex = [
            r#"{"t":1,"dir":"send","line":"{\"id\":3,\"method\":\"turn/start\"}"}"#,
            r#"{"t":2,"dir":"recv","line":"{\"id\":3,\"result\":{}}"}"#,
            r#"{"t":3,"dir":"recv","line":"{\"method\":\"item/started\",\"params\":{\"item\":{\"type\":\"fileChange\"}}}"}"#,
            r#"{"t":4,"dir":"stderr","line":"oops"}"#,
            r#"{"t":5,"dir":"exit","code":0}"#,
        ];
        assert_eq!(
            kinds(Agent::Codex, &codex),
            ["turn/start", "result of turn/start", "item/started fileChange", "exit Some(0)"]
        );
        let claude = [
            r#"{"t":1,"dir":"recv","line":"{\"type\":\"system\",\"subtype\":\"init\"}"}"#,
            r#"{"t":2,"dir":"recv","line":"{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\"}}}"}"#,
            r#"{"t":3,"dir":"recv","line":"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\"}]}}"}"#,
        ];
        assert_eq!(
            kinds(Agent::Claude, &claude),
            ["system/init", "stream_event/content_block_delta text_delta", "assistant text"]
        );
        let opencode = [
            r#"{"t":1,"dir":"send","call":1,"method":"POST","path":"/session/ses_e1e5ca0c4ffe2mDprGaJUgkVHc/abort","body":null}"#,
            r#"{"t":2,"dir":"reply","call":1,"status":200,"body":true}"#,
            r#"{"t":3,"dir":"recv","line":"{\"type\":\"message.part.updated\",\"properties\":{\"part\":{\"type\":\"tool\",\"state\":{\"status\":\"running\"}}}}"}"#,
        ];
        assert_eq!(
            kinds(Agent::OpenCode, &opencode),
            ["POST /session/{id}/abort", "200 to POST /session/{id}/abort", "message.part.updated tool running"]
        );
    }
}

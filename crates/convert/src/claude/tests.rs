//! Tests of the converter: native lines in, universal events out.

#![allow(clippy::needless_pass_by_value, reason = "test lines are built in the call")]

mod messages;
mod prompts;
mod requests;
mod sub_agents;
mod system;
mod tools;
mod turns;
mod variants;

use interlingua_schema::{Checker, ContentPart, EventData, Item, Origin, UniversalEvent};
use serde_json::{Value, json};

use super::ClaudeConverter;
use crate::losses::reports_missing_field;
use crate::{Conversion, ConversionOptions, ConversionStats, Input, Launch, StreamEnd};

/// One input of a test.
enum TestInput {
    Sent(String),
    Received(String),
    Close,
    Exit(i32),
}

/// A line that the agent prints.
fn received(line: Value) -> TestInput {
    TestInput::Received(line.to_string())
}

/// A line that the host sends.
fn sent(line: Value) -> TestInput {
    TestInput::Sent(line.to_string())
}

/// Events and statistics of a conversion.
struct Converted {
    events: Vec<UniversalEvent>,
    stats: ConversionStats,
}

/// Converts the inputs of one process and checks the lifecycle rules.
fn convert(argv: &[&str], inputs: &[TestInput]) -> Converted {
    let mut conversion = Conversion::new(ClaudeConverter::default(), ConversionOptions::default());
    let mut events = Vec::new();
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    conversion.observe_launch(None, &Launch { argv, ..Launch::default() }, &mut events);
    for input in inputs {
        let input = match input {
            TestInput::Sent(line) => Input::Sent(line.as_str()),
            TestInput::Received(line) => Input::Received(line.as_str()),
            TestInput::Close => Input::Close,
            TestInput::Exit(code) => Input::Exit { code: Some(*code) },
        };
        conversion.push(None, input, &mut events);
    }
    conversion.finish(None, StreamEnd::Log, &mut events);
    assert_eq!(conversion.stats().unaccounted, 0);
    let mut checker = Checker::new();
    let violations: Vec<_> = events.iter().flat_map(|event| checker.push(event)).collect();
    assert!(violations.is_empty(), "{violations:?}");
    events.retain(|event| !reports_missing_field(event));
    Converted { events, stats: conversion.stats().clone() }
}

/// A one-shot run with the prompt `go`.
const ONE_SHOT: [&str; 3] = ["claude", "--print", "go"];
/// A session with the control protocol.
const SESSION: [&str; 4] = ["claude", "--print", "--input-format", "stream-json"];

fn init() -> TestInput {
    received(
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "opus", "permissionMode": "default" }),
    )
}

fn assistant(id: &str, block: Value) -> TestInput {
    received(
        json!({ "type": "assistant", "session_id": "s", "message": { "id": id, "role": "assistant", "model": "opus", "content": [block] } }),
    )
}

fn text_message(id: &str, text: &str) -> TestInput {
    assistant(id, json!({ "type": "text", "text": text }))
}

fn tool_call(id: &str, name: &str, input: Value) -> TestInput {
    assistant("m", json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
}

fn tool_result(id: &str, content: Value, is_error: bool, record: Value) -> TestInput {
    let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
    received(
        json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": [block] }, "tool_use_result": record }),
    )
}

fn prompt(content: Value) -> TestInput {
    sent(json!({ "type": "user", "message": { "role": "user", "content": content } }))
}

fn success(result: &str) -> TestInput {
    received(
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": result, "session_id": "s", "queued_turn_count": 0 }),
    )
}

impl Converted {
    /// One short line per event, without `item.started` and `item.delta`. A star marks synthetic events.
    fn trace(&self) -> Vec<String> {
        self.events.iter().filter_map(summarize_event).collect()
    }

    /// Completed items.
    fn items(&self) -> impl Iterator<Item = &Item> {
        self.events.iter().filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(&data.item),
            _ => None,
        })
    }
}

fn summarize_event(event: &UniversalEvent) -> Option<String> {
    let line = match &event.data {
        EventData::ItemStarted(_) | EventData::ItemDelta(_) => return None,
        EventData::ItemCompleted(data) => {
            let item = &data.item;
            let content: Vec<String> = item.content.iter().map(summarize_part).collect();
            let failed = if json_name(&item.status) == "failed" { "!" } else { "" };
            let role = item.role.clone().map(|role| format!("/{}", json_name(&role))).unwrap_or_default();
            format!("{}{role}{failed} {}", json_name(&item.kind), content.join(" "))
        }
        EventData::TurnEnded(data) => format!("turn.ended {}", json_name(&data.status)),
        EventData::Error(data) => format!("error {}: {}", json_name(&data.code), data.message),
        EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => {
            let scope = data
                .metadata
                .as_ref()
                .and_then(|data| data.scope.clone())
                .map(|scope| json_name(&scope))
                .unwrap_or_default();
            format!("permission {} {} {scope}", data.action, json_name(&data.status)).trim_end().to_owned()
        }
        EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => {
            let response = data.response.as_deref().unwrap_or("-");
            format!("question {:?} {} {response}", data.prompt, json_name(&data.status))
        }
        other => other.kind().to_owned(),
    };
    Some(if event.origin == Origin::AGENT { line } else { format!("*{line}") })
}

fn summarize_part(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Reasoning { text, visibility } => {
            format!("({text}) {}", json_name(visibility))
        }
        ContentPart::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
        ContentPart::ToolResult { output, exit_code, .. } => {
            exit_code.map_or_else(|| format!("[{output}]"), |code| format!("[{output}] exit {code}"))
        }
        ContentPart::Status { label, detail } => {
            format!("{}: {}", json_name(label), detail.as_deref().unwrap_or("-"))
        }
        ContentPart::FileRef { path, action, .. } => {
            format!("{} {path}", json_name(action))
        }
        ContentPart::Image { mime, .. } => format!("image {}", mime.as_deref().unwrap_or("-")),
        ContentPart::Json { .. } => "{}".to_owned(),
        other @ ContentPart::Unknown(_) => format!("{other:?}"),
    }
}

/// The name of an enum value in JSON.
fn json_name(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

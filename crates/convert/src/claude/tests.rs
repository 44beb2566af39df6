//! What the converter promises, line by line.

#![allow(clippy::needless_pass_by_value, reason = "lines are written where they are used")]

mod messages;
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

/// Something that happens in a test.
enum Step {
    Sent(String),
    Received(String),
    Close,
    Exit(i32),
}

/// The agent prints this.
fn recv(line: Value) -> Step {
    Step::Received(line.to_string())
}

/// The host sends this.
fn send(line: Value) -> Step {
    Step::Sent(line.to_string())
}

struct Played {
    events: Vec<UniversalEvent>,
    tally: ConversionStats,
}

/// Plays what one process does, and checks every rule.
fn play(argv: &[&str], steps: &[Step]) -> Played {
    let mut stream = Conversion::new(ClaudeConverter::default(), ConversionOptions::default());
    let mut events = Vec::new();
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    stream.observe_launch(None, &Launch { argv, ..Launch::default() }, &mut events);
    for step in steps {
        let input = match step {
            Step::Sent(line) => Input::Sent(line.as_str()),
            Step::Received(line) => Input::Received(line.as_str()),
            Step::Close => Input::Close,
            Step::Exit(code) => Input::Exit { code: Some(*code) },
        };
        stream.push(None, input, &mut events);
    }
    stream.finish(None, StreamEnd::Log, &mut events);
    assert_eq!(stream.stats().unaccounted, 0);
    let mut checker = Checker::new();
    let broken: Vec<_> = events.iter().flat_map(|event| checker.push(event)).collect();
    assert!(broken.is_empty(), "{broken:?}");
    events.retain(|event| !reports_missing_field(event));
    Played { events, tally: stream.stats().clone() }
}

/// A one-shot run with the prompt `go`.
const ONE_SHOT: [&str; 3] = ["claude", "--print", "go"];
/// A session with the control protocol.
const SESSION: [&str; 4] = ["claude", "--print", "--input-format", "stream-json"];

fn init() -> Step {
    recv(
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "opus", "permissionMode": "default" }),
    )
}

fn assistant(id: &str, block: Value) -> Step {
    recv(
        json!({ "type": "assistant", "session_id": "s", "message": { "id": id, "role": "assistant", "model": "opus", "content": [block] } }),
    )
}

fn says(id: &str, text: &str) -> Step {
    assistant(id, json!({ "type": "text", "text": text }))
}

fn calls(id: &str, name: &str, input: Value) -> Step {
    assistant("m", json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
}

fn results(id: &str, content: Value, is_error: bool, record: Value) -> Step {
    let block = json!({ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error });
    recv(
        json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": [block] }, "tool_use_result": record }),
    )
}

fn user(content: Value) -> Step {
    send(json!({ "type": "user", "message": { "role": "user", "content": content } }))
}

fn done(result: &str) -> Step {
    recv(
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": result, "session_id": "s", "queued_turn_count": 0 }),
    )
}

impl Played {
    /// The events, one short line each; those that only prepare others are left out. A star marks what is ours.
    fn trace(&self) -> Vec<String> {
        self.events.iter().filter_map(short).collect()
    }

    /// The items that are completed.
    fn items(&self) -> impl Iterator<Item = &Item> {
        self.events.iter().filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) => Some(&data.item),
            _ => None,
        })
    }
}

fn short(event: &UniversalEvent) -> Option<String> {
    let word = |value: &dyn erased::Named| value.name();
    let line = match &event.data {
        EventData::ItemStarted(_) | EventData::ItemDelta(_) => return None,
        EventData::ItemCompleted(data) => {
            let item = &data.item;
            let content: Vec<String> = item.content.iter().map(part).collect();
            let failed = if word(&item.status) == "failed" { "!" } else { "" };
            let role = item.role.clone().map(|role| format!("/{}", word(&role))).unwrap_or_default();
            format!("{}{role}{failed} {}", word(&item.kind), content.join(" "))
        }
        EventData::TurnEnded(data) => format!("turn.ended {}", word(&data.status)),
        EventData::Error(data) => format!("error {}: {}", word(&data.code), data.message),
        EventData::PermissionRequested(data) | EventData::PermissionResolved(data) => {
            let scope = data
                .metadata
                .as_ref()
                .and_then(|data| data.scope.clone())
                .map(|scope| word(&scope))
                .unwrap_or_default();
            format!("permission {} {} {scope}", data.action, word(&data.status)).trim_end().to_owned()
        }
        EventData::QuestionRequested(data) | EventData::QuestionResolved(data) => {
            let response = data.response.as_deref().unwrap_or("-");
            format!("question {:?} {} {response}", data.prompt, word(&data.status))
        }
        other => other.kind().to_owned(),
    };
    Some(if event.origin == Origin::AGENT { line } else { format!("*{line}") })
}

fn part(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Reasoning { text, visibility } => {
            format!("({text}) {}", erased::Named::name(visibility))
        }
        ContentPart::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
        ContentPart::ToolResult { output, exit_code, .. } => {
            exit_code.map_or_else(|| format!("[{output}]"), |code| format!("[{output}] exit {code}"))
        }
        ContentPart::Status { label, detail } => {
            format!("{}: {}", erased::Named::name(label), detail.as_deref().unwrap_or("-"))
        }
        ContentPart::FileRef { path, action, .. } => {
            format!("{} {path}", erased::Named::name(action))
        }
        ContentPart::Image { mime, .. } => format!("image {}", mime.as_deref().unwrap_or("-")),
        ContentPart::Json { .. } => "{}".to_owned(),
        other @ ContentPart::Unknown(_) => format!("{other:?}"),
    }
}

/// The name of a value as it is written.
mod erased {
    pub(super) trait Named {
        fn name(&self) -> String;
    }

    impl<T: serde::Serialize> Named for T {
        fn name(&self) -> String {
            serde_json::to_value(self).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
        }
    }
}

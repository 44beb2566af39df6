//! The bounds hold, and nothing comes out that must not, in the stream of every recording.

use interlingua_envelope::bounds::{
    MAX_CHANNEL_BYTES, MAX_DATA_BYTES, MAX_FINAL_TEXT_BYTES, MAX_MESSAGE_BYTES, MAX_TEXT_BYTES,
};
use interlingua_envelope::{
    AgentWrapperEvent, AgentWrapperEventKind as Kind, EnvelopeLine, EnvelopeMetadata, ToolsFacet,
};
use interlingua_schema::{ContentPart, EventData, Item, ItemKind, Role, StatusLabel};
use interlingua_wirelog::Input;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::projected::{Projected, all};

fn bounded(text: Option<&str>, bound: usize) -> bool {
    text.is_none_or(|text| text.len() <= bound)
}

fn data_is_bounded(data: Option<&Value>) -> bool {
    data.is_none_or(|data| serde_json::to_vec(data).unwrap().len() <= MAX_DATA_BYTES)
}

#[test]
fn every_event_of_every_recording_keeps_the_bounds_and_the_payload_of_its_kind() {
    let mut seen = 0;
    for projected in all() {
        let name = projected.recording.name();
        for event in &projected.events {
            assert!(bounded(event.channel(), MAX_CHANNEL_BYTES), "{name}: {event:?}");
            assert!(bounded(event.text(), MAX_TEXT_BYTES), "{name}: {event:?}");
            assert!(bounded(event.message(), MAX_MESSAGE_BYTES), "{name}: {event:?}");
            assert!(data_is_bounded(event.data().as_ref()), "{name}: {event:?}");
            let payload = (event.text().is_some(), event.message().is_some());
            let expected = match event.kind() {
                Kind::TextOutput => (true, false),
                Kind::Status | Kind::Error => (false, true),
                Kind::ToolCall | Kind::ToolResult | Kind::Unknown => (false, false),
            };
            assert_eq!(payload, expected, "{name}: {event:?}");
            let data = event.data().unwrap();
            let read = match event.kind() {
                Kind::ToolCall | Kind::ToolResult => serde_json::to_value(read::<ToolsFacet>(&data)),
                _ => serde_json::to_value(read::<EnvelopeMetadata>(&data)),
            };
            assert_eq!(read.unwrap(), data, "{name}: the types know all of it");
            seen += 1;
        }
        for completion in &projected.completions {
            assert!(bounded(completion.final_text(), MAX_FINAL_TEXT_BYTES), "{name}: {completion:?}");
            assert!(data_is_bounded(completion.data().as_ref()), "{name}: {completion:?}");
        }
        for line in projected.lines().map(|line| serde_json::to_string(&line).unwrap()) {
            let mut written = Vec::new();
            let read: EnvelopeLine =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
            assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::from_str::<Value>(&line).unwrap(), "{name}");
            read.write_json(&mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&read).unwrap(), "{name}");
        }
    }
    assert!(seen > 3000, "only {seen} events");
}

fn read<T: DeserializeOwned>(data: &Value) -> T {
    serde_json::from_value(data.clone()).unwrap()
}

/// What must not be in an event beside its text.
fn without_text(event: &AgentWrapperEvent) -> String {
    let mut event = serde_json::to_value(event).unwrap();
    event.as_object_mut().unwrap().remove("text");
    event.to_string()
}

/// Short texts stand anywhere by chance.
const LEAST: usize = 12;

fn leaks<'a>(projected: &Projected, contents: impl Iterator<Item = &'a str>) -> Vec<String> {
    let events: Vec<String> = projected.events.iter().map(without_text).collect();
    let mut found = Vec::new();
    for content in contents.filter(|content| content.len() >= LEAST) {
        let written = Value::from(content).to_string();
        let written = &written[1..written.len() - 1];
        found.extend(
            events
                .iter()
                .filter(|event| event.contains(written))
                .map(|event| format!("{}: {content:?} in {event}", projected.recording.name())),
        );
    }
    found
}

#[test]
fn no_line_that_an_agent_printed_comes_out() {
    for projected in all() {
        let (mut printed, mut said) = (Vec::new(), Vec::new());
        for line in projected.recording.lines().unwrap() {
            if let Input::Stderr(line) | Input::Received(line) = line {
                strings(&serde_json::from_str(&line).unwrap_or_default(), &mut said);
                printed.push(line.trim().to_owned());
            }
        }
        // An agent may print the very words that it also says in a payload.
        printed.retain(|line| !said.contains(line));
        let found = leaks(projected, printed.iter().map(String::as_str));
        assert!(found.is_empty(), "{found:#?}");
    }
}

fn is_retry(item: &Item) -> bool {
    item.content.iter().any(|part| matches!(part, ContentPart::Status { label: StatusLabel::Retry, .. }))
}

#[test]
fn no_input_output_or_diff_of_a_tool_comes_out() {
    let mut tools = 0;
    for projected in all() {
        let mut contents = Vec::new();
        for event in projected.universal {
            let EventData::ItemCompleted(data) = &event.data else { continue };
            for part in &data.item.content {
                match part {
                    ContentPart::ToolCall { arguments, title, input, .. } => {
                        tools += 1;
                        contents.push(arguments.clone());
                        strings(&serde_json::from_str(arguments).unwrap_or_default(), &mut contents);
                        // The title of a call of which nothing else is known is the tool's name.
                        contents.extend(title.clone().filter(|_| input.is_some()));
                        strings(&serde_json::to_value(input).unwrap_or_default(), &mut contents);
                    }
                    ContentPart::ToolResult { output, .. } => {
                        contents.push(output.clone());
                        contents.extend(output.lines().map(str::to_owned));
                    }
                    ContentPart::FileRef { path, diff, .. } => {
                        contents.extend([Some(path.clone()), diff.clone()].into_iter().flatten());
                    }
                    // Why a request is made again may also be why the turn failed, which comes out.
                    ContentPart::Json { .. } if is_retry(&data.item) => {}
                    ContentPart::Json { json } => strings(json, &mut contents),
                    ContentPart::Status { detail: Some(detail), .. } => contents.push(detail.clone()),
                    ContentPart::Text { text } if data.item.kind != ItemKind::Message => contents.push(text.clone()),
                    _ => {}
                }
            }
        }
        // A name is one also where a tool is told it or tells it.
        let names = names(projected);
        contents.retain(|content| !names.contains(content));
        let found = leaks(projected, contents.iter().map(String::as_str));
        assert!(found.is_empty(), "{found:#?}");
    }
    assert!(tools > 200, "only {tools} tool calls");
}

/// The task of a sub-agent is the input of the tool that starts it.
#[test]
fn the_task_of_a_sub_agent_does_not_come_out() {
    let mut tasks = 0;
    for projected in all() {
        for event in projected.universal {
            let EventData::ItemCompleted(data) = &event.data else { continue };
            let item = &data.item;
            if item.role == Some(Role::User) && item.parent_id.is_some() {
                let task: String = item.streamed_text().collect();
                assert!(
                    projected.events.iter().all(|event| event.channel() != Some("user") || event.text() != Some(&task))
                );
                tasks += 1;
            }
        }
    }
    assert!(tasks > 0);
}

fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| strings(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

fn names(projected: &Projected) -> Vec<String> {
    let mut names = Vec::new();
    for event in projected.universal {
        names.extend(event.native_session_id.as_ref().map(ToString::to_string));
        match &event.data {
            EventData::ItemStarted(data) => {
                names.extend(data.item.native_item_id.as_ref().map(ToString::to_string));
                names.extend(
                    data.item
                        .content
                        .iter()
                        .filter_map(|part| match part {
                            ContentPart::ToolCall { call_id, name, .. } => Some([call_id.clone(), name.clone()]),
                            _ => None,
                        })
                        .flatten(),
                );
            }
            EventData::TurnStarted(data) => names.push(data.turn_id.clone()),
            EventData::TurnEnded(data) => names.extend(data.usage.as_ref().and_then(|usage| usage.model.clone())),
            _ => {}
        }
    }
    names
}

#[test]
fn every_agent_kind_is_that_of_its_recording() {
    for projected in all() {
        let expected = projected.recording.agent.descriptor().envelope_name;
        assert!(projected.events.iter().all(|event| event.agent_kind().as_str() == expected));
    }
}

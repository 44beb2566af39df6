//! The envelope stream of every recording keeps the size limits, and leaks no content of tools.

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

use super::projected::{ProjectedRecording, projected_recordings};

fn is_within(text: Option<&str>, limit: usize) -> bool {
    text.is_none_or(|text| text.len() <= limit)
}

fn is_data_within_limit(data: Option<&Value>) -> bool {
    data.is_none_or(|data| serde_json::to_vec(data).unwrap().len() <= MAX_DATA_BYTES)
}

#[test]
fn every_event_keeps_the_limits_and_has_the_payload_of_its_kind() {
    let mut checked = 0;
    for projected in projected_recordings() {
        let name = projected.recording.name();
        for event in &projected.events {
            assert!(is_within(event.channel(), MAX_CHANNEL_BYTES), "{name}: {event:?}");
            assert!(is_within(event.text(), MAX_TEXT_BYTES), "{name}: {event:?}");
            assert!(is_within(event.message(), MAX_MESSAGE_BYTES), "{name}: {event:?}");
            assert!(is_data_within_limit(event.data().as_ref()), "{name}: {event:?}");
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
            assert_eq!(read.unwrap(), data, "{name}: the data has fields that its type does not have");
            checked += 1;
        }
        for completion in &projected.completions {
            assert!(is_within(completion.final_text(), MAX_FINAL_TEXT_BYTES), "{name}: {completion:?}");
            assert!(is_data_within_limit(completion.data().as_ref()), "{name}: {completion:?}");
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
    assert!(checked > 3000, "only {checked} events; are recordings missing?");
}

fn read<T: DeserializeOwned>(data: &Value) -> T {
    serde_json::from_value(data.clone()).unwrap()
}

/// The JSON of an event without its text, where content may not appear.
fn json_without_text(event: &AgentWrapperEvent) -> String {
    let mut event = serde_json::to_value(event).unwrap();
    event.as_object_mut().unwrap().remove("text");
    event.to_string()
}

/// Shorter texts are not searched for, because they can occur by chance.
const MIN_LEAK_BYTES: usize = 12;

/// Finds content that occurs in an event outside of its text.
fn find_leaks<'a>(projected: &ProjectedRecording, contents: impl Iterator<Item = &'a str>) -> Vec<String> {
    let events: Vec<String> = projected.events.iter().map(json_without_text).collect();
    let mut found = Vec::new();
    for content in contents.filter(|content| content.len() >= MIN_LEAK_BYTES) {
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
fn no_line_that_an_agent_printed_is_projected() {
    for projected in projected_recordings() {
        let (mut printed, mut payload_strings) = (Vec::new(), Vec::new());
        for input in projected.recording.inputs().unwrap() {
            if let Input::Stderr(line) | Input::Received(line) = input {
                collect_strings(&serde_json::from_str(&line).unwrap_or_default(), &mut payload_strings);
                printed.push(line.trim().to_owned());
            }
        }
        // An agent may print a text that a payload also contains.
        printed.retain(|line| !payload_strings.contains(line));
        let found = find_leaks(projected, printed.iter().map(String::as_str));
        assert!(found.is_empty(), "{found:#?}");
    }
}

fn is_retry(item: &Item) -> bool {
    item.content.iter().any(|part| matches!(part, ContentPart::Status { label: StatusLabel::Retry, .. }))
}

#[test]
fn no_input_output_or_diff_of_a_tool_is_projected() {
    let mut tools = 0;
    for projected in projected_recordings() {
        let mut contents = Vec::new();
        for event in projected.universal {
            let EventData::ItemCompleted(data) = &event.data else { continue };
            for part in &data.item.content {
                match part {
                    ContentPart::ToolCall { arguments, title, input, .. } => {
                        tools += 1;
                        contents.push(arguments.clone());
                        collect_strings(&serde_json::from_str(arguments).unwrap_or_default(), &mut contents);
                        // Without an input, the title of a call is the tool's name, which may be projected.
                        contents.extend(title.clone().filter(|_| input.is_some()));
                        collect_strings(&serde_json::to_value(input).unwrap_or_default(), &mut contents);
                    }
                    ContentPart::ToolResult { output, .. } => {
                        contents.push(output.clone());
                        contents.extend(output.lines().map(str::to_owned));
                    }
                    ContentPart::FileRef { path, diff, .. } => {
                        contents.extend([Some(path.clone()), diff.clone()].into_iter().flatten());
                    }
                    // The reason of a retry may also be the reason why the turn failed, which is projected.
                    ContentPart::Json { .. } if is_retry(&data.item) => {}
                    ContentPart::Json { json } => collect_strings(json, &mut contents),
                    ContentPart::Status { detail: Some(detail), .. } => contents.push(detail.clone()),
                    ContentPart::Text { text } if data.item.kind != ItemKind::Message => contents.push(text.clone()),
                    _ => {}
                }
            }
        }
        // Names and ids may be projected, even if they, or parts of them, are also in a tool's input or output.
        let names = projected_names(projected);
        contents.retain(|content| !names.iter().any(|name| name.contains(content.as_str())));
        let found = find_leaks(projected, contents.iter().map(String::as_str));
        assert!(found.is_empty(), "{found:#?}");
    }
    assert!(tools > 200, "only {tools} tool calls; are recordings missing?");
}

/// The task of a sub-agent is the input of the tool that starts it.
#[test]
fn the_task_of_a_sub_agent_is_not_projected() {
    let mut tasks = 0;
    for projected in projected_recordings() {
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
    assert!(tasks > 0, "no recording has a sub-agent with a task");
}

fn collect_strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect_strings(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| collect_strings(value, found)),
        _ => {}
    }
}

/// Names and ids that the envelope contains on purpose.
fn projected_names(projected: &ProjectedRecording) -> Vec<String> {
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
fn every_event_has_the_agent_kind_of_its_recording() {
    for projected in projected_recordings() {
        let expected = projected.recording.agent.descriptor().envelope_name;
        assert!(projected.events.iter().all(|event| event.agent_kind().as_str() == expected));
    }
}

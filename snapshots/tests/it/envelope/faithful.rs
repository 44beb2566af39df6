//! The envelope is complete: every text once, every tool with its numbers, and how each session ended.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_envelope::{
    AgentWrapperCompletionStatus as Status, AgentWrapperEventKind as Kind, Tool, ToolPhase, ToolsFacet,
};
use interlingua_schema::{ContentPart, EventData, ItemKind, ItemStatus, Role, SessionId};

use super::projected::{ProjectedRecording, projected_recordings};

#[test]
fn the_text_of_every_message_is_projected_once_and_on_the_right_channel() {
    let mut messages = 0;
    for projected in projected_recordings() {
        let mut projected_texts: BTreeMap<(String, String, String), String> = BTreeMap::new();
        for event in projected.events.iter().filter(|event| event.kind() == Kind::TextOutput) {
            let data = event.data().unwrap();
            let field = |name: &str| data[name].as_str().unwrap().to_owned();
            let key = (field("session_id"), field("item_id"), event.channel().unwrap().to_owned());
            projected_texts.entry(key).or_default().push_str(event.text().unwrap());
        }
        let mut expected = BTreeMap::new();
        for event in projected.universal {
            let EventData::ItemCompleted(data) = &event.data else { continue };
            let item = &data.item;
            let text: String = item.streamed_text().collect();
            let is_reasoning = item.content.iter().any(|part| matches!(part, ContentPart::Reasoning { .. }));
            let channel = match (item.kind.clone(), item.role.clone()) {
                (ItemKind::Message, Some(Role::Assistant)) if is_reasoning => "reasoning",
                (ItemKind::Message, Some(Role::Assistant)) => "assistant",
                (ItemKind::Message, Some(Role::User)) if item.parent_id.is_none() => "user",
                _ => continue,
            };
            if !text.is_empty() {
                expected.insert((event.session_id.to_string(), item.item_id.to_string(), channel.to_owned()), text);
                messages += 1;
            }
        }
        // A recording that stops in the middle leaves text of messages that never complete.
        let open = open_item_ids(projected);
        projected_texts.retain(|(_, item, _), _| !open.contains(item));
        assert_eq!(projected_texts, expected, "{}", projected.recording.name());
    }
    assert!(messages > 500, "only {messages} messages; are recordings missing?");
}

fn open_item_ids(projected: &ProjectedRecording) -> BTreeSet<String> {
    let mut open = BTreeSet::new();
    for event in projected.universal {
        match &event.data {
            EventData::ItemStarted(data) => drop(open.insert(data.item.item_id.to_string())),
            EventData::ItemCompleted(data) => drop(open.remove(data.item.item_id.as_str())),
            _ => {}
        }
    }
    open
}

/// The facets of completed and failed tool results, in order.
fn finished_results(projected: &ProjectedRecording) -> Vec<Tool> {
    let results = projected.events.iter().filter(|event| event.kind() == Kind::ToolResult);
    let tools = results.map(|event| serde_json::from_value::<ToolsFacet>(event.data().unwrap()).unwrap().tool);
    tools.filter(|tool| matches!(tool.phase, ToolPhase::Complete | ToolPhase::Fail)).collect()
}

#[test]
fn every_tool_result_has_its_name_its_ids_and_its_numbers() {
    let mut compared = 0;
    for projected in projected_recordings() {
        let name = projected.recording.name();
        let mut calls = BTreeMap::new();
        let mut results = finished_results(projected).into_iter();
        for event in projected.universal {
            let item = match &event.data {
                EventData::ItemStarted(data) | EventData::ItemCompleted(data) => &data.item,
                _ => continue,
            };
            for part in &item.content {
                match part {
                    ContentPart::ToolCall { name, call_id, .. } => {
                        calls.insert((event.session_id.clone(), call_id.clone()), name.clone());
                    }
                    ContentPart::ToolResult { call_id, output, exit_code, stderr_bytes, .. }
                        if item.status != ItemStatus::InProgress =>
                    {
                        let tool = results.next().unwrap();
                        let text = |name: &Option<interlingua_envelope::Name>| name.as_ref().map(ToString::to_string);
                        assert_eq!(text(&tool.tool_use_id).as_ref(), Some(call_id), "{name}");
                        assert_eq!(
                            text(&tool.tool_name).as_ref(),
                            calls.get(&(event.session_id.clone(), call_id.clone())),
                            "{name}"
                        );
                        assert_eq!(
                            text(&tool.backend_item_id),
                            item.native_item_id.as_ref().map(ToString::to_string),
                            "{name}"
                        );
                        assert_eq!(
                            text(&tool.thread_id),
                            event.native_session_id.as_ref().map(ToString::to_string),
                            "{name}"
                        );
                        assert_eq!(tool.exit_code, *exit_code, "{name}");
                        assert_eq!(tool.bytes.result, output.len() as u64, "{name}");
                        assert_eq!(tool.bytes.stderr, stderr_bytes.unwrap_or(0), "{name}");
                        assert_eq!(tool.phase == ToolPhase::Fail, item.status == ItemStatus::Failed, "{name}");
                        compared += 1;
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(results.next(), None, "{name}");
    }
    assert!(compared > 200, "only {compared} tool results; are recordings missing?");
}

#[test]
fn every_session_has_exactly_one_completion() {
    let mut statuses = BTreeSet::new();
    for projected in projected_recordings() {
        let sessions: BTreeSet<&SessionId> = projected.universal.iter().map(|event| &event.session_id).collect();
        assert_eq!(projected.completions.len(), sessions.len(), "{}", projected.recording.name());
        statuses.extend(projected.completions.iter().map(|completion| format!("{:?}", completion.status())));
        for completion in &projected.completions {
            let has_answer = completion.final_text().is_some();
            assert!(
                !has_answer || completion.status() != Status::Incomplete || completion.data().unwrap()["turns"] != 0
            );
        }
    }
    let expected = ["Completed", "Failed", "Incomplete", "Interrupted"].map(str::to_owned);
    assert_eq!(
        statuses,
        BTreeSet::from(expected),
        "the recordings contain every completion status except those that only our API sets"
    );
}

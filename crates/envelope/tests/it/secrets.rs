//! No content of universal events gets into the envelope, except the text of messages.
//!
//! The events are generated from the JSON Schema of the universal event, with a secret in every string that is not listed
//! here as an id or a name. So an event type, content part or field that is added to the schema is tested as well, and the
//! test fails if the projector passes it on.

mod schema_filler;

use std::collections::BTreeSet;

use interlingua_convert::Agent;
use interlingua_envelope::{AgentWrapperEvent, AgentWrapperEventKind as Kind, Projector};
use interlingua_schema::{EventData, Item, ItemKind, Role, Source, UniversalEvent};
use serde_json::Value;

use self::schema_filler::SchemaFiller;

/// Number of rounds. Each generates every event type with other choices.
const ROUNDS: u64 = 600;

/// Fields that are ids or names. They are passed on, unless they are not valid names (see `tools.rs`).
const NAMES: [&str; 13] = [
    "call_id",
    "event_id",
    "item_id",
    "model",
    "name",
    "native_item_id",
    "native_session_id",
    "native_type",
    "parent_id",
    "permission_id",
    "question_id",
    "session_id",
    "turn_id",
];

/// Fields that have content. They are listed to check that the filler reaches them.
const CONTENT: [&str; 20] = [
    "action",
    "arguments",
    "delta",
    "detail",
    "details",
    "diff",
    "error",
    "head",
    "json",
    "message",
    "metadata",
    "options",
    "output",
    "path",
    "prompt",
    "raw",
    "response",
    "stderr",
    "tail",
    "text",
];

/// Whether the text of this item may be passed on.
fn is_text_allowed(item: &Item) -> bool {
    let is_sub_agent_task = item.role == Some(Role::User) && item.parent_id.is_some();
    item.kind == ItemKind::Message && matches!(item.role, Some(Role::User | Role::Assistant)) && !is_sub_agent_task
}

/// The secrets in a text. A secret is `SECRET:`, the path of the field, and `:END`.
fn secrets(text: &str) -> impl Iterator<Item = &str> {
    text.split("SECRET:").skip(1).map(|rest| rest.split(":END").next().unwrap())
}

fn assert_no_secrets(source: &UniversalEvent, open_item: Option<&Item>, event: &AgentWrapperEvent) {
    let mut json: Value = serde_json::to_value(event).unwrap();
    if let Some(text) = event.text() {
        let (item, fields): (_, &[&str]) = match &source.data {
            EventData::ItemCompleted(data) => (Some(&data.item), &["text"]),
            EventData::ItemDelta(_) => (open_item, &["delta"]),
            _ => (None, &[]),
        };
        assert!(item.is_some_and(is_text_allowed), "{text} comes from {source:?}");
        for secret in secrets(text) {
            assert!(fields.contains(&secret.rsplit('/').next().unwrap()), "{secret} comes from {source:?}");
        }
        json.as_object_mut().unwrap().remove("text");
    }
    if let (EventData::Error(error), Some(message)) = (&source.data, event.message())
        && source.origin.source() == Source::Agent
    {
        assert_eq!(message, error.message);
        json.as_object_mut().unwrap().remove("message");
    }
    let json = json.to_string();
    assert_eq!(secrets(&json).next(), None, "{json}\ncomes from {source:?}");
}

#[test]
fn no_content_is_passed_on_except_the_text_of_messages() {
    let schema = interlingua_schema::json_schema().to_value();
    let types = schema["oneOf"].as_array().unwrap();
    let mut reached = BTreeSet::new();
    let mut projected_kinds = BTreeSet::new();
    for round in 0..ROUNDS {
        let mut filler = SchemaFiller::new(&schema, &NAMES, round);
        let mut projector = Projector::new(Agent::Codex);
        let mut open_item: Option<Item> = None;
        // Each type twice, so that each comes before and after every other.
        for _ in 0..2 {
            for kind in types {
                let json = filler.event(kind);
                let event: UniversalEvent = serde_json::from_value(json.clone()).unwrap();
                assert!(!matches!(event.data, EventData::Unknown(_)), "{json}");
                for projected in projector.push(&event) {
                    assert_no_secrets(&event, open_item.as_ref(), &projected);
                    projected_kinds.insert((projected.kind(), projected.channel().map(str::to_owned)));
                }
                match event.data {
                    EventData::ItemStarted(data) => open_item = Some(data.item),
                    // All items have the same id, so this completes the open one.
                    EventData::ItemCompleted(_) => open_item = None,
                    _ => {}
                }
            }
        }
        for completion in projector.finish() {
            let mut json = serde_json::to_value(completion).unwrap();
            if let Some(text) = json.as_object_mut().unwrap().remove("final_text") {
                assert!(secrets(text.as_str().unwrap()).all(|secret| secret.ends_with("/text")), "{text}");
            }
            assert_eq!(secrets(&json.to_string()).next(), None, "{json}");
        }
        reached.append(&mut filler.reached);
    }
    for field in CONTENT {
        assert!(reached.contains(field), "the filler does not reach `{field}`");
    }
    // The test would be useless if nothing was passed on.
    let channels = |kind: Kind| -> Vec<Option<&str>> {
        projected_kinds.iter().filter(|(found, _)| *found == kind).map(|(_, channel)| channel.as_deref()).collect()
    };
    assert_eq!(channels(Kind::TextOutput), [Some("assistant"), Some("reasoning"), Some("user")]);
    assert_eq!(channels(Kind::ToolCall), [Some("tool")]);
    assert_eq!(channels(Kind::ToolResult), [Some("tool")]);
    assert_eq!(channels(Kind::Status), [Some("status")]);
    assert_eq!(channels(Kind::Error), [Some("error")]);
    assert_eq!(channels(Kind::Unknown), [None]);
}

//! Nothing that an event carries as content comes out, but for words that were said.
//!
//! The events are not written by hand: they are made from the JSON Schema of the universal event, with a secret in every
//! string that is not listed here as an id or a name. An event type, a content part or a field that is added to the schema
//! is in this test from then on, and fails it if the projector lets it through.

mod filled;

use std::collections::BTreeSet;

use interlingua_convert::Agent;
use interlingua_envelope::{AgentWrapperEvent, AgentWrapperEventKind as Kind, Projector};
use interlingua_schema::{EventData, Item, ItemKind, Role, Source, UniversalEvent};
use serde_json::Value;

use self::filled::Filler;

/// So many times each type of event is made, with other choices each time.
const ROUNDS: u64 = 600;

/// Strings that are ids or names, by their field. They may come out; what hides in them does not (`tools.rs`).
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

/// Fields that carry content. Not needed to find leaks, but to know that the filler reaches them.
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

/// Whether what this item says may come out as text.
fn speaks(item: &Item) -> bool {
    let sub_agents_task = item.role == Some(Role::User) && item.parent_id.is_some();
    item.kind == ItemKind::Message && matches!(item.role, Some(Role::User | Role::Assistant)) && !sub_agents_task
}

/// The secrets in a text, which are `SECRET:` and the path of the field.
fn secrets(text: &str) -> impl Iterator<Item = &str> {
    text.split("SECRET:").skip(1).map(|rest| rest.split(":END").next().unwrap())
}

fn check(source: &UniversalEvent, begun: Option<&Item>, event: &AgentWrapperEvent) {
    let mut json: Value = serde_json::to_value(event).unwrap();
    if let Some(text) = event.text() {
        let (said_by, fields): (_, &[&str]) = match &source.data {
            EventData::ItemCompleted(data) => (Some(&data.item), &["text"]),
            EventData::ItemDelta(_) => (begun, &["delta"]),
            _ => (None, &[]),
        };
        assert!(said_by.is_some_and(speaks), "{text} comes from {source:?}");
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
fn no_content_of_any_event_comes_out_but_words_that_were_said() {
    let schema = interlingua_schema::json_schema().to_value();
    let types = schema["oneOf"].as_array().unwrap();
    let mut reached = BTreeSet::new();
    let mut came_out = BTreeSet::new();
    for round in 0..ROUNDS {
        let mut filler = Filler::new(&schema, &NAMES, round);
        let mut projector = Projector::new(Agent::Codex);
        let mut begun: Option<Item> = None;
        // Each type twice, so that each comes before and after each other.
        for _ in 0..2 {
            for kind in types {
                let made = filler.event(kind);
                let event: UniversalEvent = serde_json::from_value(made.clone()).unwrap();
                assert!(!matches!(event.data, EventData::Unknown(_)), "{made}");
                for projected in projector.push(&event) {
                    check(&event, begun.as_ref(), &projected);
                    came_out.insert((projected.kind(), projected.channel().map(str::to_owned)));
                }
                match event.data {
                    EventData::ItemStarted(data) => begun = Some(data.item),
                    // All items have the same id here, so the one that began is over.
                    EventData::ItemCompleted(_) => begun = None,
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
    // It is no use to let nothing through.
    let channels = |kind: Kind| -> Vec<Option<&str>> {
        came_out.iter().filter(|(found, _)| *found == kind).map(|(_, channel)| channel.as_deref()).collect()
    };
    assert_eq!(channels(Kind::TextOutput), [Some("assistant"), Some("reasoning"), Some("user")]);
    assert_eq!(channels(Kind::ToolCall), [Some("tool")]);
    assert_eq!(channels(Kind::ToolResult), [Some("tool")]);
    assert_eq!(channels(Kind::Status), [Some("status")]);
    assert_eq!(channels(Kind::Error), [Some("error")]);
    assert_eq!(channels(Kind::Unknown), [None]);
}

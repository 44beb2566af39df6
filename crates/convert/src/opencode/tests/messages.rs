//! Messages: text, reasoning, copied history and invalid payloads.

use interlingua_native::Union as _;
use interlingua_native::opencode::Event;
use interlingua_schema::{ContentPart, ItemKind, ItemStatus, Role, Visibility};
use serde_json::{Value, json};

use super::harness::{CREATED, Harness, texts_of};
use crate::losses::count_unparsed;
use crate::opencode::SYNC_DUPLICATE;

#[test]
fn every_variant_of_the_schema_is_accounted_for() {
    for (tag, _) in Event::TAGS {
        let mut server = Harness::with_session("1.18.33");
        server.event(tag, json!({}));
        server.event(tag, json!({ "sessionID": "ses_1" }));
        server.finish();
        let stats = server.conversion.stats();
        assert_eq!(stats.unaccounted, 0, "{tag}");
        let unknown = stats.first_unparsed.as_deref().is_some_and(|error| error.contains("does not know"));
        assert!(!unknown, "{tag} is missing from the table");
    }
}

#[test]
fn reasoning_and_text_stream_under_the_same_field() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    for (id, kind) in [("prt_r", "reasoning"), ("prt_x", "text")] {
        server.part("ses_1", "msg_2", json!({ "id": id, "type": kind, "text": "", "time": { "start": 1 } }));
        for delta in ["a ", "b "] {
            let properties =
                json!({ "sessionID": "ses_1", "messageID": "msg_2", "partID": id, "field": "text", "delta": delta });
            server.event("message.part.delta", properties);
        }
        let time = json!({ "start": 1, "end": 2 });
        server.part("ses_1", "msg_2", json!({ "id": id, "type": kind, "text": "a b ", "time": time }));
    }
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::User), ["hi"]);
    assert_eq!(items[1].content, [ContentPart::reasoning("a b ", Visibility::Public)]);
    assert_eq!(items[2].content, [ContentPart::text("a b ")]);
    let deltas = server.events.iter().filter(|event| event.data.kind() == "item.delta" && !event.origin.is_synthetic());
    assert_eq!(deltas.count(), 4);
}

#[test]
fn in_1_1_deltas_come_with_the_part_and_trailing_whitespace_is_trimmed() {
    let mut server = Harness::with_session("1.1.34");
    let send_part = |server: &mut Harness, part: Value, delta: Option<&str>| {
        let mut properties = json!({ "part": part });
        if let Some(delta) = delta {
            properties["delta"] = delta.into();
        }
        server.receive(&json!({ "type": "message.part.updated", "properties": properties }).to_string());
    };
    let part = |text: &str, end: bool| {
        let time = if end { json!({ "start": 1, "end": 2 }) } else { json!({ "start": 1 }) };
        json!({ "id": "prt_1", "sessionID": "ses_1", "messageID": "msg_2", "type": "text", "text": text, "time": time })
    };
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    send_part(&mut server, part("one ", false), Some("one "));
    send_part(&mut server, part("one two \n", false), Some("two \n"));
    send_part(&mut server, part("one two", true), None);
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::Assistant), ["one two"]);
    assert!(items.iter().all(|item| item.status == ItemStatus::Completed));
    let deltas = server.events.iter().filter(|event| event.data.kind() == "item.delta" && !event.origin.is_synthetic());
    assert_eq!(deltas.count(), 2);
}

#[test]
fn a_text_without_an_end_is_failed_after_a_retry() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.part("ses_1", "msg_2", json!({ "id": "prt_2", "type": "text", "text": "half", "time": { "start": 1 } }));
    let status = json!({ "type": "retry", "attempt": 1, "message": "cut", "next": 5 });
    server.event("session.status", json!({ "sessionID": "ses_1", "status": status }));
    server
        .text_part("ses_1", "msg_2", "prt_3", "half and half")
        .complete_message("ses_1", "msg_2", "stop")
        .idle("ses_1");
    let items = server.completed_items();
    let statuses: Vec<(ItemKind, ItemStatus)> =
        items.iter().map(|item| (item.kind.clone(), item.status.clone())).collect();
    assert_eq!(statuses[1], (ItemKind::Message, ItemStatus::Failed));
    assert_eq!(statuses[2], (ItemKind::Status, ItemStatus::Completed));
    assert_eq!(statuses[3], (ItemKind::Message, ItemStatus::Completed));
}

#[test]
fn messages_copied_by_a_fork_are_dropped() {
    let mut server = Harness::with_session("1.18.33");
    let info =
        json!({ "id": "msg_o", "role": "assistant", "time": { "created": CREATED - 5, "completed": CREATED - 4 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    server.text_part("ses_1", "msg_o", "prt_o", "old").tool_part(
        "msg_o",
        "bash",
        json!({ "status": "completed", "output": "old" }),
    );
    assert_eq!(server.event_types(), ["session.started"]);
}

#[test]
fn a_synthetic_text_is_a_system_item() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({})).complete_message("ses_1", "msg_2", "stop");
    let info = json!({ "id": "msg_s", "role": "user", "time": { "created": CREATED + 1 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    server.part("ses_1", "msg_s", json!({ "id": "prt_s", "type": "text", "text": "Continue", "synthetic": true }));
    server.busy("ses_1");
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::User), ["a"]);
    assert_eq!((items[1].kind.clone(), &items[1].content), (ItemKind::System, &vec![ContentPart::text("Continue")]));
}

#[test]
fn wrapped_events_are_read_and_their_duplicates_dropped() {
    let mut server = Harness::new();
    let event = json!({ "id": "evt_1", "type": "session.created", "properties": { "info": { "id": "ses_1" } } });
    let sync = json!({ "type": "sync", "syncEvent": { "type": "session.created.1", "data": {} } });
    server.receive(&json!({ "directory": "/w", "payload": event }).to_string());
    server.receive(&json!({ "directory": "/w", "payload": sync }).to_string());
    assert_eq!(server.event_types(), ["session.started"]);
    assert_eq!(server.conversion.stats().dropped[SYNC_DUPLICATE], 1);
}

#[test]
fn invalid_lines_are_unparsed_and_the_stream_continues() {
    let mut server = Harness::with_session("1.18.33");
    for line in [
        "",
        "{",
        "[]",
        "7",
        r#"{"type":"no.such"}"#,
        r#"{"type":"message.updated","properties":5}"#,
        r#"{"payload":3}"#,
    ] {
        server.receive(line);
    }
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({})).text_part("ses_1", "msg_2", "prt_2", "b");
    assert_eq!(texts_of(&server.completed_items(), Role::Assistant), ["b"]);
    // The line with invalid properties is reported twice: for the payload and for the field.
    assert_eq!(count_unparsed(server.conversion.stats()), 8);
}

//! Every variant of the schema, unknown payloads and legacy events.

use interlingua_native::Union as _;
use interlingua_native::codex::{ServerNotification, ServerRequest, ThreadItem, exec};
use serde_json::{Value, json};

use super::harness::Harness;
use crate::Input;
use crate::losses::count_unparsed;

#[test]
fn every_notification_of_the_schema_is_known() {
    for (tag, _) in ServerNotification::TAGS {
        let mut codex = Harness::in_turn();
        codex.notify(tag, json!({}));
        codex.checked_events();
        assert_eq!((codex.stats().unaccounted, count_unparsed(codex.stats())), (0, 0), "{tag}");
    }
}

#[test]
fn every_request_of_the_schema_is_known() {
    for (tag, _) in ServerRequest::TAGS {
        let mut codex = Harness::in_turn();
        codex.receive(json!({"method": tag, "id": 0, "params": {"threadId": "t", "mode": "form"}}));
        codex.send(json!({"id": 0, "result": {}}));
        codex.complete_turn("1", "completed");
        codex.checked_events();
        assert_eq!((codex.stats().unaccounted, count_unparsed(codex.stats())), (0, 0), "{tag}");
    }
}

#[test]
fn every_item_of_the_schema_is_known() {
    for (tag, _) in ThreadItem::TAGS {
        for only_completed in [false, true] {
            let mut codex = Harness::in_turn();
            if !only_completed {
                codex.start_item(json!({"type": tag, "id": "i"}));
            }
            codex.complete_item(json!({"type": tag, "id": "i"}));
            codex.complete_turn("1", "completed");
            codex.checked_events();
            assert_eq!((codex.stats().unaccounted, count_unparsed(codex.stats())), (0, 0), "{tag}");
        }
    }
}

#[test]
fn every_exec_event_and_item_of_the_schema_is_known() {
    let events = exec::ThreadEvent::TAGS.iter().map(|(tag, _)| json!({"type": tag}));
    let items = exec::ThreadItem::TAGS.iter().flat_map(|(tag, _)| {
        ["item.started", "item.updated", "item.completed"]
            .map(|event| json!({"type": event, "item": {"type": tag, "id": "i"}}))
    });
    for line in events.chain(items) {
        let mut codex = Harness::new();
        codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
        codex.receive(line.clone());
        codex.checked_events();
        assert_eq!((codex.stats().unaccounted, count_unparsed(codex.stats())), (0, 0), "{line}");
    }
}

#[test]
fn unknown_payloads_are_unparsed_and_the_stream_continues() {
    let mut codex = Harness::in_turn();
    codex.notify("thread/somethingNew", json!({}));
    codex.start_item(json!({"type": "newItem", "id": "n"}));
    codex.push(Input::Received("not json at all"));
    codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": "fine"}));
    assert_eq!(count_unparsed(codex.stats()), 3);
    assert_eq!(codex.texts().last().unwrap(), "fine");
}

#[test]
fn legacy_events_that_repeat_notifications_are_dropped() {
    let mut codex = Harness::in_turn();
    let event = |name: &str, msg: Value| json!({"method": format!("codex/event/{name}"), "params": {"id": "0", "msg": msg, "conversationId": "t"}});
    codex.receive(event("agent_message", json!({"type": "agent_message", "message": "hi"})));
    codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": "hi"}));
    codex.receive(event("warning", json!({"type": "warning", "message": "careful"})));
    assert_eq!(codex.texts(), ["hello", "hi", "notice careful"]);
    codex.receive(event("elicitation_request", json!({"server_name": "s", "id": "1", "message": "Which colour?"})));
    codex.receive(event("undo_completed", json!({"success": false})));
    codex.receive(event("undo_completed", json!({"success": true, "message": "undone"})));
    assert_eq!(codex.texts()[3..], ["notice MCP server s asks: Which colour?", "notice undo failed", "notice undone"]);
    assert_eq!(count_unparsed(codex.stats()), 0);
    // One that is dropped is not decoded, but it has to be JSON.
    codex.push(Input::Received(r#"{"method":"codex/event/agent_message","params":{"id":"0","msg":{"#));
    assert_eq!(count_unparsed(codex.stats()), 1);
}

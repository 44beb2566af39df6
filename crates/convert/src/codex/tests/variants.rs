//! Every variant of the schema, and what is none.

use interlingua_native::Union as _;
use interlingua_native::codex::{ServerNotification, ServerRequest, ThreadItem, exec};
use serde_json::{Value, json};

use super::talk::Talk;
use crate::Input;
use crate::losses::count_unparsed;

#[test]
fn every_notification_of_the_schema_is_known() {
    for (tag, _) in ServerNotification::TAGS {
        let mut talk = Talk::in_turn();
        talk.tell(tag, json!({}));
        talk.events();
        assert_eq!((talk.stats().unaccounted, count_unparsed(talk.stats())), (0, 0), "{tag}");
    }
}

#[test]
fn every_request_of_the_schema_is_known() {
    for (tag, _) in ServerRequest::TAGS {
        let mut talk = Talk::in_turn();
        talk.agent(json!({"method": tag, "id": 0, "params": {"threadId": "t", "mode": "form"}}));
        talk.host(json!({"id": 0, "result": {}}));
        talk.end_turn("1", "completed");
        talk.events();
        assert_eq!((talk.stats().unaccounted, count_unparsed(talk.stats())), (0, 0), "{tag}");
    }
}

#[test]
fn every_item_of_the_schema_is_known() {
    for (tag, _) in ThreadItem::TAGS {
        for only_end in [false, true] {
            let mut talk = Talk::in_turn();
            if !only_end {
                talk.begin(json!({"type": tag, "id": "i"}));
            }
            talk.end(json!({"type": tag, "id": "i"}));
            talk.end_turn("1", "completed");
            talk.events();
            assert_eq!((talk.stats().unaccounted, count_unparsed(talk.stats())), (0, 0), "{tag}");
        }
    }
}

#[test]
fn every_event_and_item_of_a_one_shot_run_is_known() {
    let events = exec::ThreadEvent::TAGS.iter().map(|(tag, _)| json!({"type": tag}));
    let items = exec::ThreadItem::TAGS.iter().flat_map(|(tag, _)| {
        ["item.started", "item.updated", "item.completed"]
            .map(|event| json!({"type": event, "item": {"type": tag, "id": "i"}}))
    });
    for line in events.chain(items) {
        let mut talk = Talk::new();
        talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
        talk.agent(line.clone());
        talk.events();
        assert_eq!((talk.stats().unaccounted, count_unparsed(talk.stats())), (0, 0), "{line}");
    }
}

#[test]
fn what_the_schema_does_not_know_is_unparsed_and_the_stream_goes_on() {
    let mut talk = Talk::in_turn();
    talk.tell("thread/somethingNew", json!({}));
    talk.begin(json!({"type": "newItem", "id": "n"}));
    talk.push(Input::Received("not json at all"));
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "fine"}));
    assert_eq!(count_unparsed(talk.stats()), 3);
    assert_eq!(talk.texts().last().unwrap(), "fine");
}

#[test]
fn what_is_said_twice_is_heard_once() {
    let mut talk = Talk::in_turn();
    let event = |name: &str, msg: Value| json!({"method": format!("codex/event/{name}"), "params": {"id": "0", "msg": msg, "conversationId": "t"}});
    talk.agent(event("agent_message", json!({"type": "agent_message", "message": "hi"})));
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "hi"}));
    talk.agent(event("warning", json!({"type": "warning", "message": "careful"})));
    assert_eq!(talk.texts(), ["hello", "hi", "notice careful"]);
    talk.agent(event("elicitation_request", json!({"server_name": "s", "id": "1", "message": "Which colour?"})));
    talk.agent(event("undo_completed", json!({"success": false})));
    talk.agent(event("undo_completed", json!({"success": true, "message": "undone"})));
    assert_eq!(talk.texts()[3..], ["notice MCP server s asks: Which colour?", "notice undo failed", "notice undone"]);
    assert_eq!(count_unparsed(talk.stats()), 0);
}

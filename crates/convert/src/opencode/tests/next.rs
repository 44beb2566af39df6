//! The v2 API: ends of turns, tools and retries.

use interlingua_schema::{ContentPart, Item, ItemKind, ItemStatus, Role, ToolKind, TurnStatus};
use serde_json::{Value, json};

use super::harness::{Harness, texts_of};

/// The agent starts on a prompt and calls a command.
fn start_command(server: &mut Harness, text: &str) {
    server.next_event("prompted", json!({ "messageID": format!("msg_{text}"), "prompt": { "text": text } }));
    server.next_event("step.started", json!({ "assistantMessageID": "msg_1" }));
    server.next_event(
        "tool.called",
        json!({ "assistantMessageID": "msg_1", "callID": "c1", "tool": "bash", "input": {} }),
    );
}

fn fail_command(server: &mut Harness) {
    let error = json!({ "message": "Tool execution interrupted" });
    server.next_event("tool.failed", json!({ "assistantMessageID": "msg_1", "callID": "c1", "error": error }));
}

fn end_step(server: &mut Harness, message: &str, finish: &str) {
    server.next_event("step.ended", json!({ "assistantMessageID": message, "finish": finish }));
}

/// The agent starts on a prompt and answers it.
fn answer_prompt(server: &mut Harness, text: &str) {
    server.next_event("prompted", json!({ "messageID": format!("msg_{text}"), "prompt": { "text": text } }));
    server.next_event("step.started", json!({ "assistantMessageID": "msg_2" }));
    server.next_event("text.delta", json!({ "assistantMessageID": "msg_2", "textID": "t", "delta": "fine" }));
    server.next_event("text.ended", json!({ "assistantMessageID": "msg_2", "textID": "t", "text": "fine" }));
    end_step(server, "msg_2", "stop");
}

fn last_message(items: &[Item]) -> &Item {
    items.iter().rfind(|item| item.kind == ItemKind::Message).unwrap()
}

#[test]
fn an_interrupt_ends_the_turn_with_its_step() {
    let mut server = Harness::with_session("1.18.33");
    start_command(&mut server, "a");
    server.request("POST", "/api/session/ses_1/interrupt", &Value::Null);
    fail_command(&mut server);
    end_step(&mut server, "msg_1", "tool-calls");
    assert_eq!(server.turn_statuses(), [TurnStatus::Interrupted]);
}

#[test]
fn the_next_prompt_ends_a_turn_that_was_interrupted() {
    let mut server = Harness::with_session("1.18.33");
    start_command(&mut server, "a");
    server.request("POST", "/api/session/ses_1/interrupt", &Value::Null);
    fail_command(&mut server);
    answer_prompt(&mut server, "b");
    assert_eq!(server.turn_statuses(), [TurnStatus::Interrupted, TurnStatus::Completed]);
    assert_eq!(last_message(&server.completed_items()).status, ItemStatus::Completed);
}

#[test]
fn an_interrupt_message_may_have_a_suffix() {
    let mut server = Harness::with_session("1.18.33");
    start_command(&mut server, "a");
    let error = json!({ "message": "Provider turn interrupted: by the user" });
    server.next_event("step.failed", json!({ "assistantMessageID": "msg_1", "error": error }));
    assert_eq!(server.turn_statuses(), [TurnStatus::Interrupted]);
    assert_eq!(server.error_messages(), [""; 0]);
}

#[test]
fn a_denial_ends_the_turn_unless_the_agent_continues() {
    let deny = |server: &mut Harness| {
        start_command(server, "a");
        server.event("permission.v2.asked", json!({ "id": "per_1", "sessionID": "ses_1", "action": "bash" }));
        let reply = json!({ "sessionID": "ses_1", "requestID": "per_1", "reply": "reject" });
        server.event("permission.v2.replied", reply);
        fail_command(server);
    };
    let mut server = Harness::with_session("1.18.33");
    deny(&mut server);
    answer_prompt(&mut server, "b");
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed, TurnStatus::Completed]);

    let mut server = Harness::with_session("1.18.33");
    deny(&mut server);
    end_step(&mut server, "msg_1", "tool-calls");
    server.next_event("step.started", json!({ "assistantMessageID": "msg_2" }));
    answer_prompt(&mut server, "b");
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a", "b"]);
}

#[test]
fn a_dismissed_question_ends_the_turn() {
    let mut server = Harness::with_session("1.18.33");
    start_command(&mut server, "a");
    let question = json!({ "question": "which?", "options": [{ "label": "A" }] });
    server.event("question.v2.asked", json!({ "id": "que_1", "sessionID": "ses_1", "questions": [question] }));
    server.event("question.v2.rejected", json!({ "sessionID": "ses_1", "requestID": "que_1" }));
    fail_command(&mut server);
    answer_prompt(&mut server, "b");
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed, TurnStatus::Completed]);
}

fn result_output(item: &Item) -> &str {
    match &item.content[..] {
        [ContentPart::ToolResult { output, .. }, ..] => output,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_result_of_a_provider_tool_is_the_output() {
    let mut server = Harness::with_session("1.18.33");
    server.next_event("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    let results = [
        json!({ "result": { "type": "json", "value": [{ "title": "found it" }] } }),
        json!({ "result": { "type": "text", "value": "found it" } }),
        json!({ "structured": { "title": "found it" } }),
    ];
    for (number, mut result) in results.into_iter().enumerate() {
        let call = format!("c{number}");
        let provider = json!({ "executed": true });
        let called = json!({ "assistantMessageID": "msg_1", "callID": call, "tool": "web_search", "input": {}, "provider": provider });
        server.next_event("tool.called", called);
        result["callID"] = call.into();
        result["content"] = json!([]);
        server.next_event("tool.success", result);
    }
    let items = server.completed_items();
    assert!(matches!(&items[1].content[0], ContentPart::ToolCall { tool_kind: Some(ToolKind::Web), .. }));
    let outputs: Vec<&str> = items.iter().filter(|item| item.kind == ItemKind::ToolResult).map(result_output).collect();
    assert_eq!(outputs, [r#"[{"title":"found it"}]"#, "found it", r#"{"title":"found it"}"#]);
}

#[test]
fn a_command_that_prints_nothing_has_no_output() {
    let mut server = Harness::with_session("1.18.33");
    start_command(&mut server, "a");
    server.next_event("tool.success", json!({ "callID": "c1", "content": [], "structured": { "exit": 0 } }));
    assert_eq!(result_output(server.completed_items().last().unwrap()), "");
}

#[test]
fn a_reused_call_id_is_a_new_call() {
    let mut server = Harness::with_session("1.18.33");
    server.next_event("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    for (message, output) in [("msg_1", "one"), ("msg_2", "two"), ("msg_2", "three")] {
        server.next_event("step.started", json!({ "assistantMessageID": message }));
        server
            .next_event("tool.input.started", json!({ "assistantMessageID": message, "callID": "c", "name": "bash" }));
        server.next_event("tool.input.delta", json!({ "assistantMessageID": message, "callID": "c", "delta": "{}" }));
        server.next_event(
            "tool.called",
            json!({ "assistantMessageID": message, "callID": "c", "tool": "bash", "input": {} }),
        );
        let text = json!([{ "type": "text", "text": output }]);
        // Not every event names the message.
        server.next_event("tool.success", json!({ "callID": "c", "content": text }));
        end_step(&mut server, message, "tool-calls");
    }
    let items = server.completed_items();
    let outputs: Vec<&str> = items.iter().filter(|item| item.kind == ItemKind::ToolResult).map(result_output).collect();
    assert_eq!(outputs, ["one", "two", "three"]);
    assert_eq!(items.iter().filter(|item| item.kind == ItemKind::ToolCall).count(), 3);
}

#[test]
fn a_call_interrupted_before_it_is_made_is_failed() {
    let mut server = Harness::with_session("1.18.33");
    server.next_event("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    server.next_event("step.started", json!({ "assistantMessageID": "msg_1" }));
    server.next_event("tool.input.started", json!({ "assistantMessageID": "msg_1", "callID": "c1", "name": "bash" }));
    server.request("POST", "/api/session/ses_1/interrupt", &Value::Null);
    fail_command(&mut server);
    let items = server.completed_items();
    assert_eq!((items[1].kind.clone(), items[1].status.clone()), (ItemKind::ToolCall, ItemStatus::Failed));
    assert_eq!(result_output(&items[2]), "Tool execution interrupted");
}

#[test]
fn a_text_restarted_after_a_retry_is_a_new_message() {
    let mut server = Harness::with_session("1.18.33");
    let delta = |server: &mut Harness, text: &str| {
        server.next_event("text.delta", json!({ "assistantMessageID": "msg_1", "textID": "t", "delta": text }));
    };
    server.next_event("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    server.next_event("step.started", json!({ "assistantMessageID": "msg_1" }));
    delta(&mut server, "Hel");
    server.next_event("retried", json!({ "attempt": 1, "error": { "message": "overloaded" } }));
    delta(&mut server, "Hello");
    server.next_event("text.ended", json!({ "assistantMessageID": "msg_1", "textID": "t", "text": "Hello" }));
    end_step(&mut server, "msg_1", "stop");
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::Assistant), ["Hel", "Hello"]);
    assert_eq!(
        (items[1].status.clone(), last_message(&items).status.clone()),
        (ItemStatus::Failed, ItemStatus::Completed)
    );
}

//! The v2 API: what ends a turn where nothing says so, and tools that others run.

use interlingua_schema::{ContentPart, Item, ItemKind, ItemStatus, Role, ToolKind, TurnStatus};
use serde_json::{Value, json};

use super::play::{Play, said};

/// A prompt is taken up, and a command called.
fn calls(play: &mut Play, text: &str) {
    play.next("prompted", json!({ "messageID": format!("msg_{text}"), "prompt": { "text": text } }));
    play.next("step.started", json!({ "assistantMessageID": "msg_1" }));
    play.next("tool.called", json!({ "assistantMessageID": "msg_1", "callID": "c1", "tool": "bash", "input": {} }));
}

fn fails(play: &mut Play) {
    let error = json!({ "message": "Tool execution interrupted" });
    play.next("tool.failed", json!({ "assistantMessageID": "msg_1", "callID": "c1", "error": error }));
}

fn step_ends(play: &mut Play, message: &str, finish: &str) {
    play.next("step.ended", json!({ "assistantMessageID": message, "finish": finish }));
}

/// A prompt is taken up and answered.
fn answers(play: &mut Play, text: &str) {
    play.next("prompted", json!({ "messageID": format!("msg_{text}"), "prompt": { "text": text } }));
    play.next("step.started", json!({ "assistantMessageID": "msg_2" }));
    play.next("text.delta", json!({ "assistantMessageID": "msg_2", "textID": "t", "delta": "fine" }));
    play.next("text.ended", json!({ "assistantMessageID": "msg_2", "textID": "t", "text": "fine" }));
    step_ends(play, "msg_2", "stop");
}

fn answer(items: &[Item]) -> &Item {
    items.iter().rfind(|item| item.kind == ItemKind::Message).unwrap()
}

#[test]
fn an_interrupt_ends_the_turn_with_its_step() {
    let mut play = Play::begun("1.18.33");
    calls(&mut play, "a");
    play.request("POST", "/api/session/ses_1/interrupt", &Value::Null);
    fails(&mut play);
    step_ends(&mut play, "msg_1", "tool-calls");
    assert_eq!(play.turns(), [TurnStatus::Interrupted]);
}

#[test]
fn the_next_prompt_ends_a_turn_that_was_interrupted() {
    let mut play = Play::begun("1.18.33");
    calls(&mut play, "a");
    play.request("POST", "/api/session/ses_1/interrupt", &Value::Null);
    fails(&mut play);
    answers(&mut play, "b");
    assert_eq!(play.turns(), [TurnStatus::Interrupted, TurnStatus::Completed]);
    assert_eq!(answer(&play.completed()).status, ItemStatus::Completed);
}

#[test]
fn an_interrupt_may_be_worded_at_more_length() {
    let mut play = Play::begun("1.18.33");
    calls(&mut play, "a");
    let error = json!({ "message": "Provider turn interrupted: by the user" });
    play.next("step.failed", json!({ "assistantMessageID": "msg_1", "error": error }));
    assert_eq!(play.turns(), [TurnStatus::Interrupted]);
    assert_eq!(play.errors(), [""; 0]);
}

#[test]
fn a_denial_ends_the_turn_unless_the_agent_goes_on() {
    let denied = |play: &mut Play| {
        calls(play, "a");
        play.say("permission.v2.asked", json!({ "id": "per_1", "sessionID": "ses_1", "action": "bash" }));
        let reply = json!({ "sessionID": "ses_1", "requestID": "per_1", "reply": "reject" });
        play.say("permission.v2.replied", reply);
        fails(play);
    };
    let mut play = Play::begun("1.18.33");
    denied(&mut play);
    answers(&mut play, "b");
    assert_eq!(play.turns(), [TurnStatus::Completed, TurnStatus::Completed]);

    let mut play = Play::begun("1.18.33");
    denied(&mut play);
    step_ends(&mut play, "msg_1", "tool-calls");
    play.next("step.started", json!({ "assistantMessageID": "msg_2" }));
    answers(&mut play, "b");
    assert_eq!(play.turns(), [TurnStatus::Completed]);
    assert_eq!(said(&play.completed(), Role::User), ["a", "b"]);
}

#[test]
fn a_question_that_is_dismissed_ends_the_turn() {
    let mut play = Play::begun("1.18.33");
    calls(&mut play, "a");
    let question = json!({ "question": "which?", "options": [{ "label": "A" }] });
    play.say("question.v2.asked", json!({ "id": "que_1", "sessionID": "ses_1", "questions": [question] }));
    play.say("question.v2.rejected", json!({ "sessionID": "ses_1", "requestID": "que_1" }));
    fails(&mut play);
    answers(&mut play, "b");
    assert_eq!(play.turns(), [TurnStatus::Completed, TurnStatus::Completed]);
}

fn result(item: &Item) -> &str {
    match &item.content[..] {
        [ContentPart::ToolResult { output, .. }, ..] => output,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_provider_found_is_the_output() {
    let mut play = Play::begun("1.18.33");
    play.next("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    let found = [
        json!({ "result": { "type": "json", "value": [{ "title": "found it" }] } }),
        json!({ "result": { "type": "text", "value": "found it" } }),
        json!({ "structured": { "title": "found it" } }),
    ];
    for (number, mut found) in found.into_iter().enumerate() {
        let call = format!("c{number}");
        let provider = json!({ "executed": true });
        let called = json!({ "assistantMessageID": "msg_1", "callID": call, "tool": "web_search", "input": {}, "provider": provider });
        play.next("tool.called", called);
        found["callID"] = call.into();
        found["content"] = json!([]);
        play.next("tool.success", found);
    }
    let items = play.completed();
    assert!(matches!(&items[1].content[0], ContentPart::ToolCall { tool_kind: Some(ToolKind::Web), .. }));
    let outputs: Vec<&str> = items.iter().filter(|item| item.kind == ItemKind::ToolResult).map(result).collect();
    assert_eq!(outputs, [r#"[{"title":"found it"}]"#, "found it", r#"{"title":"found it"}"#]);
}

#[test]
fn a_command_that_prints_nothing_has_no_output() {
    let mut play = Play::begun("1.18.33");
    calls(&mut play, "a");
    play.next("tool.success", json!({ "callID": "c1", "content": [], "structured": { "exit": 0 } }));
    assert_eq!(result(play.completed().last().unwrap()), "");
}

#[test]
fn a_call_id_may_come_again_in_a_later_step() {
    let mut play = Play::begun("1.18.33");
    play.next("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    for (message, output) in [("msg_1", "one"), ("msg_2", "two"), ("msg_2", "three")] {
        play.next("step.started", json!({ "assistantMessageID": message }));
        play.next("tool.input.started", json!({ "assistantMessageID": message, "callID": "c", "name": "bash" }));
        play.next("tool.input.delta", json!({ "assistantMessageID": message, "callID": "c", "delta": "{}" }));
        play.next("tool.called", json!({ "assistantMessageID": message, "callID": "c", "tool": "bash", "input": {} }));
        let text = json!([{ "type": "text", "text": output }]);
        // Not every event names the message.
        play.next("tool.success", json!({ "callID": "c", "content": text }));
        step_ends(&mut play, message, "tool-calls");
    }
    let items = play.completed();
    let outputs: Vec<&str> = items.iter().filter(|item| item.kind == ItemKind::ToolResult).map(result).collect();
    assert_eq!(outputs, ["one", "two", "three"]);
    assert_eq!(items.iter().filter(|item| item.kind == ItemKind::ToolCall).count(), 3);
}

#[test]
fn a_call_that_is_interrupted_before_it_is_made_is_failed() {
    let mut play = Play::begun("1.18.33");
    play.next("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    play.next("step.started", json!({ "assistantMessageID": "msg_1" }));
    play.next("tool.input.started", json!({ "assistantMessageID": "msg_1", "callID": "c1", "name": "bash" }));
    play.request("POST", "/api/session/ses_1/interrupt", &Value::Null);
    fails(&mut play);
    let items = play.completed();
    assert_eq!((items[1].kind.clone(), items[1].status.clone()), (ItemKind::ToolCall, ItemStatus::Failed));
    assert_eq!(result(&items[2]), "Tool execution interrupted");
}

#[test]
fn a_text_that_is_begun_again_is_another() {
    let mut play = Play::begun("1.18.33");
    let delta = |play: &mut Play, text: &str| {
        play.next("text.delta", json!({ "assistantMessageID": "msg_1", "textID": "t", "delta": text }));
    };
    play.next("prompted", json!({ "messageID": "msg_a", "prompt": { "text": "a" } }));
    play.next("step.started", json!({ "assistantMessageID": "msg_1" }));
    delta(&mut play, "Hel");
    play.next("retried", json!({ "attempt": 1, "error": { "message": "overloaded" } }));
    delta(&mut play, "Hello");
    play.next("text.ended", json!({ "assistantMessageID": "msg_1", "textID": "t", "text": "Hello" }));
    step_ends(&mut play, "msg_1", "stop");
    let items = play.completed();
    assert_eq!(said(&items, Role::Assistant), ["Hel", "Hello"]);
    assert_eq!((items[1].status.clone(), answer(&items).status.clone()), (ItemStatus::Failed, ItemStatus::Completed));
}

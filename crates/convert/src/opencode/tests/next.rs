//! The v2 API: what ends a turn where nothing says so, and tools that others run.

use interlingua_schema::{Item, ItemKind, ItemStatus, Role, TurnStatus};
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

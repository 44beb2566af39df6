//! What goes wrong is told once, in the turn that it concerns.

use interlingua_schema::{Role, TurnStatus};
use serde_json::{Value, json};

use super::play::{CREATED, Play, said};

fn unknown(message: &str) -> Value {
    json!({ "name": "UnknownError", "data": { "message": message } })
}

fn fails(play: &mut Play, message: &str) {
    play.say("session.error", json!({ "sessionID": "ses_1", "error": unknown(message) }));
}

fn ask(play: &mut Play, text: &str) {
    let body = json!({ "parts": [{ "type": "text", "text": text }] });
    play.request("POST", "/session/ses_1/prompt_async", &body);
}

#[test]
fn a_failure_before_the_prompt_is_repeated_is_in_its_turn() {
    let mut play = Play::begun("1.18.33");
    let tokens = json!({ "input": 5, "output": 1 });
    ask(&mut play, "a");
    fails(&mut play, "File not found: x");
    play.user("ses_1", "msg_a", "a").busy("ses_1").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.text("ses_1", "msg_2", "prt_2", "there is none");
    play.part("ses_1", "msg_2", json!({ "id": "prt_f", "type": "step-finish", "reason": "stop", "tokens": tokens }));
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(play.turns(), [TurnStatus::Completed]);
    assert_eq!(said(&play.completed(), Role::User), ["a"]);
    assert_eq!(play.usage().input_tokens, 5);
    assert_eq!(play.kinds().last(), Some(&"turn.ended"));
}

#[test]
fn a_failure_that_ends_an_unrepeated_prompt_is_told_for_each() {
    let mut play = Play::begun("1.18.33");
    for text in ["a", "b"] {
        ask(&mut play, text);
        fails(&mut play, "Agent not found: x");
        fails(&mut play, "UnknownError: Agent not found: x\n    at y (/z.js:1)");
    }
    play.prompt_sent("c").answer("ses_1", "msg_2", "msg_c", &json!({})).done("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(play.errors(), ["Agent not found: x"; 2]);
    assert_eq!(said(&play.completed(), Role::User), ["a", "b", "c"]);
    assert_eq!(play.turns(), [TurnStatus::Failed, TurnStatus::Failed, TurnStatus::Completed]);
}

#[test]
fn the_next_prompt_ends_the_turn_of_one_that_failed_unrepeated() {
    let mut play = Play::begun("1.18.33");
    ask(&mut play, "a");
    fails(&mut play, "no");
    play.prompt_sent("b").answer("ses_1", "msg_2", "msg_b", &json!({})).done("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(play.turns(), [TurnStatus::Failed, TurnStatus::Completed]);
    assert_eq!(said(&play.completed(), Role::User), ["a", "b"]);
}

#[test]
fn a_stack_trace_that_straggles_is_no_failure_of_the_next_turn() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a");
    fails(&mut play, "Model not found: x");
    play.idle("ses_1");
    ask(&mut play, "b");
    fails(&mut play, "ModelNotFoundError\n    at y (/z.js:1)");
    play.user("ses_1", "msg_b", "b").busy("ses_1").answer("ses_1", "msg_2", "msg_b", &json!({}));
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(play.errors(), ["Model not found: x"]);
    assert_eq!(play.turns(), [TurnStatus::Failed, TurnStatus::Completed]);
}

#[test]
fn the_refusal_of_a_prompt_that_failed_says_nothing_new() {
    let body = json!({ "command": "nope", "arguments": "" });
    let mut play = Play::begun("1.18.33");
    let call = play.request("POST", "/session/ses_1/command", &body);
    fails(&mut play, "Command not found: nope");
    play.reply(call, 500, &unknown("UnknownError: Command not found: nope\n    at y"));
    assert_eq!(play.errors(), ["Command not found: nope"]);
    assert_eq!(play.turns(), [TurnStatus::Failed]);

    let mut play = Play::begun("1.18.33");
    let call = play.request("POST", "/session/ses_1/message", &json!({ "parts": [{ "type": "text", "text": "a" }] }));
    play.user("ses_1", "msg_a", "a").busy("ses_1");
    fails(&mut play, "Model not found: x");
    fails(&mut play, "ModelNotFoundError\n    at y (/z.js:1)");
    play.idle("ses_1").reply(call, 500, &unknown("ModelNotFoundError"));
    assert_eq!(play.errors(), ["Model not found: x"]);
    assert_eq!(play.turns(), [TurnStatus::Failed]);
}

#[test]
fn a_failure_of_no_session_leaves_the_turn_alone() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").say("session.error", json!({ "error": unknown("cannot read agent x.md") }));
    play.answer("ses_1", "msg_2", "msg_a", &json!({})).done("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(play.errors(), ["cannot read agent x.md"]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

#[test]
fn the_same_failure_in_two_turns_of_the_v2_api_is_told_twice() {
    let mut play = Play::begun("1.18.33");
    for message in ["msg_1", "msg_2"] {
        play.next("prompted", json!({ "messageID": message, "prompt": { "text": message } }));
        play.next("step.started", json!({ "assistantMessageID": "msg_a" }));
        play.next("step.failed", json!({ "assistantMessageID": "msg_a", "error": { "message": "HTTP 400" } }));
    }
    assert_eq!(play.errors(), ["HTTP 400"; 2]);
    assert_eq!(play.turns(), [TurnStatus::Failed, TurnStatus::Failed]);
}

#[test]
fn a_turn_of_the_v2_api_goes_on_after_a_failure_before_the_prompt_is_repeated() {
    let mut play = Play::begun("1.18.33");
    play.request("POST", "/api/session/ses_1/prompt", &json!({ "prompt": { "text": "a" } }));
    fails(&mut play, "File not found: x");
    play.next("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "a" } }));
    play.next("step.started", json!({ "assistantMessageID": "msg_2" }));
    play.next("step.ended", json!({ "assistantMessageID": "msg_2", "finish": "stop" }));
    assert_eq!(play.turns(), [TurnStatus::Completed]);
    assert_eq!(said(&play.completed(), Role::User), ["a"]);
}

#[test]
fn a_message_of_the_turn_before_may_tell_its_failure_again_after_the_next_prompt() {
    let mut play = Play::begun("1.18.33");
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    let failed = json!({ "error": unknown("no"), "time": time });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    fails(&mut play, "no");
    play.idle("ses_1").answer("ses_1", "msg_2", "msg_a", &failed);
    ask(&mut play, "b");
    play.answer("ses_1", "msg_2", "msg_a", &failed);
    play.user("ses_1", "msg_b", "b").busy("ses_1").answer("ses_1", "msg_3", "msg_b", &json!({}));
    play.done("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(play.errors(), ["no"]);
    assert_eq!(play.turns(), [TurnStatus::Failed, TurnStatus::Completed]);
}

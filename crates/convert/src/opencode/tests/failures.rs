//! Failures are reported once, in the turn that they belong to.

use interlingua_schema::{Role, TurnStatus};
use serde_json::{Value, json};

use super::harness::{CREATED, Harness, texts_of};

fn unknown_error(message: &str) -> Value {
    json!({ "name": "UnknownError", "data": { "message": message } })
}

fn send_error(server: &mut Harness, message: &str) {
    server.event("session.error", json!({ "sessionID": "ses_1", "error": unknown_error(message) }));
}

fn send_prompt(server: &mut Harness, text: &str) {
    let body = json!({ "parts": [{ "type": "text", "text": text }] });
    server.request("POST", "/session/ses_1/prompt_async", &body);
}

#[test]
fn a_failure_before_the_echo_belongs_to_the_turn_of_the_prompt() {
    let mut server = Harness::with_session("1.18.33");
    let tokens = json!({ "input": 5, "output": 1 });
    send_prompt(&mut server, "a");
    send_error(&mut server, "File not found: x");
    server.user_message("ses_1", "msg_a", "a").busy("ses_1").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.text_part("ses_1", "msg_2", "prt_2", "there is none");
    server.part("ses_1", "msg_2", json!({ "id": "prt_f", "type": "step-finish", "reason": "stop", "tokens": tokens }));
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a"]);
    assert_eq!(server.usage().input_tokens, 5);
    assert_eq!(server.event_types().last(), Some(&"turn.ended"));
}

#[test]
fn a_failure_of_a_prompt_without_an_echo_is_reported_for_each_prompt() {
    let mut server = Harness::with_session("1.18.33");
    for text in ["a", "b"] {
        send_prompt(&mut server, text);
        send_error(&mut server, "Agent not found: x");
        send_error(&mut server, "UnknownError: Agent not found: x\n    at y (/z.js:1)");
    }
    server
        .prompt("c")
        .agent_message("ses_1", "msg_2", "msg_c", &json!({}))
        .complete_message("ses_1", "msg_2", "stop")
        .idle("ses_1");
    assert_eq!(server.error_messages(), ["Agent not found: x"; 2]);
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a", "b", "c"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed, TurnStatus::Failed, TurnStatus::Completed]);
}

#[test]
fn the_next_prompt_ends_the_turn_of_a_failed_prompt_without_an_echo() {
    let mut server = Harness::with_session("1.18.33");
    send_prompt(&mut server, "a");
    send_error(&mut server, "no");
    server
        .prompt("b")
        .agent_message("ses_1", "msg_2", "msg_b", &json!({}))
        .complete_message("ses_1", "msg_2", "stop")
        .idle("ses_1");
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed, TurnStatus::Completed]);
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a", "b"]);
}

#[test]
fn a_late_stack_trace_does_not_fail_the_next_turn() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a");
    send_error(&mut server, "Model not found: x");
    server.idle("ses_1");
    send_prompt(&mut server, "b");
    send_error(&mut server, "ModelNotFoundError\n    at y (/z.js:1)");
    server.user_message("ses_1", "msg_b", "b").busy("ses_1").agent_message("ses_1", "msg_2", "msg_b", &json!({}));
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    assert_eq!(server.error_messages(), ["Model not found: x"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed, TurnStatus::Completed]);
}

#[test]
fn the_refusal_of_a_failed_prompt_is_dropped() {
    let body = json!({ "command": "nope", "arguments": "" });
    let mut server = Harness::with_session("1.18.33");
    let call = server.request("POST", "/session/ses_1/command", &body);
    send_error(&mut server, "Command not found: nope");
    server.reply(call, 500, &unknown_error("UnknownError: Command not found: nope\n    at y"));
    assert_eq!(server.error_messages(), ["Command not found: nope"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed]);

    let mut server = Harness::with_session("1.18.33");
    let call = server.request("POST", "/session/ses_1/message", &json!({ "parts": [{ "type": "text", "text": "a" }] }));
    server.user_message("ses_1", "msg_a", "a").busy("ses_1");
    send_error(&mut server, "Model not found: x");
    send_error(&mut server, "ModelNotFoundError\n    at y (/z.js:1)");
    server.idle("ses_1").reply(call, 500, &unknown_error("ModelNotFoundError"));
    assert_eq!(server.error_messages(), ["Model not found: x"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed]);
}

#[test]
fn a_failure_without_a_session_does_not_fail_the_turn() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").event("session.error", json!({ "error": unknown_error("cannot read agent x.md") }));
    server
        .agent_message("ses_1", "msg_2", "msg_a", &json!({}))
        .complete_message("ses_1", "msg_2", "stop")
        .idle("ses_1");
    assert_eq!(server.error_messages(), ["cannot read agent x.md"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

#[test]
fn the_same_failure_in_two_v2_turns_is_reported_twice() {
    let mut server = Harness::with_session("1.18.33");
    for message in ["msg_1", "msg_2"] {
        server.next_event("prompted", json!({ "messageID": message, "prompt": { "text": message } }));
        server.next_event("step.started", json!({ "assistantMessageID": "msg_a" }));
        server.next_event("step.failed", json!({ "assistantMessageID": "msg_a", "error": { "message": "HTTP 400" } }));
    }
    assert_eq!(server.error_messages(), ["HTTP 400"; 2]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed, TurnStatus::Failed]);
}

#[test]
fn a_v2_turn_continues_after_a_failure_before_the_echo() {
    let mut server = Harness::with_session("1.18.33");
    server.request("POST", "/api/session/ses_1/prompt", &json!({ "prompt": { "text": "a" } }));
    send_error(&mut server, "File not found: x");
    server.next_event("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "a" } }));
    server.next_event("step.started", json!({ "assistantMessageID": "msg_2" }));
    server.next_event("step.ended", json!({ "assistantMessageID": "msg_2", "finish": "stop" }));
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a"]);
}

#[test]
fn a_failure_repeated_by_a_message_of_the_previous_turn_is_dropped() {
    let mut server = Harness::with_session("1.18.33");
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    let failed = json!({ "error": unknown_error("no"), "time": time });
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    send_error(&mut server, "no");
    server.idle("ses_1").agent_message("ses_1", "msg_2", "msg_a", &failed);
    send_prompt(&mut server, "b");
    server.agent_message("ses_1", "msg_2", "msg_a", &failed);
    server.user_message("ses_1", "msg_b", "b").busy("ses_1").agent_message("ses_1", "msg_3", "msg_b", &json!({}));
    server.complete_message("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(server.error_messages(), ["no"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed, TurnStatus::Completed]);
}

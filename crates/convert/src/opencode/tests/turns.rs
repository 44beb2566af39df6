//! Starts and ends of turns: queues, interrupts, failures, HTTP replies.

use interlingua_schema::{ItemStatus, Role, TurnStatus};
use serde_json::{Value, json};

use super::harness::{CREATED, Harness, texts_of};

#[test]
fn a_queued_prompt_is_shown_in_the_turn_that_answers_it() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.prompt("b").text_part("ses_1", "msg_2", "prt_2", "to a").complete_message("ses_1", "msg_2", "stop");
    server.agent_message("ses_1", "msg_3", "msg_b", &json!({})).text_part("ses_1", "msg_3", "prt_3", "to b");
    server.complete_message("ses_1", "msg_3", "stop").idle("ses_1");
    let texts: Vec<String> = server.completed_items().iter().map(|item| item.streamed_text().collect()).collect();
    assert_eq!(texts, ["a", "to a", "b", "to b"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn a_prompt_between_steps_joins_the_turn() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({})).text_part("ses_1", "msg_2", "prt_2", "so");
    server.prompt("b").complete_message("ses_1", "msg_2", "tool-calls");
    server.agent_message("ses_1", "msg_3", "msg_b", &json!({})).text_part("ses_1", "msg_3", "prt_3", "to both");
    server.complete_message("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["a", "b"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

#[test]
fn an_abort_interrupts_the_turn_without_an_error() {
    let mut server = Harness::with_session("1.18.33");
    let aborted = json!({ "name": "MessageAbortedError", "data": { "message": "Aborted" } });
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.part("ses_1", "msg_2", json!({ "id": "prt_2", "type": "text", "text": "so f", "time": { "start": 1 } }));
    let call = server.request("POST", "/session/ses_1/abort", &Value::Null);
    server.event("session.error", json!({ "sessionID": "ses_1", "error": aborted })).idle("ses_1");
    server.reply(call, 200, &json!(true)).text_part("ses_1", "msg_2", "prt_2", "so far");
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    server.agent_message("ses_1", "msg_2", "msg_a", &json!({ "error": aborted, "time": time })).idle("ses_1");
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::Assistant), ["so far"]);
    assert_eq!(items[1].status, ItemStatus::Failed);
    assert_eq!(server.turn_statuses(), [TurnStatus::Interrupted]);
    assert_eq!(server.error_messages(), [""; 0]);
}

#[test]
fn an_abort_interrupts_the_turn_even_if_the_agent_does_not_report_it() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.request("POST", "/session/ses_1/abort", &Value::Null);
    server.agent_message(
        "ses_1",
        "msg_2",
        "msg_a",
        &json!({ "time": { "created": CREATED + 2, "completed": CREATED + 3 } }),
    );
    assert_eq!(server.idle("ses_1").turn_statuses(), [TurnStatus::Interrupted]);
}

#[test]
fn an_abort_during_a_request_ends_the_turn_without_a_completed_message() {
    let mut server = Harness::with_session("1.1.34");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.event("permission.asked", json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash" }));
    assert_eq!(server.idle("ses_1").turn_statuses(), []);
    server.request("POST", "/session/ses_1/abort", &Value::Null);
    assert_eq!(server.idle("ses_1").turn_statuses(), [TurnStatus::Interrupted]);
}

#[test]
fn an_error_is_reported_once_and_ends_the_turn_once() {
    let mut server = Harness::with_session("1.18.33");
    let error = |message: &str| json!({ "name": "APIError", "data": { "message": message, "statusCode": 429 } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.event("session.error", json!({ "sessionID": "ses_1", "error": error("slow down") })).idle("ses_1");
    server
        .agent_message("ses_1", "msg_2", "msg_a", &json!({ "error": error("slow down"), "time": time }))
        .idle("ses_1");
    server.event("session.error", json!({ "sessionID": "ses_1", "error": error("Error: slow down\n    at x") }));
    assert_eq!(server.error_messages(), ["slow down"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed]);
    server
        .prompt("b")
        .event("session.error", json!({ "sessionID": "ses_1", "error": error("slow down") }))
        .idle("ses_1");
    assert_eq!(server.error_messages(), ["slow down", "slow down"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed, TurnStatus::Failed]);
}

#[test]
fn idle_without_an_answer_is_a_failure() {
    let mut server = Harness::with_session("1.1.34");
    server.prompt("a").idle("ses_1");
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed]);
    assert_eq!(server.error_messages(), ["the agent went idle without an answer"]);
}

#[test]
fn an_answer_without_events_is_taken_from_the_reply() {
    let mut server = Harness::with_session("1.18.33");
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    let info = json!({ "id": "msg_2", "role": "assistant", "parentID": "msg_u", "time": time, "finish": "stop" });
    let part = json!({ "id": "prt_2", "type": "text", "text": "hello", "messageID": "msg_2", "time": { "start": 1, "end": 2 } });
    let body = json!({ "parts": [{ "type": "text", "text": "hi" }] });
    server.exchange(
        "POST",
        "/session/ses_1/message?directory=/w",
        &body,
        200,
        &json!({ "info": info, "parts": [part] }),
    );
    server
        .user_message("ses_1", "msg_u", "hi")
        .busy("ses_1")
        .text_part("ses_1", "msg_2", "prt_2", "hello")
        .idle("ses_1");
    let texts: Vec<String> = server.completed_items().iter().map(|item| item.streamed_text().collect()).collect();
    assert_eq!(texts, ["hi", "hello"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

#[test]
fn refused_prompts_are_errors_and_not_shown() {
    let mut server = Harness::new();
    let body = json!({ "parts": [{ "type": "text", "text": "hi" }] });
    let gone = json!({ "name": "NotFoundError", "data": { "message": "Session not found" } });
    server.exchange("POST", "/session/ses_x/message", &body, 404, &gone);
    server.exchange("POST", "/session/ses_x/prompt", &body, 200, &json!("<!doctype html>\n<html>"));
    assert_eq!(server.event_types(), ["session.started", "error", "error"]);
    let mut server = Harness::with_session("1.18.33");
    server.exchange("POST", "/session/ses_1/message", &body, 400, &json!({ "name": "BadRequest" }));
    assert_eq!(server.event_types(), ["session.started", "error"]);
}

#[test]
fn usage_counts_cached_input_and_reasoning_once_per_step() {
    let mut server = Harness::with_session("1.18.33");
    let tokens = json!({ "total": 80, "input": 42, "output": 18, "reasoning": 12, "cache": { "read": 8, "write": 0 } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({ "modelID": "m" }));
    server.part(
        "ses_1",
        "msg_2",
        json!({ "id": "prt_f", "type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0.5 }),
    );
    let done = json!({ "tokens": tokens, "cost": 0.5, "finish": "stop", "time": time });
    let usage = server.agent_message("ses_1", "msg_2", "msg_a", &done).idle("ses_1").usage();
    assert_eq!((usage.input_tokens, usage.cached_input_tokens), (50, Some(8)));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (30, Some(12)));
    assert_eq!((usage.cost_usd, usage.model.as_deref()), (Some(0.5), Some("m")));
}

#[test]
fn usage_counts_once_if_the_message_precedes_its_step() {
    let mut server = Harness::with_session("1.18.33");
    let tokens = json!({ "total": 104, "input": 80, "output": 4, "reasoning": 0, "cache": { "read": 20, "write": 0 } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    let done = json!({ "tokens": tokens, "finish": "stop", "time": time });
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &done);
    server.part("ses_1", "msg_2", json!({ "id": "prt_f", "type": "step-finish", "reason": "stop", "tokens": tokens }));
    let usage = server.agent_message("ses_1", "msg_2", "msg_a", &done).idle("ses_1").usage();
    assert_eq!((usage.input_tokens, usage.output_tokens), (100, 4));
}

#[test]
fn a_v2_turn_ends_with_its_last_step() {
    let mut server = Harness::new();
    let mut send = |tag: &str, mut data: Value| {
        data["sessionID"] = "ses_1".into();
        data["timestamp"] = 5.into();
        server.receive(&json!({ "id": "evt_1", "type": format!("session.next.{tag}"), "data": data }).to_string());
    };
    send("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "hi" }, "delivery": "steer" }));
    send("step.started", json!({ "assistantMessageID": "msg_2", "model": { "id": "m" } }));
    send("tool.input.started", json!({ "assistantMessageID": "msg_2", "callID": "call_1", "name": "bash" }));
    send("tool.input.delta", json!({ "callID": "call_1", "delta": "{}" }));
    send("tool.called", json!({ "assistantMessageID": "msg_2", "callID": "call_1", "tool": "bash", "input": {} }));
    send(
        "tool.success",
        json!({ "callID": "call_1", "structured": { "exit": 1 }, "content": [{ "type": "text", "text": "x" }] }),
    );
    send(
        "step.ended",
        json!({ "assistantMessageID": "msg_2", "finish": "tool-calls", "tokens": { "input": 1, "output": 2, "reasoning": 3 } }),
    );
    send("step.started", json!({ "assistantMessageID": "msg_3" }));
    send("text.delta", json!({ "assistantMessageID": "msg_3", "textID": "text-0", "delta": "so" }));
    send("text.ended", json!({ "assistantMessageID": "msg_3", "textID": "text-0", "text": "so" }));
    send("step.ended", json!({ "assistantMessageID": "msg_3", "finish": "stop" }));
    send("prompted", json!({ "messageID": "msg_4", "prompt": { "text": "and" } }));
    send("step.failed", json!({ "assistantMessageID": "msg_5", "error": { "message": "Provider turn interrupted" } }));
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::User), ["hi", "and"]);
    assert_eq!(items[2].status, ItemStatus::Failed);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed, TurnStatus::Interrupted]);
    assert_eq!((server.usage().input_tokens, server.usage().output_tokens), (1, 5));
}

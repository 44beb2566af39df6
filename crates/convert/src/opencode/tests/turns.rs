//! How turns begin and end: queues, interrupts, failures, answers over HTTP.

use interlingua_schema::{ItemStatus, Role, TurnStatus};
use serde_json::{Value, json};

use super::play::{CREATED, Play, said};

#[test]
fn a_queued_prompt_waits_for_the_turn_that_takes_it_up() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.prompt_sent("b").text("ses_1", "msg_2", "prt_2", "to a").done("ses_1", "msg_2", "stop");
    play.answer("ses_1", "msg_3", "msg_b", &json!({})).text("ses_1", "msg_3", "prt_3", "to b");
    play.done("ses_1", "msg_3", "stop").idle("ses_1");
    let texts: Vec<String> = play.completed().iter().map(|item| item.streamed_text().collect()).collect();
    assert_eq!(texts, ["a", "to a", "b", "to b"]);
    assert_eq!(play.turns(), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn a_prompt_between_steps_joins_the_turn() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).text("ses_1", "msg_2", "prt_2", "so");
    play.prompt_sent("b").done("ses_1", "msg_2", "tool-calls");
    play.answer("ses_1", "msg_3", "msg_b", &json!({})).text("ses_1", "msg_3", "prt_3", "to both");
    play.done("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(said(&play.completed(), Role::User), ["a", "b"]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

#[test]
fn an_abort_interrupts_and_is_no_error() {
    let mut play = Play::begun("1.18.33");
    let aborted = json!({ "name": "MessageAbortedError", "data": { "message": "Aborted" } });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.part("ses_1", "msg_2", json!({ "id": "prt_2", "type": "text", "text": "so f", "time": { "start": 1 } }));
    let call = play.request("POST", "/session/ses_1/abort", &Value::Null);
    play.say("session.error", json!({ "sessionID": "ses_1", "error": aborted })).idle("ses_1");
    play.reply(call, 200, &json!(true)).text("ses_1", "msg_2", "prt_2", "so far");
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    play.answer("ses_1", "msg_2", "msg_a", &json!({ "error": aborted, "time": time })).idle("ses_1");
    let items = play.completed();
    assert_eq!(said(&items, Role::Assistant), ["so far"]);
    assert_eq!(items[1].status, ItemStatus::Failed);
    assert_eq!(play.turns(), [TurnStatus::Interrupted]);
    assert_eq!(play.errors(), [""; 0]);
}

#[test]
fn an_abort_that_the_agent_does_not_mention_interrupts_all_the_same() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.request("POST", "/session/ses_1/abort", &Value::Null);
    play.answer("ses_1", "msg_2", "msg_a", &json!({ "time": { "created": CREATED + 2, "completed": CREATED + 3 } }));
    assert_eq!(play.idle("ses_1").turns(), [TurnStatus::Interrupted]);
}

#[test]
fn an_abort_while_the_agent_asks_ends_the_turn_though_its_message_never_completes() {
    let mut play = Play::begun("1.1.34");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.say("permission.asked", json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash" }));
    assert_eq!(play.idle("ses_1").turns(), []);
    play.request("POST", "/session/ses_1/abort", &Value::Null);
    assert_eq!(play.idle("ses_1").turns(), [TurnStatus::Interrupted]);
}

#[test]
fn an_error_is_told_once_and_ends_the_turn_once() {
    let mut play = Play::begun("1.18.33");
    let error = |message: &str| json!({ "name": "APIError", "data": { "message": message, "statusCode": 429 } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.say("session.error", json!({ "sessionID": "ses_1", "error": error("slow down") })).idle("ses_1");
    play.answer("ses_1", "msg_2", "msg_a", &json!({ "error": error("slow down"), "time": time })).idle("ses_1");
    play.say("session.error", json!({ "sessionID": "ses_1", "error": error("Error: slow down\n    at x") }));
    assert_eq!(play.errors(), ["slow down"]);
    assert_eq!(play.turns(), [TurnStatus::Failed]);
    play.prompt_sent("b")
        .say("session.error", json!({ "sessionID": "ses_1", "error": error("slow down") }))
        .idle("ses_1");
    assert_eq!(play.errors(), ["slow down", "slow down"]);
    assert_eq!(play.turns(), [TurnStatus::Failed, TurnStatus::Failed]);
}

#[test]
fn silence_is_a_failure() {
    let mut play = Play::begun("1.1.34");
    play.prompt_sent("a").idle("ses_1");
    assert_eq!(play.turns(), [TurnStatus::Failed]);
    assert_eq!(play.errors(), ["the agent went idle without an answer"]);
}

#[test]
fn an_answer_that_no_event_told_of_is_taken_from_the_reply() {
    let mut play = Play::begun("1.18.33");
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    let info = json!({ "id": "msg_2", "role": "assistant", "parentID": "msg_u", "time": time, "finish": "stop" });
    let part = json!({ "id": "prt_2", "type": "text", "text": "hello", "messageID": "msg_2", "time": { "start": 1, "end": 2 } });
    let body = json!({ "parts": [{ "type": "text", "text": "hi" }] });
    play.ask("POST", "/session/ses_1/message?directory=/w", &body, 200, &json!({ "info": info, "parts": [part] }));
    play.user("ses_1", "msg_u", "hi").busy("ses_1").text("ses_1", "msg_2", "prt_2", "hello").idle("ses_1");
    let texts: Vec<String> = play.completed().iter().map(|item| item.streamed_text().collect()).collect();
    assert_eq!(texts, ["hi", "hello"]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

#[test]
fn refused_requests_are_errors_and_no_messages() {
    let mut play = Play::new();
    let body = json!({ "parts": [{ "type": "text", "text": "hi" }] });
    let gone = json!({ "name": "NotFoundError", "data": { "message": "Session not found" } });
    play.ask("POST", "/session/ses_x/message", &body, 404, &gone);
    play.ask("POST", "/session/ses_x/prompt", &body, 200, &json!("<!doctype html>\n<html>"));
    assert_eq!(play.kinds(), ["session.started", "error", "error"]);
    let mut play = Play::begun("1.18.33");
    play.ask("POST", "/session/ses_1/message", &body, 400, &json!({ "name": "BadRequest" }));
    assert_eq!(play.kinds(), ["session.started", "error"]);
}

#[test]
fn usage_counts_cached_input_and_reasoning_once_per_step() {
    let mut play = Play::begun("1.18.33");
    let tokens = json!({ "total": 80, "input": 42, "output": 18, "reasoning": 12, "cache": { "read": 8, "write": 0 } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({ "modelID": "m" }));
    play.part(
        "ses_1",
        "msg_2",
        json!({ "id": "prt_f", "type": "step-finish", "reason": "stop", "tokens": tokens, "cost": 0.5 }),
    );
    let done = json!({ "tokens": tokens, "cost": 0.5, "finish": "stop", "time": time });
    let usage = play.answer("ses_1", "msg_2", "msg_a", &done).idle("ses_1").usage();
    assert_eq!((usage.input_tokens, usage.cached_input_tokens), (50, Some(8)));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (30, Some(12)));
    assert_eq!((usage.cost_usd, usage.model.as_deref()), (Some(0.5), Some("m")));
}

#[test]
fn usage_counts_once_where_a_busy_agent_tells_the_message_before_its_step() {
    let mut play = Play::begun("1.18.33");
    let tokens = json!({ "total": 104, "input": 80, "output": 4, "reasoning": 0, "cache": { "read": 20, "write": 0 } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    let done = json!({ "tokens": tokens, "finish": "stop", "time": time });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &done);
    play.part("ses_1", "msg_2", json!({ "id": "prt_f", "type": "step-finish", "reason": "stop", "tokens": tokens }));
    let usage = play.answer("ses_1", "msg_2", "msg_a", &done).idle("ses_1").usage();
    assert_eq!((usage.input_tokens, usage.output_tokens), (100, 4));
}

#[test]
fn a_turn_of_the_v2_api_ends_with_its_last_step() {
    let mut play = Play::new();
    let mut say = |tag: &str, mut data: Value| {
        data["sessionID"] = "ses_1".into();
        data["timestamp"] = 5.into();
        play.receive(&json!({ "id": "evt_1", "type": format!("session.next.{tag}"), "data": data }).to_string());
    };
    say("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "hi" }, "delivery": "steer" }));
    say("step.started", json!({ "assistantMessageID": "msg_2", "model": { "id": "m" } }));
    say("tool.input.started", json!({ "assistantMessageID": "msg_2", "callID": "call_1", "name": "bash" }));
    say("tool.input.delta", json!({ "callID": "call_1", "delta": "{}" }));
    say("tool.called", json!({ "assistantMessageID": "msg_2", "callID": "call_1", "tool": "bash", "input": {} }));
    say(
        "tool.success",
        json!({ "callID": "call_1", "structured": { "exit": 1 }, "content": [{ "type": "text", "text": "x" }] }),
    );
    say(
        "step.ended",
        json!({ "assistantMessageID": "msg_2", "finish": "tool-calls", "tokens": { "input": 1, "output": 2, "reasoning": 3 } }),
    );
    say("step.started", json!({ "assistantMessageID": "msg_3" }));
    say("text.delta", json!({ "assistantMessageID": "msg_3", "textID": "text-0", "delta": "so" }));
    say("text.ended", json!({ "assistantMessageID": "msg_3", "textID": "text-0", "text": "so" }));
    say("step.ended", json!({ "assistantMessageID": "msg_3", "finish": "stop" }));
    say("prompted", json!({ "messageID": "msg_4", "prompt": { "text": "and" } }));
    say("step.failed", json!({ "assistantMessageID": "msg_5", "error": { "message": "Provider turn interrupted" } }));
    let items = play.completed();
    assert_eq!(said(&items, Role::User), ["hi", "and"]);
    assert_eq!(items[2].status, ItemStatus::Failed);
    assert_eq!(play.turns(), [TurnStatus::Completed, TurnStatus::Interrupted]);
    assert_eq!((play.usage().input_tokens, play.usage().output_tokens), (1, 5));
}

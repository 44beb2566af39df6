//! Tests of the converter with lines of a host and an agent.

mod calls;
mod harness;
mod sessions;

use interlingua_schema::TurnStatus;
use serde_json::{Value, json};

use crate::losses::count_unparsed;
use crate::{Input, Launch};
use harness::{Harness, data_of, items, turn_statuses};

#[test]
fn a_message_ends_when_the_kind_or_the_id_changes() {
    let mut acp = Harness::in_turn();
    acp.update("agent_thought_chunk", json!({ "content": { "type": "text", "text": "hm" }, "messageId": "a" }));
    acp.chunk("one ", Some("a"));
    acp.chunk("two", Some("a"));
    acp.chunk("three", Some("b"));
    acp.end_turn();
    assert_eq!(items(&acp.finish()), ["user: hello", "agent: (hm)", "agent: one two", "agent: three"]);
}

#[test]
fn a_message_without_an_id_ends_when_the_agent_uses_a_tool() {
    let mut acp = Harness::in_turn();
    acp.chunk("before", None);
    acp.update("tool_call", json!({ "toolCallId": "t", "title": "ls", "kind": "execute", "status": "in_progress" }));
    acp.chunk("during", None);
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed" }));
    acp.chunk("after", None);
    acp.end_turn();
    let expected = ["user: hello", "agent: before", "call: Run ls", "agent: during", "result: ", "agent: after"];
    assert_eq!(items(&acp.finish()), expected);
}

#[test]
fn an_unknown_update_is_one_report_and_does_not_cut_a_message() {
    let mut acp = Harness::in_turn();
    acp.chunk("one ", None);
    acp.update("async_task_started", json!({ "taskId": "x" }));
    acp.chunk("two", None);
    acp.end_turn();
    assert_eq!(count_unparsed(acp.conversion.stats()), 1);
    let events = acp.finish();
    assert_eq!(data_of(&events, "agent.unparsed").len(), 1);
    assert_eq!(items(&events), ["user: hello", "agent: one two"]);
    assert_eq!(turn_statuses(&events), [TurnStatus::Completed]);
}

#[test]
fn a_call_whose_kind_changes_has_no_input_of_the_earlier_kind() {
    let mut acp = Harness::in_turn();
    let call = json!({ "toolCallId": "t", "title": "ls", "kind": "execute", "rawInput": { "command": "ls" } });
    acp.update("tool_call", call);
    acp.update("tool_call_update", json!({ "toolCallId": "t", "kind": "other" }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed" }));
    acp.end_turn();
    let events = acp.finish();
    let call = &data_of(&events, "item.completed")[1]["item"]["content"][0];
    assert_eq!((&call["tool_kind"], &call["input"]), (&json!("other"), &json!(null)));
}

#[test]
fn a_permission_request_may_be_the_first_mention_of_a_call() {
    let mut acp = Harness::in_turn();
    acp.ask(json!({ "toolCallId": "t", "title": "rm a", "kind": "execute", "status": "pending" }));
    acp.choose("go");
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed", "rawOutput": "gone" }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "call: Run rm a", "result: gone"]);
    let requested = &data_of(&events, "permission.requested")[0];
    assert_eq!(requested["metadata"]["call_id"], "t");
    assert_eq!(requested["metadata"]["scopes"], json!(["once", "always"]));
    assert_eq!(requested["metadata"]["native"]["options"][0]["optionId"], "go");
    let resolved = &data_of(&events, "permission.resolved")[0];
    assert_eq!((&resolved["status"], &resolved["metadata"]["scope"]), (&json!("approved"), &json!("once")));
}

#[test]
fn only_an_option_that_is_known_to_allow_is_an_approval() {
    for (option, status) in [("ever", "approved"), ("no", "denied"), ("odd", "denied"), ("unheard", "denied")] {
        let mut acp = Harness::in_turn();
        acp.ask(json!({ "toolCallId": "t", "title": "rm a", "kind": "execute" }));
        acp.choose(option);
        acp.end_turn();
        assert_eq!(data_of(&acp.finish(), "permission.resolved")[0]["status"], status, "{option}");
    }
}

#[test]
fn a_denied_call_without_a_result_fails_before_the_agent_goes_on() {
    let mut acp = Harness::in_turn();
    acp.ask(json!({ "toolCallId": "t", "title": "rm a", "kind": "execute" }));
    acp.choose("no");
    acp.chunk("was refused", None);
    acp.end_turn();
    assert_eq!(items(&acp.finish()), ["user: hello", "call: Run rm a", "!result: ", "agent: was refused"]);
}

#[test]
fn a_denied_call_keeps_the_result_that_follows() {
    let mut acp = Harness::in_turn();
    acp.ask(json!({ "toolCallId": "t", "title": "rm a", "kind": "execute" }));
    acp.choose("no");
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "t", "status": "failed", "rawOutput": { "error": "refused" } }),
    );
    acp.end_turn();
    assert_eq!(items(&acp.finish()), ["user: hello", "call: Run rm a", "!result: refused"]);
}

#[test]
fn the_description_of_a_call_is_not_its_output() {
    let text = |text: &str| json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let mut acp = Harness::in_turn();
    let input = json!({ "command": "make", "description": "build" });
    acp.update(
        "tool_call",
        json!({ "toolCallId": "t", "title": "Terminal", "kind": "execute", "status": "pending", "rawInput": {} }),
    );
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "t", "title": "make", "rawInput": input, "content": text("build") }),
    );
    acp.update("usage_update", json!({ "used": 1, "size": 2 }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "content": text("a\n") }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "content": text("a\nb\n") }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed" }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "call: Run make", "result: a\nb\n"]);
    let deltas: Vec<Value> = data_of(&events, "item.delta").into_iter().map(|data| data["delta"].clone()).collect();
    assert_eq!(deltas, ["hello", "a\n", "b\n"]);
}

#[test]
fn a_diff_is_the_input_and_the_file_of_a_change() {
    let mut acp = Harness::in_turn();
    let diff = json!([{ "type": "diff", "path": "/w/a", "oldText": "x\n", "newText": "y\n" }]);
    acp.update(
        "tool_call",
        json!({ "toolCallId": "t", "title": "Edit", "kind": "edit", "status": "in_progress", "content": diff }),
    );
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed" }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "call: Edit a", "result: |</w/a>"]);
    let call = data_of(&events, "item.completed")[1]["item"]["content"][0].clone();
    assert_eq!(call["input"]["changes"][0]["diff"], "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n");
}

#[test]
fn output_of_a_terminal_of_the_host_is_the_output_of_the_call() {
    let mut acp = Harness::in_turn();
    let request = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": format!("terminal/{method}"), "params": params });
    acp.receive(&request(7, "create", json!({ "sessionId": "s", "command": "ls" })));
    acp.send(&json!({ "jsonrpc": "2.0", "id": 7, "result": { "terminalId": "term" } }));
    let content = json!([{ "type": "terminal", "terminalId": "term" }]);
    acp.update(
        "tool_call",
        json!({ "toolCallId": "t", "title": "ls", "kind": "execute", "status": "in_progress", "content": content }),
    );
    acp.receive(&request(8, "output", json!({ "sessionId": "s", "terminalId": "term" })));
    let output = json!({ "output": "no such file", "truncated": false, "exitStatus": { "exitCode": 2 } });
    acp.send(&json!({ "jsonrpc": "2.0", "id": 8, "result": output }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed" }));
    acp.end_turn();
    assert_eq!(items(&acp.finish()), ["user: hello", "call: Run ls", "!result: no such file [2]"]);
}

#[test]
fn an_error_follows_the_text_that_the_agent_has_streamed() {
    let mut acp = Harness::in_turn();
    acp.chunk("API Error: 429", None);
    acp.refuse(-32603, "Internal error: API Error: 429");
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "agent: API Error: 429"]);
    assert_eq!(data_of(&events, "error")[0]["code"], "rate_limited");
    assert_eq!(turn_statuses(&events), [TurnStatus::Failed]);
}

#[test]
fn an_unknown_stop_reason_is_not_a_success() {
    let mut acp = Harness::in_turn();
    acp.answer(json!({ "stopReason": "bored" }));
    let events = acp.finish();
    assert_eq!(turn_statuses(&events), [TurnStatus::Failed]);
    assert_eq!(data_of(&events, "agent.unparsed").len(), 1);
}

#[test]
fn a_cancelled_turn_is_interrupted_and_its_message_is_cut_off() {
    let mut acp = Harness::in_turn();
    acp.chunk("word ", None);
    acp.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": "s" } }));
    acp.chunk("word", None);
    acp.answer(json!({ "stopReason": "cancelled" }));
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "!agent: word word"]);
    assert_eq!(turn_statuses(&events), [TurnStatus::Interrupted]);
}

#[test]
fn a_withdrawn_permission_is_denied() {
    let mut acp = Harness::in_turn();
    acp.ask(json!({ "toolCallId": "t", "title": "rm a", "kind": "execute" }));
    acp.receive(&json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": 1 } }));
    acp.answer(json!({ "stopReason": "cancelled" }));
    let events = acp.finish();
    assert_eq!(data_of(&events, "permission.resolved")[0]["status"], "denied");
    assert_eq!(items(&events), ["user: hello", "call: Run rm a", "!result: "]);
}

#[test]
fn updates_may_come_before_the_session_is_created_and_after_the_turn() {
    let mut acp = Harness::new();
    acp.request("session/new", json!({ "cwd": "/w", "mcpServers": [] }));
    acp.update("plan", json!({ "entries": [{ "content": "look", "status": "pending", "priority": "high" }] }));
    acp.answer(json!({ "sessionId": "s" }));
    acp.prompt("hello");
    acp.end_turn();
    acp.chunk("late", None);
    let events = acp.finish();
    assert_eq!(items(&events), ["note: 0 of 1 done|…", "user: hello", "agent: late"]);
    assert_eq!(data_of(&events, "session.started")[0]["metadata"]["cwd"], "/w");
}

#[test]
fn history_that_is_new_to_the_stream_is_converted() {
    let mut acp = Harness::new();
    acp.request("session/load", json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] }));
    acp.update("user_message_chunk", json!({ "content": { "type": "text", "text": "one" } }));
    acp.chunk("first", None);
    acp.answer(json!({}));
    acp.prompt("two");
    acp.chunk("second", None);
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: one", "agent: first", "user: two", "agent: second"]);
    assert_eq!(turn_statuses(&events), [TurnStatus::Completed, TurnStatus::Completed]);
}

#[test]
fn history_that_the_stream_has_is_dropped() {
    let mut acp = Harness::in_turn();
    acp.chunk("first", None);
    acp.end_turn();
    acp.push(Input::Exit { code: Some(0) });
    acp.request("session/load", json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] }));
    acp.update("user_message_chunk", json!({ "content": { "type": "text", "text": "hello" } }));
    acp.chunk("first", None);
    acp.answer(json!({}));
    acp.prompt("two");
    acp.chunk("second", None);
    acp.end_turn();
    assert_eq!(items(&acp.finish()), ["user: hello", "agent: first", "user: two", "agent: second"]);

    let mut acp = Harness::new();
    let launch = Launch::default().has_history(true);
    acp.conversion.observe_launch(None, &launch, &mut acp.events);
    acp.request("session/load", json!({ "sessionId": "s", "cwd": "/w", "mcpServers": [] }));
    acp.chunk("first", None);
    acp.answer(json!({}));
    assert_eq!(items(&acp.finish()), [""; 0]);
}

#[test]
fn a_prompt_for_an_unknown_session_is_an_error_outside_the_conversation() {
    let mut acp = Harness::in_turn();
    acp.end_turn();
    let prompt = json!([{ "type": "text", "text": "x" }]);
    acp.request("session/prompt", json!({ "sessionId": "nope", "prompt": prompt }));
    acp.refuse(-32002, "Resource not found");
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello"]);
    assert_eq!(data_of(&events, "error")[0]["message"], "session/prompt: Resource not found");
    assert_eq!(data_of(&events, "session.started").len(), 1);
}

#[test]
fn a_change_of_mode_is_reported_once() {
    let mut acp = Harness::new();
    acp.request("session/new", json!({ "cwd": "/w", "mcpServers": [] }));
    let modes = json!({ "currentModeId": "default", "availableModes": [] });
    acp.answer(json!({ "sessionId": "s", "modes": modes }));
    acp.request("session/set_mode", json!({ "sessionId": "s", "modeId": "plan" }));
    acp.update("current_mode_update", json!({ "currentModeId": "plan" }));
    let option = json!({ "id": "mode", "name": "Mode", "category": "mode", "type": "select", "currentValue": "plan", "options": [] });
    acp.update("config_option_update", json!({ "configOptions": [option] }));
    acp.answer(json!({}));
    let events = acp.finish();
    assert_eq!(items(&events), ["note: Mode changed from default to plan|…"]);
    assert_eq!(data_of(&events, "session.started")[0]["metadata"]["permission_mode"], "default");
}

#[test]
fn the_cost_of_a_turn_is_the_growth_of_the_total() {
    let mut acp = Harness::in_turn();
    let cost = |amount: f64| json!({ "used": 1, "size": 2, "cost": { "amount": amount, "currency": "USD" } });
    acp.update("usage_update", cost(0.5));
    acp.answer(json!({ "stopReason": "end_turn", "usage": { "inputTokens": 3, "outputTokens": 1, "totalTokens": 4 } }));
    acp.prompt("again");
    acp.update("usage_update", cost(0.75));
    acp.end_turn();
    let ended = data_of(&acp.finish(), "turn.ended");
    assert_eq!((&ended[0]["usage"]["cost_usd"], &ended[0]["usage"]["input_tokens"]), (&json!(0.5), &json!(3)));
    // Without tokens there is no usage, which would need some.
    assert_eq!(ended[1]["usage"], Value::Null);
    assert_eq!(ended[1]["metadata"]["native"]["cost"], json!({ "amount": 0.25, "currency": "USD" }));
}

#[test]
fn usage_of_single_requests_is_added() {
    let mut acp = Harness::in_turn();
    for _ in 0..2 {
        let meta = json!({ "usage": { "promptTokens": 10, "completionTokens": 2 } });
        acp.update("agent_message_chunk", json!({ "content": { "type": "text", "text": "" }, "_meta": meta }));
    }
    acp.end_turn();
    let usage = data_of(&acp.finish(), "turn.ended")[0]["usage"].clone();
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(20), &json!(4)));
}

#[test]
fn a_form_is_a_question_for_each_field() {
    let mut acp = Harness::in_turn();
    let schema = json!({ "type": "object", "properties": {
        "colour": { "type": "string", "title": "Colour", "oneOf": [{ "const": "r", "title": "Red" }, { "const": "b", "title": "Blue" }] },
        "name": { "type": "string" },
    } });
    let params = json!({ "mode": "form", "sessionId": "s", "message": "Choose", "requestedSchema": schema });
    acp.receive(&json!({ "jsonrpc": "2.0", "id": 4, "method": "elicitation/create", "params": params }));
    let answer = json!({ "action": "accept", "content": { "colour": "b", "name": "kiwi" } });
    acp.send(&json!({ "jsonrpc": "2.0", "id": 4, "result": answer }));
    acp.end_turn();
    let events = acp.finish();
    let asked = data_of(&events, "question.requested");
    assert_eq!((asked.len(), &asked[0]["options"]), (2, &json!(["Red", "Blue"])));
    let answers: Vec<Value> =
        data_of(&events, "question.resolved").into_iter().map(|data| data["response"].clone()).collect();
    assert_eq!(answers, ["Blue", "kiwi"]);
}

#[test]
fn a_call_of_a_sub_agent_is_below_the_call_that_started_it() {
    let mut acp = Harness::in_turn();
    let task = json!({ "prompt": "work", "subagent_type": "general" });
    acp.update(
        "tool_call",
        json!({ "toolCallId": "p", "title": "Task", "kind": "think", "status": "pending", "rawInput": task }),
    );
    let meta = json!({ "claudeCode": { "toolName": "Bash", "parentToolUseId": "p" } });
    let input = json!({ "command": "ls" });
    acp.update("tool_call", json!({ "toolCallId": "c", "title": "ls", "kind": "execute", "status": "pending", "rawInput": input, "_meta": meta }));
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "c", "status": "completed", "rawOutput": "a", "_meta": meta }),
    );
    acp.update("tool_call_update", json!({ "toolCallId": "p", "status": "completed", "rawOutput": "done" }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "call: Sub-agent: work", "call: Run ls", "result: a", "result: done"]);
    let completed = data_of(&events, "item.completed");
    assert_eq!(completed[2]["item"]["parent_id"], completed[1]["item"]["item_id"]);
}

#[test]
fn a_dead_agent_fails_its_turn() {
    let mut acp = Harness::in_turn();
    acp.chunk("half", None);
    assert_eq!(turn_statuses(&acp.finish()), [TurnStatus::Failed]);
}

#[test]
fn a_compaction_has_its_summary() {
    let mut acp = Harness::in_turn();
    acp.update("compaction_update", json!({ "compactionId": "k", "status": "in_progress" }));
    let chunk = json!({ "compactionId": "k", "content": { "type": "text", "text": "in short" } });
    acp.update("compaction_summary_chunk", chunk);
    acp.update("compaction_update", json!({ "compactionId": "k", "status": "completed" }));
    acp.end_turn();
    let events = acp.finish();
    let completed = data_of(&events, "item.completed");
    assert!(completed.iter().any(|data| data["item"]["content"][1]["json"]["summary"] == "in short"), "{completed:?}");
}

#[test]
fn a_turn_that_reaches_a_limit_fails_with_the_reason() {
    let mut acp = Harness::in_turn();
    acp.answer(json!({ "stopReason": "max_turn_requests" }));
    let events = acp.finish();
    assert_eq!(data_of(&events, "error")[0]["code"], "limit");
    assert_eq!(turn_statuses(&events), [TurnStatus::Failed]);
}

#[test]
fn a_file_in_a_prompt_is_a_file_and_not_text() {
    let mut acp = Harness::new();
    acp.open();
    let prompt = json!([
        { "type": "text", "text": "look" },
        { "type": "resource", "resource": { "uri": "file:///w/a.rs", "text": "fn a() {}" } },
        { "type": "image", "data": "AQID", "mimeType": "image/png" },
    ]);
    acp.request("session/prompt", json!({ "sessionId": "s", "prompt": prompt }));
    acp.end_turn();
    assert_eq!(items(&acp.finish()), ["user: look|</w/a.rs>|…"]);
}

//! Universal data: inputs, permissions, statuses, errors, payloads.

use interlingua_schema::{EventData, ItemKind, ItemStatus, Role, TurnStatus};
use serde_json::{Value, json};

use super::harness::{CREATED, Harness, texts_of};

fn overflow_error() -> Value {
    json!({ "sessionID": "ses_1", "error": { "name": "ContextOverflowError", "data": { "message": "too long" } } })
}

/// A compaction with its summary, up to the event that confirms it.
fn compact(server: &mut Harness, auto: bool) {
    let info = json!({ "id": "msg_c", "role": "user", "time": { "created": CREATED + 1 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    server.part("ses_1", "msg_c", json!({ "id": "prt_c", "type": "compaction", "auto": auto }));
    server.busy("ses_1").agent_message("ses_1", "msg_s", "msg_c", &json!({ "summary": true }));
    server.part("ses_1", "msg_s", json!({ "id": "prt_s", "type": "text", "text": "", "time": { "start": 1 } }));
    let delta =
        json!({ "sessionID": "ses_1", "messageID": "msg_s", "partID": "prt_s", "field": "text", "delta": "## G" });
    server.event("message.part.delta", delta).text_part("ses_1", "msg_s", "prt_s", "## Goal\n");
    server.complete_message("ses_1", "msg_s", "stop");
}

#[test]
fn a_user_message_has_the_payload_of_its_text() {
    let mut server = Harness::with_raw();
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({})).complete_message("ses_1", "msg_2", "stop");
    let info = json!({ "id": "msg_s", "role": "user", "time": { "created": CREATED + 1 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    server.part("ses_1", "msg_s", json!({ "id": "prt_s", "type": "text", "text": "Continue", "synthetic": true }));
    server.busy("ses_1");
    let completed = server.events_json("item.completed");
    let user = &completed[0];
    assert_eq!(
        (&user["data"]["item"]["role"], &user["raw"]["properties"]["part"]["text"]),
        (&json!("user"), &json!("a"))
    );
    let system = &completed[1];
    assert_eq!(system["data"]["item"]["kind"], "system");
    assert_eq!(system["raw"]["properties"]["part"]["text"], "Continue");
}

#[test]
fn a_user_message_with_a_file_has_the_payload_of_its_text() {
    let mut server = Harness::with_raw();
    server.part("ses_1", "msg_a", json!({ "id": "prt_f", "type": "file", "mime": "image/png", "url": "data:," }));
    server.user_message("ses_1", "msg_a", "see").busy("ses_1");
    let completed = server.events_json("item.completed");
    assert_eq!(completed[0]["raw"]["properties"]["part"]["text"], "see");
}

#[test]
fn the_summary_of_a_compaction_is_in_its_status() {
    let mut server = Harness::with_raw();
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({})).complete_message(
        "ses_1",
        "msg_2",
        "tool-calls",
    );
    compact(&mut server, true);
    let info = json!({ "id": "msg_k", "role": "user", "time": { "created": CREATED + 1 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let text = "Continue if you have next steps.";
    server.part("ses_1", "msg_k", json!({ "id": "prt_k", "type": "text", "text": text, "synthetic": true }));
    server.event("session.compacted", json!({ "sessionID": "ses_1" })).busy("ses_1");
    server.agent_message("ses_1", "msg_3", "msg_k", &json!({})).text_part("ses_1", "msg_3", "prt_3", "done");
    server.complete_message("ses_1", "msg_3", "stop").idle("ses_1");
    let items = server.completed_items();
    assert_eq!(texts_of(&items, Role::Assistant), ["done"]);
    assert_eq!(texts_of(&items, Role::User), ["a"]);
    assert_eq!(items.iter().filter(|item| item.kind == ItemKind::System).count(), 1);
    let statuses = server.statuses("compaction");
    assert_eq!(statuses.len(), 1);
    assert_eq!(statuses[0].0[1]["json"], json!({ "trigger": "auto", "summary": "## Goal" }));
    let compaction =
        server.events_json("item.completed").into_iter().find(|event| event["data"]["item"]["kind"] == "status");
    assert_eq!(compaction.unwrap()["raw"]["properties"]["part"]["text"], "## Goal\n");
}

#[test]
fn a_compaction_without_session_compacted_ends_with_the_turn() {
    let mut server = Harness::with_session("1.18.33");
    compact(&mut server, false);
    server.idle("ses_1");
    assert_eq!(server.statuses("compaction")[0].0[1]["json"], json!({ "trigger": "manual", "summary": "## Goal" }));
    assert_eq!(server.statuses("compaction")[0].1, "completed");
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

#[test]
fn a_failed_compaction_is_failed_and_an_error() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({})).event("session.error", overflow_error());
    server.complete_message("ses_1", "msg_2", "");
    let info = json!({ "id": "msg_c", "role": "user", "time": { "created": CREATED + 1 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    server.part("ses_1", "msg_c", json!({ "id": "prt_c", "type": "compaction", "auto": true, "overflow": true }));
    server.agent_message("ses_1", "msg_s", "msg_c", &json!({ "summary": true }));
    let error = json!({ "name": "ContextOverflowError", "data": { "message": "too large to compact" } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    server.agent_message(
        "ses_1",
        "msg_s",
        "msg_c",
        &json!({ "summary": true, "error": error, "finish": "error", "time": time }),
    );
    server.idle("ses_1");
    let statuses = server.statuses("compaction");
    assert_eq!(statuses[0].1, "failed");
    assert_eq!(statuses[0].0[0]["detail"], "Compaction failed: too large to compact");
    assert_eq!(server.error_messages(), ["too large to compact"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed]);
}

#[test]
fn an_overflow_resolved_by_a_compaction_is_a_notice() {
    let mut server = Harness::with_raw();
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.event("session.error", overflow_error()).complete_message("ses_1", "msg_2", "");
    compact(&mut server, true);
    server.event("session.compacted", json!({ "sessionID": "ses_1" }));
    server.agent_message("ses_1", "msg_3", "msg_a", &json!({})).text_part("ses_1", "msg_3", "prt_3", "here");
    server.complete_message("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(server.error_messages(), [""; 0]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
    assert_eq!(server.statuses("notice")[0].0[0]["detail"], "too long");
    let notice = server
        .events_json("item.completed")
        .into_iter()
        .find(|event| event["data"]["item"]["content"][0]["label"] == "notice");
    assert_eq!(notice.unwrap()["raw"]["type"], "session.error");
}

#[test]
fn an_overflow_without_a_compaction_is_an_error() {
    let mut server = Harness::with_raw();
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.event("session.error", overflow_error()).complete_message("ses_1", "msg_2", "").idle("ses_1");
    assert_eq!(server.error_messages(), ["too long"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Failed]);
    let error = &server.events_json("error")[0];
    assert_eq!((&error["data"]["code"], &error["raw"]["type"]), (&json!("context_overflow"), &json!("session.error")));
    assert_eq!(error["data"]["details"], json!({ "type": "ContextOverflowError" }));
}

#[test]
fn the_finish_of_the_last_message_is_the_stop_reason() {
    for (finish, reason, status) in [
        ("stop", json!("end_turn"), TurnStatus::Completed),
        ("length", json!("max_tokens"), TurnStatus::Completed),
        ("content-filter", json!("refusal"), TurnStatus::Completed),
        ("other", json!("other"), TurnStatus::Completed),
        ("tool-calls", Value::Null, TurnStatus::Completed),
        ("error", Value::Null, TurnStatus::Failed),
        ("levitated", Value::Null, TurnStatus::Failed),
    ] {
        let mut server = Harness::with_session("1.18.33");
        server
            .prompt("a")
            .agent_message("ses_1", "msg_2", "msg_a", &json!({}))
            .text_part("ses_1", "msg_2", "prt_2", "b");
        server.complete_message("ses_1", "msg_2", finish).idle("ses_1");
        assert_eq!(server.turn_statuses(), [status], "{finish}");
        assert_eq!(server.events_json("turn.ended")[0]["data"]["metadata"]["stop_reason"], reason, "{finish}");
        let unparsed = server.events_json("agent.unparsed");
        assert_eq!(unparsed.len(), usize::from(finish == "levitated"));
    }
}

#[test]
fn a_v2_step_with_an_unknown_finish_fails_the_turn() {
    for finish in [json!("levitated"), Value::Null] {
        let mut server = Harness::with_session("1.18.33");
        server.next_event("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "a" } }));
        server.next_event("step.started", json!({ "assistantMessageID": "msg_2" }));
        server.next_event("step.ended", json!({ "assistantMessageID": "msg_2", "finish": finish }));
        assert_eq!(server.turn_statuses(), [TurnStatus::Failed], "{finish}");
    }
}

#[test]
fn a_tool_with_an_unknown_final_state_is_failed() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    let input = json!({ "command": "ls" });
    server.tool_part("msg_2", "bash", json!({ "status": "levitating", "input": input }));
    server.tool_part("msg_2", "bash", json!({ "status": "running", "input": input }));
    server.tool_part(
        "msg_2",
        "bash",
        json!({ "status": "levitated", "input": input, "output": "a", "time": { "end": 2 } }),
    );
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    let result = server.completed_items().into_iter().find(|item| item.kind == ItemKind::ToolResult).unwrap();
    assert_eq!(result.status, ItemStatus::Failed);
    let unparsed = server.events_json("agent.unparsed");
    let errors: Vec<&str> = unparsed.iter().filter_map(|event| event["data"]["error"].as_str()).collect();
    assert_eq!(errors, ["unknown state of a tool: levitating", "unknown state of a tool: levitated"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

#[test]
fn an_invalid_exit_code_is_a_failure() {
    for exit in [json!("3"), json!(1.5), json!({}), json!(9_999_999_999_i64)] {
        let mut server = Harness::with_session("1.18.33");
        server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
        let state =
            json!({ "status": "completed", "input": { "command": "x" }, "output": "", "metadata": { "exit": exit } });
        server.tool_part("msg_2", "bash", state).complete_message("ses_1", "msg_2", "stop").idle("ses_1");
        assert_eq!(server.completed_items().last().unwrap().status, ItemStatus::Failed, "{exit}");
        assert_eq!(server.events_json("agent.unparsed").len(), 1, "{exit}");
        assert_eq!(server.turn_statuses(), [TurnStatus::Completed], "{exit}");
    }
}

#[test]
fn a_tool_of_a_listed_server_is_mcp_from_its_start() {
    let kinds = |server: &mut Harness| -> Vec<Value> {
        let events = server
            .finish()
            .iter()
            .filter(|event| matches!(&event.data, EventData::ItemStarted(_) | EventData::ItemCompleted(_)));
        let parts = events.map(|event| serde_json::to_value(event).unwrap()["data"]["item"]["content"][0].clone());
        parts.filter(|part| part["type"] == "tool_call").map(|part| part["tool_kind"].clone()).collect()
    };
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    let pending = json!({ "status": "pending", "input": {}, "raw": "" });
    server.tool_part("msg_2", "no_such_tool", pending.clone());
    let input = json!({ "tool": "no_such_tool", "error": "Model tried to call unavailable tool 'no_such_tool'." });
    server.tool_part("msg_2", "invalid", json!({ "status": "completed", "input": input, "output": "no" }));
    assert_eq!(kinds(&mut server), [Value::Null, json!("other")]);

    let mut server = Harness::with_session("1.18.33");
    server.exchange("GET", "/mcp", &Value::Null, 200, &json!({ "my lab": { "status": "connected" } }));
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.tool_part("msg_2", "my_lab_add_up", pending);
    server.tool_part("msg_2", "my_lab_add_up", json!({ "status": "completed", "input": { "a": 1 }, "output": "1" }));
    assert_eq!(kinds(&mut server), ["mcp", "mcp"]);
    let call = &server.events_json("item.completed")[1]["data"]["item"]["content"][0];
    assert_eq!(call["input"], json!({ "server": "my lab", "tool": "add_up", "arguments": { "a": 1 } }));
    assert_eq!(call["title"], "my lab: add_up");
}

#[test]
fn a_permission_has_the_input_of_its_call() {
    let mut server = Harness::with_session("1.18.33");
    let input = json!({ "command": "touch made.txt" });
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.tool_part("msg_2", "bash", json!({ "status": "running", "input": input }));
    let request = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["touch made.txt"], "always": ["touch *"], "metadata": {}, "tool": { "callID": "call_1", "messageID": "msg_2" } });
    server.event("permission.asked", request);
    server.event("permission.replied", json!({ "sessionID": "ses_1", "requestID": "per_1", "reply": "once" }));
    let requested = &server.events_json("permission.requested")[0]["data"];
    assert_eq!(requested["action"], "Run touch made.txt");
    let metadata = &requested["metadata"];
    assert_eq!((&metadata["call_id"], &metadata["tool_kind"]), (&json!("call_1"), &json!("command")));
    assert_eq!((&metadata["input"], &metadata["scopes"]), (&input, &json!(["once", "session"])));
    assert_eq!(
        metadata["native"],
        json!({ "permission": "bash", "patterns": ["touch made.txt"], "always": ["touch *"], "message_id": "msg_2", "metadata": {} })
    );
    assert_eq!(metadata.get("reason"), None);
    assert_eq!(server.events_json("permission.resolved")[0]["data"]["metadata"]["scope"], "once");
}

#[test]
fn a_permission_that_precedes_its_call_opens_the_call() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    let request = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["ls"], "metadata": { "command": "ls" }, "tool": { "callID": "call_1", "messageID": "msg_2" } });
    server.event("permission.asked", request);
    server.tool_part("msg_2", "bash", json!({ "status": "running", "input": { "command": "ls" } }));
    server.tool_part(
        "msg_2",
        "bash",
        json!({ "status": "completed", "input": { "command": "ls" }, "output": "a", "metadata": { "exit": 0 } }),
    );
    let items = server.completed_items();
    assert_eq!(items.iter().filter(|item| item.kind == ItemKind::ToolCall).count(), 1);
    let requested = &server.events_json("permission.requested")[0]["data"];
    assert_eq!(requested["action"], "Run ls");
    assert_eq!(requested["metadata"]["call_id"], "call_1");
    assert_eq!(requested["metadata"]["scopes"], json!(["once"]));
}

#[test]
fn each_question_has_its_metadata() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    let questions = json!([
        { "question": "1?", "header": "One", "multiple": true, "options": [{ "label": "A", "description": "a" }] },
        { "question": "2?", "custom": false, "options": [{ "label": "B" }] },
    ]);
    let tool = json!({ "callID": "call_1", "messageID": "msg_2" });
    server
        .event("question.asked", json!({ "id": "que_1", "sessionID": "ses_1", "questions": questions, "tool": tool }));
    let requested = server.events_json("question.requested");
    assert_eq!(
        requested[0]["data"]["metadata"],
        json!({ "header": "One", "options": [{ "label": "A", "description": "a" }], "multi_select": true, "free_text": true, "secret": false, "call_id": "call_1" })
    );
    assert_eq!(requested[1]["data"]["metadata"]["free_text"], false);
}

#[test]
fn a_retry_has_its_delay() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    // The id contains the low bits of 1794787136696 - 1000 milliseconds.
    let id = format!("evt_{:09x}001abcdefghijklmn", (1_794_787_136_696_i64 - 1000) % (1 << 36));
    let status =
        json!({ "type": "retry", "attempt": 2, "message": "Too many requests.", "next": 1_794_787_136_696_i64 });
    let event = json!({ "id": id, "type": "session.status", "properties": { "sessionID": "ses_1", "status": status } });
    server.receive(&event.to_string());
    let retry = json!({ "attempt": 2, "delay_ms": 1000, "reason": "Too many requests.", "code": "rate_limited" });
    assert_eq!(server.statuses("retry")[0].0[1]["json"], retry);
}

#[test]
fn a_turn_starts_with_its_model_and_mode() {
    let mut server = Harness::with_session("1.18.33");
    for (message, agent) in [("msg_a", "plan"), ("msg_b", "build")] {
        let model = json!({ "providerID": "lab", "modelID": "scripted" });
        let info = json!({ "id": message, "role": "user", "time": { "created": CREATED + 1 }, "agent": agent, "model": model });
        server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
        server.part("ses_1", message, json!({ "id": format!("prt_{message}"), "type": "text", "text": message }));
        server.busy("ses_1").agent_message("ses_1", &format!("{message}2"), message, &json!({}));
        server.complete_message("ses_1", &format!("{message}2"), "stop").idle("ses_1");
    }
    let turns = server.events_json("turn.started");
    assert_eq!(turns[0]["data"]["metadata"], json!({ "model": "scripted", "agent_mode": "plan" }));
    assert_eq!(turns[1]["data"]["metadata"], json!({ "model": "scripted", "agent_mode": "build" }));
    let changed = server.statuses("mode_changed");
    assert_eq!(changed[0].0[1]["json"], json!({ "from": "plan", "to": "build" }));
}

#[test]
fn a_v2_compaction_has_its_summary() {
    let mut server = Harness::with_session("1.18.33");
    server.next_event("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "a" } }));
    server.next_event("compaction.started", json!({ "messageID": "msg_c", "reason": "auto" }));
    server.next_event("compaction.delta", json!({ "messageID": "msg_c", "text": "so" }));
    server.next_event("compaction.ended", json!({ "messageID": "msg_c", "reason": "auto", "text": "so far" }));
    assert_eq!(texts_of(&server.completed_items(), Role::Assistant), [""; 0]);
    assert_eq!(server.statuses("compaction")[0].0[1]["json"], json!({ "trigger": "auto", "summary": "so far" }));
}

#[test]
fn the_directory_of_a_session_from_before_the_log_comes_from_a_message() {
    let mut server = Harness::new();
    server.user_message("ses_1", "msg_a", "a").busy("ses_1");
    server.agent_message("ses_1", "msg_2", "msg_a", &json!({ "path": { "cwd": "/w", "root": "/" } }));
    server.tool_part("msg_2", "read", json!({ "status": "running", "input": { "filePath": "/w/a.txt" } }));
    let call = server.completed_items().into_iter().find(|item| item.kind == ItemKind::ToolCall).unwrap();
    assert_eq!(serde_json::to_value(&call.content[0]).unwrap()["title"], "Read a.txt");
}

#[test]
fn an_aborted_command_keeps_its_output() {
    let mut server = Harness::with_session("1.1.34");
    let input = json!({ "command": "make" });
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.tool_part(
        "msg_2",
        "bash",
        json!({ "status": "running", "input": input, "metadata": { "output": "begin\n" } }),
    );
    server.tool_part("msg_2", "bash", json!({ "status": "error", "input": input, "error": "Tool execution aborted" }));
    let result = server.completed_items().into_iter().find(|item| item.kind == ItemKind::ToolResult).unwrap();
    assert_eq!(result.status, ItemStatus::Failed);
    assert_eq!(serde_json::to_value(&result.content[0]).unwrap()["output"], "begin\n");
}

#[test]
fn a_tool_without_a_name_keeps_its_previous_name() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("a").agent_message("ses_1", "msg_2", "msg_a", &json!({}));
    server.tool_part("msg_2", "bash", json!({ "status": "pending", "input": {}, "raw": "" }));
    server.tool_part("msg_2", "", json!({ "status": "running", "input": { "command": "ls" } }));
    let call = server.completed_items().into_iter().find(|item| item.kind == ItemKind::ToolCall).unwrap();
    let call = serde_json::to_value(&call.content[0]).unwrap();
    assert_eq!((&call["name"], &call["title"]), (&json!("bash"), &json!("Run ls")));
}

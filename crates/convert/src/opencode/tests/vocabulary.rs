//! The vocabulary that all agents share: inputs, permissions, statuses, errors, the payload of each event.

use interlingua_schema::{EventData, ItemKind, ItemStatus, Role, TurnStatus};
use serde_json::{Value, json};

use super::play::{CREATED, Play, said};

fn overflow() -> Value {
    json!({ "sessionID": "ses_1", "error": { "name": "ContextOverflowError", "data": { "message": "too long" } } })
}

/// A compaction with its summary, as far as the session says that it is over.
fn compacts(play: &mut Play, auto: bool) {
    let info = json!({ "id": "msg_c", "role": "user", "time": { "created": CREATED + 1 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    play.part("ses_1", "msg_c", json!({ "id": "prt_c", "type": "compaction", "auto": auto }));
    play.busy("ses_1").answer("ses_1", "msg_s", "msg_c", &json!({ "summary": true }));
    play.part("ses_1", "msg_s", json!({ "id": "prt_s", "type": "text", "text": "", "time": { "start": 1 } }));
    let delta =
        json!({ "sessionID": "ses_1", "messageID": "msg_s", "partID": "prt_s", "field": "text", "delta": "## G" });
    play.say("message.part.delta", delta).text("ses_1", "msg_s", "prt_s", "## Goal\n");
    play.done("ses_1", "msg_s", "stop");
}

#[test]
fn a_message_of_the_user_has_the_payload_with_its_words() {
    let mut play = Play::begun_with_raw();
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).done("ses_1", "msg_2", "stop");
    let info = json!({ "id": "msg_s", "role": "user", "time": { "created": CREATED + 1 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    play.part("ses_1", "msg_s", json!({ "id": "prt_s", "type": "text", "text": "Continue", "synthetic": true }));
    play.busy("ses_1");
    let completed = play.json_of("item.completed");
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
fn the_words_of_a_message_with_a_file_are_its_payload() {
    let mut play = Play::begun_with_raw();
    play.part("ses_1", "msg_a", json!({ "id": "prt_f", "type": "file", "mime": "image/png", "url": "data:," }));
    play.user("ses_1", "msg_a", "see").busy("ses_1");
    let completed = play.json_of("item.completed");
    assert_eq!(completed[0]["raw"]["properties"]["part"]["text"], "see");
}

#[test]
fn the_summary_of_a_compaction_is_in_its_status() {
    let mut play = Play::begun_with_raw();
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).done("ses_1", "msg_2", "tool-calls");
    compacts(&mut play, true);
    let info = json!({ "id": "msg_k", "role": "user", "time": { "created": CREATED + 1 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let text = "Continue if you have next steps.";
    play.part("ses_1", "msg_k", json!({ "id": "prt_k", "type": "text", "text": text, "synthetic": true }));
    play.say("session.compacted", json!({ "sessionID": "ses_1" })).busy("ses_1");
    play.answer("ses_1", "msg_3", "msg_k", &json!({})).text("ses_1", "msg_3", "prt_3", "done");
    play.done("ses_1", "msg_3", "stop").idle("ses_1");
    let items = play.completed();
    assert_eq!(said(&items, Role::Assistant), ["done"]);
    assert_eq!(said(&items, Role::User), ["a"]);
    assert_eq!(items.iter().filter(|item| item.kind == ItemKind::System).count(), 1);
    let statuses = play.statuses("compaction");
    assert_eq!(statuses.len(), 1);
    assert_eq!(statuses[0].0[1]["json"], json!({ "trigger": "auto", "summary": "## Goal" }));
    let compaction = play.json_of("item.completed").into_iter().find(|event| event["data"]["item"]["kind"] == "status");
    assert_eq!(compaction.unwrap()["raw"]["properties"]["part"]["text"], "## Goal\n");
}

#[test]
fn a_compaction_that_the_session_does_not_confirm_ends_with_the_turn() {
    let mut play = Play::begun("1.18.33");
    compacts(&mut play, false);
    play.idle("ses_1");
    assert_eq!(play.statuses("compaction")[0].0[1]["json"], json!({ "trigger": "manual", "summary": "## Goal" }));
    assert_eq!(play.statuses("compaction")[0].1, "completed");
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

#[test]
fn a_compaction_that_fails_is_failed_and_an_error() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).say("session.error", overflow());
    play.done("ses_1", "msg_2", "");
    let info = json!({ "id": "msg_c", "role": "user", "time": { "created": CREATED + 1 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    play.part("ses_1", "msg_c", json!({ "id": "prt_c", "type": "compaction", "auto": true, "overflow": true }));
    play.answer("ses_1", "msg_s", "msg_c", &json!({ "summary": true }));
    let error = json!({ "name": "ContextOverflowError", "data": { "message": "too large to compact" } });
    let time = json!({ "created": CREATED + 2, "completed": CREATED + 3 });
    play.answer(
        "ses_1",
        "msg_s",
        "msg_c",
        &json!({ "summary": true, "error": error, "finish": "error", "time": time }),
    );
    play.idle("ses_1");
    let statuses = play.statuses("compaction");
    assert_eq!(statuses[0].1, "failed");
    assert_eq!(statuses[0].0[0]["detail"], "Compaction failed: too large to compact");
    assert_eq!(play.errors(), ["too large to compact"]);
    assert_eq!(play.turns(), [TurnStatus::Failed]);
}

#[test]
fn an_overflow_that_a_compaction_overcomes_is_a_notice() {
    let mut play = Play::begun_with_raw();
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.say("session.error", overflow()).done("ses_1", "msg_2", "");
    compacts(&mut play, true);
    play.say("session.compacted", json!({ "sessionID": "ses_1" }));
    play.answer("ses_1", "msg_3", "msg_a", &json!({})).text("ses_1", "msg_3", "prt_3", "here");
    play.done("ses_1", "msg_3", "stop").idle("ses_1");
    assert_eq!(play.errors(), [""; 0]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
    assert_eq!(play.statuses("notice")[0].0[0]["detail"], "too long");
    let notice = play
        .json_of("item.completed")
        .into_iter()
        .find(|event| event["data"]["item"]["content"][0]["label"] == "notice");
    assert_eq!(notice.unwrap()["raw"]["type"], "session.error");
}

#[test]
fn an_overflow_that_nothing_overcomes_is_an_error() {
    let mut play = Play::begun_with_raw();
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.say("session.error", overflow()).done("ses_1", "msg_2", "").idle("ses_1");
    assert_eq!(play.errors(), ["too long"]);
    assert_eq!(play.turns(), [TurnStatus::Failed]);
    let error = &play.json_of("error")[0];
    assert_eq!((&error["data"]["code"], &error["raw"]["type"]), (&json!("context_overflow"), &json!("session.error")));
    assert_eq!(error["data"]["details"], json!({ "type": "ContextOverflowError" }));
}

#[test]
fn the_reason_why_the_model_stopped_is_told() {
    for (finish, reason, status) in [
        ("stop", json!("end_turn"), TurnStatus::Completed),
        ("length", json!("max_tokens"), TurnStatus::Completed),
        ("content-filter", json!("refusal"), TurnStatus::Completed),
        ("other", json!("other"), TurnStatus::Completed),
        ("tool-calls", Value::Null, TurnStatus::Completed),
        ("error", Value::Null, TurnStatus::Failed),
        ("levitated", Value::Null, TurnStatus::Failed),
    ] {
        let mut play = Play::begun("1.18.33");
        play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).text("ses_1", "msg_2", "prt_2", "b");
        play.done("ses_1", "msg_2", finish).idle("ses_1");
        assert_eq!(play.turns(), [status], "{finish}");
        assert_eq!(play.json_of("turn.ended")[0]["data"]["metadata"]["stop_reason"], reason, "{finish}");
        let unparsed = play.json_of("agent.unparsed");
        assert_eq!(unparsed.len(), usize::from(finish == "levitated"));
    }
}

#[test]
fn a_step_of_the_v2_api_that_ends_for_no_known_reason_is_no_success() {
    for finish in [json!("levitated"), Value::Null] {
        let mut play = Play::begun("1.18.33");
        play.next("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "a" } }));
        play.next("step.started", json!({ "assistantMessageID": "msg_2" }));
        play.next("step.ended", json!({ "assistantMessageID": "msg_2", "finish": finish }));
        assert_eq!(play.turns(), [TurnStatus::Failed], "{finish}");
    }
}

#[test]
fn a_state_that_is_not_known_is_no_success() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    let input = json!({ "command": "ls" });
    play.tool("msg_2", "bash", json!({ "status": "levitating", "input": input }));
    play.tool("msg_2", "bash", json!({ "status": "running", "input": input }));
    play.tool("msg_2", "bash", json!({ "status": "levitated", "input": input, "output": "a", "time": { "end": 2 } }));
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    let result = play.completed().into_iter().find(|item| item.kind == ItemKind::ToolResult).unwrap();
    assert_eq!(result.status, ItemStatus::Failed);
    let unparsed = play.json_of("agent.unparsed");
    let errors: Vec<&str> = unparsed.iter().filter_map(|event| event["data"]["error"].as_str()).collect();
    assert_eq!(errors, ["unknown state of a tool: levitating", "unknown state of a tool: levitated"]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

#[test]
fn an_exit_code_that_is_none_is_no_success() {
    for exit in [json!("3"), json!(1.5), json!({}), json!(9_999_999_999_i64)] {
        let mut play = Play::begun("1.18.33");
        play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
        let state =
            json!({ "status": "completed", "input": { "command": "x" }, "output": "", "metadata": { "exit": exit } });
        play.tool("msg_2", "bash", state).done("ses_1", "msg_2", "stop").idle("ses_1");
        assert_eq!(play.completed().last().unwrap().status, ItemStatus::Failed, "{exit}");
        assert_eq!(play.json_of("agent.unparsed").len(), 1, "{exit}");
        assert_eq!(play.turns(), [TurnStatus::Completed], "{exit}");
    }
}

#[test]
fn a_tool_of_a_server_is_mcp_from_its_start_or_not_at_all() {
    let kinds = |play: &mut Play| -> Vec<Value> {
        let events = play
            .end()
            .iter()
            .filter(|event| matches!(&event.data, EventData::ItemStarted(_) | EventData::ItemCompleted(_)));
        let parts = events.map(|event| serde_json::to_value(event).unwrap()["data"]["item"]["content"][0].clone());
        parts.filter(|part| part["type"] == "tool_call").map(|part| part["tool_kind"].clone()).collect()
    };
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    let pending = json!({ "status": "pending", "input": {}, "raw": "" });
    play.tool("msg_2", "no_such_tool", pending.clone());
    let input = json!({ "tool": "no_such_tool", "error": "Model tried to call unavailable tool 'no_such_tool'." });
    play.tool("msg_2", "invalid", json!({ "status": "completed", "input": input, "output": "no" }));
    assert_eq!(kinds(&mut play), [Value::Null, json!("other")]);

    let mut play = Play::begun("1.18.33");
    play.ask("GET", "/mcp", &Value::Null, 200, &json!({ "my lab": { "status": "connected" } }));
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.tool("msg_2", "my_lab_add_up", pending);
    play.tool("msg_2", "my_lab_add_up", json!({ "status": "completed", "input": { "a": 1 }, "output": "1" }));
    assert_eq!(kinds(&mut play), ["mcp", "mcp"]);
    let call = &play.json_of("item.completed")[1]["data"]["item"]["content"][0];
    assert_eq!(call["input"], json!({ "server": "my lab", "tool": "add_up", "arguments": { "a": 1 } }));
    assert_eq!(call["title"], "my lab: add_up");
}

#[test]
fn a_permission_is_about_its_call() {
    let mut play = Play::begun("1.18.33");
    let input = json!({ "command": "touch made.txt" });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "running", "input": input }));
    let asked = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["touch made.txt"], "always": ["touch *"], "metadata": {}, "tool": { "callID": "call_1", "messageID": "msg_2" } });
    play.say("permission.asked", asked);
    play.say("permission.replied", json!({ "sessionID": "ses_1", "requestID": "per_1", "reply": "once" }));
    let requested = &play.json_of("permission.requested")[0]["data"];
    assert_eq!(requested["action"], "Run touch made.txt");
    let metadata = &requested["metadata"];
    assert_eq!((&metadata["call_id"], &metadata["tool_kind"]), (&json!("call_1"), &json!("command")));
    assert_eq!((&metadata["input"], &metadata["scopes"]), (&input, &json!(["once", "session"])));
    assert_eq!(
        metadata["native"],
        json!({ "permission": "bash", "patterns": ["touch made.txt"], "always": ["touch *"], "message_id": "msg_2", "metadata": {} })
    );
    assert_eq!(metadata.get("reason"), None);
    assert_eq!(play.json_of("permission.resolved")[0]["data"]["metadata"]["scope"], "once");
}

#[test]
fn a_permission_says_what_its_call_does_not_yet() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    let asked = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash", "patterns": ["ls"], "metadata": { "command": "ls" }, "tool": { "callID": "call_1", "messageID": "msg_2" } });
    play.say("permission.asked", asked);
    play.tool("msg_2", "bash", json!({ "status": "running", "input": { "command": "ls" } }));
    play.tool(
        "msg_2",
        "bash",
        json!({ "status": "completed", "input": { "command": "ls" }, "output": "a", "metadata": { "exit": 0 } }),
    );
    let items = play.completed();
    assert_eq!(items.iter().filter(|item| item.kind == ItemKind::ToolCall).count(), 1);
    let requested = &play.json_of("permission.requested")[0]["data"];
    assert_eq!(requested["action"], "Run ls");
    assert_eq!(requested["metadata"]["call_id"], "call_1");
    assert_eq!(requested["metadata"]["scopes"], json!(["once"]));
}

#[test]
fn a_question_has_the_metadata_of_every_question() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    let questions = json!([
        { "question": "1?", "header": "One", "multiple": true, "options": [{ "label": "A", "description": "a" }] },
        { "question": "2?", "custom": false, "options": [{ "label": "B" }] },
    ]);
    let tool = json!({ "callID": "call_1", "messageID": "msg_2" });
    play.say("question.asked", json!({ "id": "que_1", "sessionID": "ses_1", "questions": questions, "tool": tool }));
    let requested = play.json_of("question.requested");
    assert_eq!(
        requested[0]["data"]["metadata"],
        json!({ "header": "One", "options": [{ "label": "A", "description": "a" }], "multi_select": true, "free_text": true, "secret": false, "call_id": "call_1" })
    );
    assert_eq!(requested[1]["data"]["metadata"]["free_text"], false);
}

#[test]
fn a_retry_says_how_long_it_waits() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    // The id has the low bits of 1794787136696 - 1000 milliseconds.
    let id = format!("evt_{:09x}001abcdefghijklmn", (1_794_787_136_696_i64 - 1000) % (1 << 36));
    let status =
        json!({ "type": "retry", "attempt": 2, "message": "Too many requests.", "next": 1_794_787_136_696_i64 });
    let event = json!({ "id": id, "type": "session.status", "properties": { "sessionID": "ses_1", "status": status } });
    play.receive(&event.to_string());
    let said = json!({ "attempt": 2, "delay_ms": 1000, "reason": "Too many requests.", "code": "rate_limited" });
    assert_eq!(play.statuses("retry")[0].0[1]["json"], said);
}

#[test]
fn a_turn_begins_with_its_model_and_mode() {
    let mut play = Play::begun("1.18.33");
    for (message, agent) in [("msg_a", "plan"), ("msg_b", "build")] {
        let model = json!({ "providerID": "lab", "modelID": "scripted" });
        let info = json!({ "id": message, "role": "user", "time": { "created": CREATED + 1 }, "agent": agent, "model": model });
        play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
        play.part("ses_1", message, json!({ "id": format!("prt_{message}"), "type": "text", "text": message }));
        play.busy("ses_1").answer("ses_1", &format!("{message}2"), message, &json!({}));
        play.done("ses_1", &format!("{message}2"), "stop").idle("ses_1");
    }
    let turns = play.json_of("turn.started");
    assert_eq!(turns[0]["data"]["metadata"], json!({ "model": "scripted", "agent_mode": "plan" }));
    assert_eq!(turns[1]["data"]["metadata"], json!({ "model": "scripted", "agent_mode": "build" }));
    let changed = play.statuses("mode_changed");
    assert_eq!(changed[0].0[1]["json"], json!({ "from": "plan", "to": "build" }));
}

#[test]
fn a_compaction_of_the_v2_api_has_its_summary() {
    let mut play = Play::begun("1.18.33");
    play.next("prompted", json!({ "messageID": "msg_1", "prompt": { "text": "a" } }));
    play.next("compaction.started", json!({ "messageID": "msg_c", "reason": "auto" }));
    play.next("compaction.delta", json!({ "messageID": "msg_c", "text": "so" }));
    play.next("compaction.ended", json!({ "messageID": "msg_c", "reason": "auto", "text": "so far" }));
    assert_eq!(said(&play.completed(), Role::Assistant), [""; 0]);
    assert_eq!(play.statuses("compaction")[0].0[1]["json"], json!({ "trigger": "auto", "summary": "so far" }));
}

#[test]
fn the_directory_of_a_session_from_before_the_log_is_the_messages() {
    let mut play = Play::new();
    play.user("ses_1", "msg_a", "a").busy("ses_1");
    play.answer("ses_1", "msg_2", "msg_a", &json!({ "path": { "cwd": "/w", "root": "/" } }));
    play.tool("msg_2", "read", json!({ "status": "running", "input": { "filePath": "/w/a.txt" } }));
    let call = play.completed().into_iter().find(|item| item.kind == ItemKind::ToolCall).unwrap();
    assert_eq!(serde_json::to_value(&call.content[0]).unwrap()["title"], "Read a.txt");
}

#[test]
fn an_aborted_command_has_what_it_printed() {
    let mut play = Play::begun("1.1.34");
    let input = json!({ "command": "make" });
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "running", "input": input, "metadata": { "output": "begin\n" } }));
    play.tool("msg_2", "bash", json!({ "status": "error", "input": input, "error": "Tool execution aborted" }));
    let result = play.completed().into_iter().find(|item| item.kind == ItemKind::ToolResult).unwrap();
    assert_eq!(result.status, ItemStatus::Failed);
    assert_eq!(serde_json::to_value(&result.content[0]).unwrap()["output"], "begin\n");
}

#[test]
fn a_tool_without_a_name_keeps_the_one_it_had() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "pending", "input": {}, "raw": "" }));
    play.tool("msg_2", "", json!({ "status": "running", "input": { "command": "ls" } }));
    let call = play.completed().into_iter().find(|item| item.kind == ItemKind::ToolCall).unwrap();
    let call = serde_json::to_value(&call.content[0]).unwrap();
    assert_eq!((&call["name"], &call["title"]), (&json!("bash"), &json!("Run ls")));
}

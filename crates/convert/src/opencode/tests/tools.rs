//! Tools: commands, files, sub-agents, permissions and questions.

use interlingua_schema::{ContentPart, EventData, Item, ItemKind, ItemStatus, Role, ToolKind, TurnStatus};
use serde_json::{Value, json};

use super::harness::{CREATED, Harness, texts_of};

#[test]
fn a_command_streams_new_output_and_fails_by_its_exit_code() {
    let mut server = Harness::with_session("1.18.33");
    let input = json!({ "command": "ls" });
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.tool_part("msg_2", "bash", json!({ "status": "pending", "input": {}, "raw": "" }));
    for output in ["", "a\n", "a\nb\n"] {
        server.tool_part(
            "msg_2",
            "bash",
            json!({ "status": "running", "input": input, "metadata": { "output": output } }),
        );
    }
    let done = json!({ "status": "completed", "input": input, "output": "a\nb\n", "metadata": { "exit": 3 }, "time": { "start": 1, "end": 4 } });
    server.tool_part("msg_2", "bash", done).complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    let items = server.completed_items();
    let result = items.iter().find(|item| item.kind == ItemKind::ToolResult).unwrap();
    assert_eq!(result.status, ItemStatus::Failed);
    let part = &result.content[0];
    assert!(matches!(part, ContentPart::ToolResult { exit_code: Some(3), duration_ms: Some(3), .. }), "{part:?}");
    let deltas: Vec<&str> = server
        .events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemDelta(delta) if !event.origin.is_synthetic() => Some(delta.delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, ["a\n", "b\n"]);
}

#[test]
fn a_command_with_a_null_exit_code_is_failed() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.tool_part("msg_2", "bash", json!({ "status": "completed", "output": "x", "metadata": { "exit": null } }));
    let items = server.completed_items();
    assert_eq!(items.last().unwrap().status, ItemStatus::Failed);
}

#[test]
fn a_call_aborted_before_it_runs_is_failed() {
    let mut server = Harness::with_session("1.18.33");
    let aborted = json!({ "status": "error", "input": {}, "error": "Tool execution aborted", "metadata": { "interrupted": true } });
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.tool_part("msg_2", "write", json!({ "status": "pending", "input": {}, "raw": "" }));
    server.tool_part("msg_2", "write", aborted.clone());
    let items = server.completed_items();
    assert_eq!((items[1].kind.clone(), items[1].status.clone()), (ItemKind::ToolCall, ItemStatus::Failed));
    assert_eq!(items[2].status, ItemStatus::Failed);
    assert!(
        matches!(&items[2].content[0], ContentPart::ToolResult { output, .. } if output == "Tool execution aborted")
    );

    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.tool_part("msg_2", "list", json!({ "status": "running", "input": {} })).tool_part("msg_2", "list", aborted);
    let items = server.completed_items();
    assert_eq!((items[1].status.clone(), items[2].status.clone()), (ItemStatus::Completed, ItemStatus::Failed));
}

#[test]
fn an_aborted_shell_command_is_failed() {
    let mut server = Harness::with_session("1.18.33");
    let input = json!({ "command": "sleep 30" });
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.tool_part("msg_2", "bash", json!({ "status": "running", "input": input }));
    server.request("POST", "/session/ses_1/abort", &Value::Null);
    let done =
        json!({ "status": "completed", "input": input, "output": "aborted", "metadata": { "output": "aborted" } });
    server.tool_part("msg_2", "bash", done);
    assert_eq!(server.completed_items().last().unwrap().status, ItemStatus::Failed);
}

#[test]
fn a_started_call_has_its_kind_if_the_tool_is_certain() {
    // `lab_add` may not exist; `tiny_add` belongs to a known server.
    let kinds =
        [("lab_add", None), ("tiny_add", Some(ToolKind::Mcp)), ("mystery", None), ("bash", Some(ToolKind::Command))];
    for (tool, kind) in kinds {
        let mut server = Harness::with_session("1.18.33");
        server.event("mcp.tools.changed", json!({ "server": "tiny" }));
        server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
        server.tool_part("msg_2", tool, json!({ "status": "pending", "input": {}, "raw": "" }));
        let started = server.finish().iter().rev().find_map(|event| match &event.data {
            EventData::ItemStarted(started) => Some(started.item.content.clone()),
            _ => None,
        });
        assert!(matches!(started.as_deref(), Some([ContentPart::ToolCall { tool_kind, .. }]) if *tool_kind == kind));
    }
}

#[test]
fn a_provider_tool_is_not_an_mcp_tool() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    let part = json!({ "id": "prt_t", "type": "tool", "callID": "c", "tool": "web_search", "metadata": { "providerExecuted": true }, "state": { "status": "completed", "input": {}, "output": "" } });
    server.part("ses_1", "msg_2", part);
    let items = server.completed_items();
    assert!(matches!(&items[1].content[0], ContentPart::ToolCall { tool_kind: Some(ToolKind::Web), .. }));
}

#[test]
fn an_invalid_call_keeps_its_name_and_fails() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.tool_part("msg_2", "bash", json!({ "status": "pending", "input": {}, "raw": "" }));
    let input = json!({ "tool": "bash", "error": "no JSON" });
    server.tool_part("msg_2", "invalid", json!({ "status": "running", "input": input }));
    server.tool_part("msg_2", "invalid", json!({ "status": "completed", "input": input, "output": "no JSON" }));
    let items = server.completed_items();
    assert!(
        matches!(&items[1].content[0], ContentPart::ToolCall { name, tool_kind: Some(ToolKind::Command), .. } if name == "bash")
    );
    assert_eq!(items[2].status, ItemStatus::Failed);
}

#[test]
fn changed_files_come_with_their_diffs() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    let files = json!([
        { "filePath": "/w/a", "type": "add", "patch": "Index: /w/a\n===\n--- /w/a\n+++ /w/a\n@@ -0,0 +1 @@\n+1\n" },
        { "filePath": "/w/b", "type": "update", "before": "1\n", "after": "2\n" },
    ]);
    let state =
        json!({ "status": "completed", "input": { "patchText": "p" }, "output": "ok", "metadata": { "files": files } });
    server.tool_part("msg_2", "apply_patch", state);
    let items = server.completed_items();
    let json = serde_json::to_value(&items.last().unwrap().content).unwrap();
    assert_eq!(json[1]["action"], "write");
    assert_eq!(json[0]["output"], "");
    assert_eq!(json[1]["diff"], "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+1\n");
    assert_eq!((&json[2]["action"], &json[2]["path"]), (&"patch".into(), &"/w/b".into()));
    assert!(json[2]["diff"].as_str().unwrap().ends_with("-1\n+2\n"));
}

#[test]
fn an_overwritten_file_has_the_diff_of_its_permission() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    let request = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "edit", "always": ["*"], "metadata": { "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-y\n+x\n" }, "tool": { "callID": "call_1" } });
    server.event("permission.asked", request);
    server.exchange("POST", "/permission/per_1/reply", &json!({ "reply": "always" }), 200, &json!(true));
    server.event("permission.replied", json!({ "sessionID": "ses_1", "requestID": "per_1", "reply": "always" }));
    let input = json!({ "filePath": "/w/a", "content": "x" });
    server.tool_part(
        "msg_2",
        "write",
        json!({ "status": "completed", "input": input, "output": "ok", "metadata": { "exists": true } }),
    );
    let items = server.completed_items();
    let json = serde_json::to_value(&items.last().unwrap().content).unwrap();
    assert_eq!(json[1]["diff"], "--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-y\n+x\n");
    let resolved: Vec<_> = server.events.iter().filter(|event| event.data.kind() == "permission.resolved").collect();
    assert_eq!(resolved.len(), 1);
    let resolved = serde_json::to_value(resolved[0]).unwrap();
    assert_eq!(resolved["data"]["metadata"]["scopes"], json!(["once", "session"]));
    assert_eq!(resolved["data"]["metadata"]["scope"], "session");
}

#[test]
fn a_refused_permission_reply_is_a_denial() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.event("permission.asked", json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash" }));
    server.exchange(
        "POST",
        "/session/ses_1/permissions/per_1",
        &json!({ "response": "once" }),
        404,
        &json!({ "message": "gone" }),
    );
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    let resolved = server.finish().iter().find(|event| event.data.kind() == "permission.resolved").unwrap();
    assert!(format!("{:?}", resolved.data).contains("Denied"), "{resolved:?}");
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

#[test]
fn several_questions_are_answered_in_order() {
    let mut server = Harness::with_session("1.18.33");
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    let question = |text: &str| json!({ "question": text, "options": [{ "label": "A" }, { "label": "B" }] });
    server.event(
        "question.asked",
        json!({ "id": "que_1", "sessionID": "ses_1", "questions": [question("1?"), question("2?")] }),
    );
    server
        .event("question.replied", json!({ "sessionID": "ses_1", "requestID": "que_1", "answers": [["A", "B"], []] }));
    let resolved: Vec<Value> = server
        .finish()
        .iter()
        .filter(|event| event.data.kind() == "question.resolved")
        .map(|event| serde_json::to_value(event).unwrap()["data"].clone())
        .collect();
    assert_eq!((&resolved[0]["response"], &resolved[0]["status"]), (&"A, B".into(), &"answered".into()));
    assert_eq!(resolved[1]["status"], "rejected");
}

#[test]
fn a_question_that_precedes_its_call_opens_the_call() {
    let mut server = Harness::with_session("1.1.34");
    server.prompt("go").agent_message("ses_1", "msg_a", "msg_go", &json!({}));
    let questions = json!([{ "question": "Which?", "header": "", "options": [{ "label": "A", "description": "" }] }]);
    server.event(
        "question.asked",
        json!({ "id": "que_1", "sessionID": "ses_1", "questions": questions.clone(),
            "tool": { "messageID": "msg_a", "callID": "call_1" } }),
    );
    let kinds: Vec<_> = server.events.iter().rev().take(2).map(|event| event.data.kind()).collect();
    assert_eq!(kinds, ["question.requested", "item.started"]);
    server.tool_part("msg_a", "question", json!({ "status": "pending", "input": {}, "raw": "" }));
    server.tool_part("msg_a", "question", json!({ "status": "running", "input": { "questions": questions.clone() } }));
    server.event("question.replied", json!({ "sessionID": "ses_1", "requestID": "que_1", "answers": [["A"]] }));
    let input = json!({ "questions": questions });
    server.tool_part("msg_a", "question", json!({ "status": "completed", "input": input, "output": "A" }));
    let items = server.complete_message("ses_1", "msg_a", "tool-calls").idle("ses_1").completed_items();
    let items_of = |kind: ItemKind| items.iter().filter(|item| item.kind == kind).collect::<Vec<_>>();
    let (calls, results) = (items_of(ItemKind::ToolCall), items_of(ItemKind::ToolResult));
    assert_eq!((calls.len(), results.len()), (1, 1));
    let native = |item: &Item| item.native_item_id.as_ref().map(|id| id.as_str().to_owned());
    assert_eq!((native(calls[0]), native(results[0])), (Some("prt_t".to_owned()), Some("prt_t".to_owned())));
    let ContentPart::ToolCall { arguments, call_id, .. } = &calls[0].content[0] else { panic!() };
    assert_eq!((call_id.as_str(), arguments.as_str()), ("call_1", input.to_string().as_str()));
}

#[test]
fn items_of_a_child_are_below_its_task_and_its_usage_counts() {
    let mut server = Harness::with_session("1.18.33");
    let tokens = json!({ "input": 5, "output": 1, "reasoning": 0, "cache": { "read": 0, "write": 0 } });
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.tool_part("msg_2", "task", json!({ "status": "pending", "input": {}, "raw": "" }));
    server.event("session.created", json!({ "sessionID": "ses_2", "info": { "id": "ses_2", "parentID": "ses_1" } }));
    server.user_message("ses_2", "msg_c", "do it").busy("ses_2").agent_message("ses_2", "msg_d", "msg_c", &json!({}));
    server.tool_part(
        "msg_2",
        "task",
        json!({ "status": "running", "input": {}, "metadata": { "sessionId": "ses_2" } }),
    );
    server.text_part("ses_2", "msg_d", "prt_d", "done it");
    server.part("ses_2", "msg_d", json!({ "id": "prt_e", "type": "step-finish", "reason": "stop", "tokens": tokens }));
    server.complete_message("ses_2", "msg_d", "stop").idle("ses_2");
    server.tool_part(
        "msg_2",
        "task",
        json!({ "status": "completed", "input": {}, "output": "ok", "metadata": { "sessionId": "ses_2" } }),
    );
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    let items = server.completed_items();
    let task = items.iter().find(|item| item.kind == ItemKind::ToolCall).unwrap().item_id.clone();
    let below: Vec<String> = items
        .iter()
        .filter(|item| item.parent_id.as_ref() == Some(&task))
        .map(|item| item.streamed_text().collect())
        .collect();
    assert_eq!(below, ["do it", "done it"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
    assert_eq!(server.usage().input_tokens, 5);
}

#[test]
fn items_of_a_resumed_child_are_below_the_new_task() {
    let mut server = Harness::with_session("1.18.33");
    let task = |server: &mut Harness, part: &str, status: &str| {
        let state = json!({ "status": status, "input": {}, "output": "ok", "metadata": { "sessionId": "ses_2" } });
        let part = json!({ "id": part, "type": "tool", "callID": part, "tool": "task", "state": state });
        server.part("ses_1", "msg_2", part);
    };
    server.prompt("hi").agent_message("ses_1", "msg_2", "msg_hi", &json!({}));
    server.event("session.created", json!({ "sessionID": "ses_2", "info": { "id": "ses_2", "parentID": "ses_1" } }));
    for (part, text) in [("prt_1", "do it"), ("prt_2", "do more")] {
        task(&mut server, part, "running");
        server.user_message("ses_2", &format!("msg_{part}"), text).busy("ses_2");
        server.agent_message("ses_2", &format!("msg_a{part}"), &format!("msg_{part}"), &json!({}));
        server.complete_message("ses_2", &format!("msg_a{part}"), "stop").idle("ses_2");
        task(&mut server, part, "completed");
    }
    // The first task is reported again, as when OpenCode prunes its output.
    task(&mut server, "prt_1", "completed");
    server.user_message("ses_2", "msg_late", "and more").busy("ses_2");
    server.complete_message("ses_1", "msg_2", "stop").idle("ses_1");
    let items = server.completed_items();
    let below = |call: &str| -> Vec<String> {
        let is_call = |item: &&Item| item.kind == ItemKind::ToolCall && item.native_item_id == Some(call.into());
        let call = items.iter().find(is_call).unwrap().item_id.clone();
        let below = items.iter().filter(|item| item.parent_id.as_ref() == Some(&call));
        below.map(|item| item.streamed_text().collect()).collect()
    };
    assert_eq!(below("prt_1"), ["do it"]);
    assert_eq!(below("prt_2"), ["do more", "and more"]);
}

#[test]
fn a_shell_command_is_a_user_message() {
    let mut server = Harness::with_session("1.18.33");
    server.request("POST", "/session/ses_1/shell", &json!({ "command": "ls" }));
    let info = json!({ "id": "msg_u", "role": "user", "time": { "created": CREATED + 1 } });
    server.event("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let synthetic = json!({ "id": "prt_u", "type": "text", "text": "The user ran a tool", "synthetic": true });
    server.part("ses_1", "msg_u", synthetic).agent_message("ses_1", "msg_2", "msg_u", &json!({}));
    server.tool_part("msg_2", "bash", json!({ "status": "completed", "input": { "command": "ls" }, "output": "a" }));
    server.complete_message("ses_1", "msg_2", "").idle("ses_1");
    assert_eq!(texts_of(&server.completed_items(), Role::User), ["ls"]);
    assert_eq!(server.turn_statuses(), [TurnStatus::Completed]);
}

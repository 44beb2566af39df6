//! What is done: commands, files, sub-agents, and what is asked before.

use interlingua_schema::{ContentPart, EventData, Item, ItemKind, ItemStatus, Role, ToolKind, TurnStatus};
use serde_json::{Value, json};

use super::play::{CREATED, Play, said};

#[test]
fn a_command_streams_what_is_new_and_fails_by_its_exit_code() {
    let mut play = Play::begun("1.18.33");
    let input = json!({ "command": "ls" });
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "pending", "input": {}, "raw": "" }));
    for output in ["", "a\n", "a\nb\n"] {
        play.tool("msg_2", "bash", json!({ "status": "running", "input": input, "metadata": { "output": output } }));
    }
    let done = json!({ "status": "completed", "input": input, "output": "a\nb\n", "metadata": { "exit": 3 }, "time": { "start": 1, "end": 4 } });
    play.tool("msg_2", "bash", done).done("ses_1", "msg_2", "stop").idle("ses_1");
    let items = play.completed();
    let result = items.iter().find(|item| item.kind == ItemKind::ToolResult).unwrap();
    assert_eq!(result.status, ItemStatus::Failed);
    let part = &result.content[0];
    assert!(matches!(part, ContentPart::ToolResult { exit_code: Some(3), duration_ms: Some(3), .. }), "{part:?}");
    let deltas: Vec<&str> = play
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
fn a_command_without_an_exit_code_was_cut_off() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "completed", "output": "x", "metadata": { "exit": null } }));
    let items = play.completed();
    assert_eq!(items.last().unwrap().status, ItemStatus::Failed);
}

#[test]
fn a_call_that_is_cut_off_before_it_runs_is_failed() {
    let mut play = Play::begun("1.18.33");
    let aborted = json!({ "status": "error", "input": {}, "error": "Tool execution aborted", "metadata": { "interrupted": true } });
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.tool("msg_2", "write", json!({ "status": "pending", "input": {}, "raw": "" }));
    play.tool("msg_2", "write", aborted.clone());
    let items = play.completed();
    assert_eq!((items[1].kind.clone(), items[1].status.clone()), (ItemKind::ToolCall, ItemStatus::Failed));
    assert_eq!(items[2].status, ItemStatus::Failed);
    assert!(
        matches!(&items[2].content[0], ContentPart::ToolResult { output, .. } if output == "Tool execution aborted")
    );

    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.tool("msg_2", "list", json!({ "status": "running", "input": {} })).tool("msg_2", "list", aborted);
    let items = play.completed();
    assert_eq!((items[1].status.clone(), items[2].status.clone()), (ItemStatus::Completed, ItemStatus::Failed));
}

#[test]
fn a_command_that_the_user_runs_and_aborts_is_failed() {
    let mut play = Play::begun("1.18.33");
    let input = json!({ "command": "sleep 30" });
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "running", "input": input }));
    play.request("POST", "/session/ses_1/abort", &Value::Null);
    let done =
        json!({ "status": "completed", "input": input, "output": "aborted", "metadata": { "output": "aborted" } });
    play.tool("msg_2", "bash", done);
    assert_eq!(play.completed().last().unwrap().status, ItemStatus::Failed);
}

#[test]
fn the_kind_of_a_tool_is_told_when_it_starts() {
    // Whether there is such a tool as `lab_add` is not certain; a server that is known has one.
    let kinds =
        [("lab_add", None), ("tiny_add", Some(ToolKind::Mcp)), ("mystery", None), ("bash", Some(ToolKind::Command))];
    for (tool, kind) in kinds {
        let mut play = Play::begun("1.18.33");
        play.say("mcp.tools.changed", json!({ "server": "tiny" }));
        play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
        play.tool("msg_2", tool, json!({ "status": "pending", "input": {}, "raw": "" }));
        let started = play.end().iter().rev().find_map(|event| match &event.data {
            EventData::ItemStarted(started) => Some(started.item.content.clone()),
            _ => None,
        });
        assert!(matches!(started.as_deref(), Some([ContentPart::ToolCall { tool_kind, .. }]) if *tool_kind == kind));
    }
}

#[test]
fn a_search_that_the_provider_runs_is_no_mcp_servers() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    let part = json!({ "id": "prt_t", "type": "tool", "callID": "c", "tool": "web_search", "metadata": { "providerExecuted": true }, "state": { "status": "completed", "input": {}, "output": "" } });
    play.part("ses_1", "msg_2", part);
    let items = play.completed();
    assert!(matches!(&items[1].content[0], ContentPart::ToolCall { tool_kind: Some(ToolKind::Web), .. }));
}

#[test]
fn an_invalid_call_keeps_its_name_and_fails() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "pending", "input": {}, "raw": "" }));
    let input = json!({ "tool": "bash", "error": "no JSON" });
    play.tool("msg_2", "invalid", json!({ "status": "running", "input": input }));
    play.tool("msg_2", "invalid", json!({ "status": "completed", "input": input, "output": "no JSON" }));
    let items = play.completed();
    assert!(
        matches!(&items[1].content[0], ContentPart::ToolCall { name, tool_kind: Some(ToolKind::Command), .. } if name == "bash")
    );
    assert_eq!(items[2].status, ItemStatus::Failed);
}

#[test]
fn changed_files_come_with_their_diffs() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    let files = json!([
        { "filePath": "/w/a", "type": "add", "patch": "Index: /w/a\n===\n--- /w/a\n+++ /w/a\n@@ -0,0 +1 @@\n+1\n" },
        { "filePath": "/w/b", "type": "update", "before": "1\n", "after": "2\n" },
    ]);
    let state =
        json!({ "status": "completed", "input": { "patchText": "p" }, "output": "ok", "metadata": { "files": files } });
    play.tool("msg_2", "apply_patch", state);
    let items = play.completed();
    let json = serde_json::to_value(&items.last().unwrap().content).unwrap();
    assert_eq!(json[1]["action"], "write");
    assert_eq!(json[0]["output"], "");
    assert_eq!(json[1]["diff"], "--- /dev/null\n+++ b/w/a\n@@ -0,0 +1 @@\n+1\n");
    assert_eq!((&json[2]["action"], &json[2]["path"]), (&"patch".into(), &"/w/b".into()));
    assert!(json[2]["diff"].as_str().unwrap().ends_with("-1\n+2\n"));
}

#[test]
fn a_file_that_is_overwritten_has_the_diff_that_was_permitted() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    let asked = json!({ "id": "per_1", "sessionID": "ses_1", "permission": "edit", "always": ["*"], "metadata": { "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-y\n+x\n" }, "tool": { "callID": "call_1" } });
    play.say("permission.asked", asked);
    play.ask("POST", "/permission/per_1/reply", &json!({ "reply": "always" }), 200, &json!(true));
    play.say("permission.replied", json!({ "sessionID": "ses_1", "requestID": "per_1", "reply": "always" }));
    let input = json!({ "filePath": "/w/a", "content": "x" });
    play.tool(
        "msg_2",
        "write",
        json!({ "status": "completed", "input": input, "output": "ok", "metadata": { "exists": true } }),
    );
    let items = play.completed();
    let json = serde_json::to_value(&items.last().unwrap().content).unwrap();
    assert_eq!(json[1]["diff"], "--- a/w/a\n+++ b/w/a\n@@ -1 +1 @@\n-y\n+x\n");
    let resolved: Vec<_> = play.events.iter().filter(|event| event.data.kind() == "permission.resolved").collect();
    assert_eq!(resolved.len(), 1);
    let resolved = serde_json::to_value(resolved[0]).unwrap();
    assert_eq!(resolved["data"]["metadata"]["scopes"], json!(["once", "session"]));
    assert_eq!(resolved["data"]["metadata"]["scope"], "session");
}

#[test]
fn a_refused_answer_gives_no_permission() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.say("permission.asked", json!({ "id": "per_1", "sessionID": "ses_1", "permission": "bash" }));
    play.ask(
        "POST",
        "/session/ses_1/permissions/per_1",
        &json!({ "response": "once" }),
        404,
        &json!({ "message": "gone" }),
    );
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    let resolved = play.end().iter().find(|event| event.data.kind() == "permission.resolved").unwrap();
    assert!(format!("{:?}", resolved.data).contains("Denied"), "{resolved:?}");
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

#[test]
fn several_questions_are_answered_in_order() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    let question = |text: &str| json!({ "question": text, "options": [{ "label": "A" }, { "label": "B" }] });
    play.say(
        "question.asked",
        json!({ "id": "que_1", "sessionID": "ses_1", "questions": [question("1?"), question("2?")] }),
    );
    play.say("question.replied", json!({ "sessionID": "ses_1", "requestID": "que_1", "answers": [["A", "B"], []] }));
    let resolved: Vec<Value> = play
        .end()
        .iter()
        .filter(|event| event.data.kind() == "question.resolved")
        .map(|event| serde_json::to_value(event).unwrap()["data"].clone())
        .collect();
    assert_eq!((&resolved[0]["response"], &resolved[0]["status"]), (&"A, B".into(), &"answered".into()));
    assert_eq!(resolved[1]["status"], "rejected");
}

#[test]
fn a_question_that_comes_before_its_call_opens_it() {
    let mut play = Play::begun("1.1.34");
    play.prompt_sent("go").answer("ses_1", "msg_a", "msg_go", &json!({}));
    let questions = json!([{ "question": "Which?", "header": "", "options": [{ "label": "A", "description": "" }] }]);
    play.say(
        "question.asked",
        json!({ "id": "que_1", "sessionID": "ses_1", "questions": questions.clone(),
            "tool": { "messageID": "msg_a", "callID": "call_1" } }),
    );
    let kinds: Vec<_> = play.events.iter().rev().take(2).map(|event| event.data.kind()).collect();
    assert_eq!(kinds, ["question.requested", "item.started"]);
    play.tool("msg_a", "question", json!({ "status": "pending", "input": {}, "raw": "" }));
    play.tool("msg_a", "question", json!({ "status": "running", "input": { "questions": questions.clone() } }));
    play.say("question.replied", json!({ "sessionID": "ses_1", "requestID": "que_1", "answers": [["A"]] }));
    let input = json!({ "questions": questions });
    play.tool("msg_a", "question", json!({ "status": "completed", "input": input, "output": "A" }));
    let items = play.done("ses_1", "msg_a", "tool-calls").idle("ses_1").completed();
    let of = |kind: ItemKind| items.iter().filter(|item| item.kind == kind).collect::<Vec<_>>();
    let (calls, results) = (of(ItemKind::ToolCall), of(ItemKind::ToolResult));
    assert_eq!((calls.len(), results.len()), (1, 1));
    let native = |item: &Item| item.native_item_id.as_ref().map(|id| id.as_str().to_owned());
    assert_eq!((native(calls[0]), native(results[0])), (Some("prt_t".to_owned()), Some("prt_t".to_owned())));
    let ContentPart::ToolCall { arguments, call_id, .. } = &calls[0].content[0] else { panic!() };
    assert_eq!((call_id.as_str(), arguments.as_str()), ("call_1", input.to_string().as_str()));
}

#[test]
fn a_childs_work_hangs_on_the_task_and_its_use_counts() {
    let mut play = Play::begun("1.18.33");
    let tokens = json!({ "input": 5, "output": 1, "reasoning": 0, "cache": { "read": 0, "write": 0 } });
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.tool("msg_2", "task", json!({ "status": "pending", "input": {}, "raw": "" }));
    play.say("session.created", json!({ "sessionID": "ses_2", "info": { "id": "ses_2", "parentID": "ses_1" } }));
    play.user("ses_2", "msg_c", "do it").busy("ses_2").answer("ses_2", "msg_d", "msg_c", &json!({}));
    play.tool("msg_2", "task", json!({ "status": "running", "input": {}, "metadata": { "sessionId": "ses_2" } }));
    play.text("ses_2", "msg_d", "prt_d", "done it");
    play.part("ses_2", "msg_d", json!({ "id": "prt_e", "type": "step-finish", "reason": "stop", "tokens": tokens }));
    play.done("ses_2", "msg_d", "stop").idle("ses_2");
    play.tool(
        "msg_2",
        "task",
        json!({ "status": "completed", "input": {}, "output": "ok", "metadata": { "sessionId": "ses_2" } }),
    );
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    let items = play.completed();
    let task = items.iter().find(|item| item.kind == ItemKind::ToolCall).unwrap().item_id.clone();
    let below: Vec<String> = items
        .iter()
        .filter(|item| item.parent_id.as_ref() == Some(&task))
        .map(|item| item.streamed_text().collect())
        .collect();
    assert_eq!(below, ["do it", "done it"]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
    assert_eq!(play.usage().input_tokens, 5);
}

#[test]
fn a_child_that_is_taken_up_again_hangs_on_the_new_task() {
    let mut play = Play::begun("1.18.33");
    let task = |play: &mut Play, part: &str, status: &str| {
        let state = json!({ "status": status, "input": {}, "output": "ok", "metadata": { "sessionId": "ses_2" } });
        let part = json!({ "id": part, "type": "tool", "callID": part, "tool": "task", "state": state });
        play.part("ses_1", "msg_2", part);
    };
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    play.say("session.created", json!({ "sessionID": "ses_2", "info": { "id": "ses_2", "parentID": "ses_1" } }));
    for (part, text) in [("prt_1", "do it"), ("prt_2", "do more")] {
        task(&mut play, part, "running");
        play.user("ses_2", &format!("msg_{part}"), text).busy("ses_2");
        play.answer("ses_2", &format!("msg_a{part}"), &format!("msg_{part}"), &json!({}));
        play.done("ses_2", &format!("msg_a{part}"), "stop").idle("ses_2");
        task(&mut play, part, "completed");
    }
    // The first is told again, as when its output is forgotten.
    task(&mut play, "prt_1", "completed");
    play.user("ses_2", "msg_late", "and more").busy("ses_2");
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    let items = play.completed();
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
fn a_command_of_the_users_own_is_the_users_message() {
    let mut play = Play::begun("1.18.33");
    play.request("POST", "/session/ses_1/shell", &json!({ "command": "ls" }));
    let info = json!({ "id": "msg_u", "role": "user", "time": { "created": CREATED + 1 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    let told = json!({ "id": "prt_u", "type": "text", "text": "The user ran a tool", "synthetic": true });
    play.part("ses_1", "msg_u", told).answer("ses_1", "msg_2", "msg_u", &json!({}));
    play.tool("msg_2", "bash", json!({ "status": "completed", "input": { "command": "ls" }, "output": "a" }));
    play.done("ses_1", "msg_2", "").idle("ses_1");
    assert_eq!(said(&play.completed(), Role::User), ["ls"]);
    assert_eq!(play.turns(), [TurnStatus::Completed]);
}

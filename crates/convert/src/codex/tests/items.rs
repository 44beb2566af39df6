//! Messages, reasoning, tools and plans.

use interlingua_schema::{ItemKind, ItemStatus};
use serde_json::{Value, json};

use super::harness::{Harness, command};
use crate::losses::count_unparsed;

#[test]
fn summary_and_raw_reasoning_are_two_messages() {
    let mut codex = Harness::in_turn();
    codex.start_item(json!({"type": "reasoning", "id": "r"}));
    for (index, delta) in [(0, "one"), (1, "tw"), (1, "o")] {
        codex.notify("item/reasoning/summaryTextDelta", json!({"itemId": "r", "summaryIndex": index, "delta": delta}));
    }
    codex.notify("item/reasoning/textDelta", json!({"itemId": "r", "contentIndex": 0, "delta": "raw"}));
    codex.complete_item(json!({"type": "reasoning", "id": "r", "summary": ["one", "two"], "content": ["raw"]}));
    codex.complete_item(json!({"type": "reasoning", "id": "hidden", "summary": [], "content": []}));
    let parts: Vec<Value> =
        codex.data_of("item.completed").into_iter().map(|data| data["item"]["content"][0].clone()).collect();
    assert_eq!(parts[1], json!({"type": "reasoning", "text": "one\n\ntwo", "visibility": "public"}));
    assert_eq!(parts[2], json!({"type": "reasoning", "text": "raw", "visibility": "private"}));
    assert_eq!(parts[3], json!({"type": "reasoning", "text": "", "visibility": "private"}));
}

#[test]
fn two_threads_are_two_sessions() {
    let mut codex = Harness::in_turn();
    codex.send(json!({"id": 9, "method": "thread/start", "params": {}}));
    codex.receive(json!({"id": 9, "result": {"thread": {"id": "other"}}}));
    codex.notify("thread/started", json!({"thread": {"id": "other"}}));
    assert_eq!(codex.data_of("session.started").len(), 2);
}

#[test]
fn a_command_that_ends_after_its_turn_keeps_its_result() {
    let mut codex = Harness::in_turn();
    codex.start_item(command("inProgress", json!({})));
    codex.complete_turn("1", "completed");
    codex.complete_item(command("failed", json!({"exitCode": -1, "aggregatedOutput": "late"})));
    let (kind, _, status, text) = codex.items().pop().unwrap();
    assert_eq!((kind, status, text.as_str()), (ItemKind::ToolResult, ItemStatus::Failed, "late"));
}

#[test]
fn a_background_command_has_the_status_and_output_of_its_completion() {
    for has_delta in [false, true] {
        for (status, code, expected) in [("completed", 0, ItemStatus::Completed), ("failed", 3, ItemStatus::Failed)] {
            let mut codex = Harness::in_turn();
            codex.start_item(command("inProgress", json!({})));
            if has_delta {
                codex.notify("item/commandExecution/outputDelta", json!({"itemId": "c", "delta": "begun"}));
            }
            codex.complete_turn("1", "completed");
            assert!(codex.items().iter().all(|item| item.0 != ItemKind::ToolResult), "the command is still running");
            codex.complete_item(command(status, json!({"exitCode": code, "aggregatedOutput": "begun and done"})));
            let results: Vec<_> = codex.items().into_iter().filter(|item| item.0 == ItemKind::ToolResult).collect();
            assert_eq!(results.len(), 1);
            assert_eq!((results[0].2.clone(), results[0].3.as_str()), (expected, "begun and done"));
            assert!(codex.texts().iter().all(|text| !text.starts_with("late_result")));
        }
    }
}

#[test]
fn a_tool_with_an_unknown_final_status_is_failed() {
    let patch = json!([{"path": "/w/a", "kind": {"type": "add"}, "diff": "a\n"}]);
    let tools = [
        json!({"type": "commandExecution", "id": "i", "command": "ls", "aggregatedOutput": "a"}),
        json!({"type": "fileChange", "id": "i", "changes": patch}),
        json!({"type": "mcpToolCall", "id": "i", "server": "s", "tool": "t", "result": {"content": []}}),
        json!({"type": "dynamicToolCall", "id": "i", "tool": "t"}),
        json!({"type": "collabAgentToolCall", "id": "i", "tool": "wait"}),
    ];
    for tool in tools {
        for (status, expected) in [
            (json!("completed"), ItemStatus::Completed),
            (json!("failed"), ItemStatus::Failed),
            (json!("inProgress"), ItemStatus::Failed),
            (json!("mislaid"), ItemStatus::Failed),
            (json!(7), ItemStatus::Failed),
            (json!(null), ItemStatus::Failed),
        ] {
            let mut codex = Harness::in_turn();
            let mut tool = tool.clone();
            tool["status"] = status;
            codex.complete_item(tool.clone());
            codex.complete_turn("1", "completed");
            assert_eq!(codex.items().last().unwrap().2, expected, "{tool}");
        }
    }
    // The exit code of a command overrides an unknown status.
    for (code, expected) in [(0, ItemStatus::Completed), (1, ItemStatus::Failed)] {
        let mut codex = Harness::in_turn();
        codex.complete_item(command("mislaid", json!({"exitCode": code})));
        assert_eq!(codex.items().last().unwrap().2, expected);
    }
    let mut codex = Harness::in_turn();
    codex.complete_item(json!({"type": "subAgentActivity", "id": "i", "kind": "lost", "agentThreadId": "child"}));
    assert_eq!(codex.items().last().unwrap().2, ItemStatus::Failed);
}

#[test]
fn an_unknown_status_does_not_complete_a_running_tool() {
    let mut codex = Harness::in_turn();
    codex.start_item(command("mislaid", json!({})));
    assert!(codex.items().iter().all(|item| item.0 != ItemKind::ToolResult));
    codex.complete_item(command("completed", json!({"exitCode": 0})));
    assert_eq!(codex.items().last().unwrap().2, ItemStatus::Completed);
}

/// Kind, title and input of the call that an item becomes. The thread's directory is `/w`.
fn converted_call(item: Value) -> (Value, Value, Value) {
    let mut codex = Harness::new();
    codex.send(json!({"id": 2, "method": "thread/start", "params": {}}));
    codex.receive(json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "m", "cwd": "/w"}}));
    codex.prompt(3, "1", "hello");
    codex.complete_item(item);
    let done = codex.data_of("item.completed");
    let call = &done.iter().find(|data| data["item"]["kind"] == "tool_call").unwrap()["item"]["content"][0];
    (call["tool_kind"].clone(), call["title"].clone(), call["input"].clone())
}

#[test]
fn each_tool_has_the_input_and_title_of_its_kind() {
    let read = json!([{"type": "read", "command": "cat a", "name": "a", "path": "a"}]);
    let search = |action: Value| json!({"type": "webSearch", "id": "i", "query": "q", "action": action});
    for (item, kind, title, input) in [
        (
            json!({"type": "commandExecution", "id": "i", "command": "/bin/bash -lc 'cat a | head'", "cwd": "/w",
                "commandActions": read, "status": "completed"}),
            "command",
            "Run cat a | head",
            json!({"command": "cat a | head", "cwd": "/w"}),
        ),
        (
            json!({"type": "mcpToolCall", "id": "i", "server": "tiny", "tool": "add", "arguments": {"a": 1}}),
            "mcp",
            "tiny: add",
            json!({"server": "tiny", "tool": "add", "arguments": {"a": 1}}),
        ),
        (search(json!({"type": "search", "query": "rust"})), "web", "Search the web: rust", json!({"query": "rust"})),
        (search(json!({"type": "search", "queries": ["a"]})), "web", "Search the web: a", json!({"query": "a"})),
        (search(json!({"type": "other"})), "web", "Search the web: q", json!({"query": "q"})),
        (
            search(json!({"type": "openPage", "url": "https://a.example"})),
            "web",
            "Fetch https://a.example",
            json!({"url": "https://a.example"}),
        ),
        (
            json!({"type": "imageView", "id": "i", "path": "a.png"}),
            "file_read",
            "Read a.png",
            json!({"path": "/w/a.png"}),
        ),
        (
            json!({"type": "collabAgentToolCall", "id": "i", "tool": "spawnAgent", "prompt": "Count",
                "receiverThreadIds": []}),
            "sub_agent",
            "Sub-agent: Count",
            json!({"prompt": "Count"}),
        ),
        (
            json!({"type": "collabAgentToolCall", "id": "i", "tool": "wait", "receiverThreadIds": ["a"]}),
            "sub_agent",
            "Wait for sub-agent",
            json!(null),
        ),
        (
            json!({"type": "subAgentActivity", "id": "i", "kind": "interrupted",
                "agentPath": "/agents/adder", "agentThreadId": "c"}),
            "sub_agent",
            "Interrupt sub-agent /agents/adder",
            json!(null),
        ),
        (json!({"type": "sleep", "id": "i", "durationMs": 50}), "other", "Sleep 50 ms", json!(null)),
    ] {
        assert_eq!(converted_call(item), (json!(kind), json!(title), input));
    }
}

#[test]
fn the_input_of_a_patch_has_one_change_for_each_file() {
    let hunk = "@@ -1 +1 @@\n-x\n+y\n";
    let changes = json!([
        {"path": "/w/new", "kind": {"type": "add"}, "diff": "one\n"},
        {"path": "/w/old", "kind": {"type": "delete"}, "diff": "one\n"},
        {"path": "/w/a", "kind": {"type": "update", "move_path": null}, "diff": hunk},
        {"path": "/w/b", "kind": {"type": "update", "move_path": "/w/c"}, "diff": format!("{hunk}\n\nMoved to: /w/c")},
        {"path": "/w/d", "kind": {"type": "update", "move_path": "/w/e"}, "diff": ""},
    ]);
    let item = json!({"type": "fileChange", "id": "i", "changes": changes, "status": "completed"});
    let (kind, title, input) = converted_call(item);
    assert_eq!((kind, title), (json!("file_change"), json!("Edit new and 4 more")));
    assert_eq!(
        input["changes"],
        json!([
            {"path": "/w/new", "change": "create", "diff": "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+one\n"},
            {"path": "/w/old", "change": "delete", "diff": "--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"},
            {"path": "/w/a", "change": "update", "diff": format!("--- a/a\n+++ b/a\n{hunk}")},
            {"path": "/w/b", "change": "move", "to": "/w/c", "diff": format!("--- a/b\n+++ b/c\n{hunk}")},
            {"path": "/w/d", "change": "move", "to": "/w/e"},
        ])
    );
}

#[test]
fn an_applied_patch_has_no_output_and_a_failed_one_keeps_its_output() {
    for (status, output) in [("completed", ""), ("failed", "Success? no")] {
        let mut codex = Harness::in_turn();
        let item = |status: &str| json!({"type": "fileChange", "id": "p", "changes": [], "status": status});
        codex.start_item(item("inProgress"));
        codex.notify("item/fileChange/outputDelta", json!({"itemId": "p", "delta": "Success? no"}));
        codex.complete_item(item(status));
        assert_eq!(codex.texts().last().unwrap(), output);
    }
}

#[test]
fn a_command_reads_files_in_its_own_directory() {
    let mut codex = Harness::in_turn();
    let read = json!([{"type": "read", "command": "cat a", "name": "a", "path": "a"}]);
    codex.complete_item(command("completed", json!({"cwd": "/w/sub", "commandActions": read})));
    let result = codex.data_of("item.completed").pop().unwrap();
    assert_eq!(result["item"]["content"][1]["path"], "/w/sub/a");
}

#[test]
fn the_output_of_a_command_comes_from_its_completion() {
    let mut codex = Harness::in_turn();
    codex.start_item(command("inProgress", json!({})));
    codex.notify("item/commandExecution/outputDelta", json!({"itemId": "c", "turnId": "1", "delta": "half of"}));
    codex.complete_item(command("completed", json!({"aggregatedOutput": "all of it", "exitCode": 0})));
    let mut silent = command("completed", json!({"aggregatedOutput": null, "exitCode": 0}));
    silent["id"] = "silent".into();
    codex.complete_item(silent);
    assert_eq!(codex.texts()[1..], ["commandExecution", "all of it", "commandExecution", ""]);
}

#[test]
fn a_command_that_outlives_an_interrupt_has_a_late_result() {
    let mut codex = Harness::in_turn();
    codex.start_item(command("inProgress", json!({})));
    codex.send(json!({"id": 4, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
    codex.receive(json!({"id": 4, "result": {}}));
    codex.complete_turn("1", "interrupted");
    codex.complete_item(command("failed", json!({"aggregatedOutput": "started", "exitCode": -1})));
    let items = codex.items();
    assert_eq!(items[2].2, ItemStatus::Failed, "{items:?}");
    assert_eq!(items[3].3, "late_result exit code -1|started");
    assert_eq!(codex.data_of("turn.ended")[0]["status"], "interrupted");
}

#[test]
fn a_plan_is_a_status_with_its_steps() {
    let mut codex = Harness::in_turn();
    let plan = json!({"turnId": "1", "explanation": "go", "plan": [{"step": "look", "status": "inProgress"}]});
    codex.notify("turn/plan/updated", plan.clone());
    let unchanged = json!({"turnId": "1", "plan": plan["plan"]});
    codex.notify("turn/plan/updated", unchanged);
    assert_eq!(codex.texts()[1..], ["plan 0 of 1 done|go"]);
    assert_eq!(codex.stats().dropped.get("unchanged plan"), Some(&1));
    let item = &codex.data_of("item.completed")[1]["item"];
    assert_eq!(
        item["content"][1],
        json!({"type": "json", "json": {"steps": [{"content": "look", "status": "in_progress"}]}})
    );
}

#[test]
fn raw_model_traffic_is_dropped() {
    let mut codex = Harness::in_turn();
    let message = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]});
    codex.notify("rawResponseItem/completed", json!({"turnId": "1", "item": message}));
    codex.notify("rawResponse/completed", json!({"turnId": "1", "responseId": "r"}));
    assert_eq!(codex.texts(), ["hello"]);
    assert_eq!((count_unparsed(codex.stats()), codex.stats().unaccounted), (0, 0));
}

#[test]
fn a_message_under_a_used_id_is_a_new_message() {
    let mut codex = Harness::in_turn();
    let message = |text: &str| json!({"type": "agentMessage", "id": "m", "text": text});
    let delta = |text: &str| json!({"itemId": "m", "delta": text});
    codex.start_item(message(""));
    codex.notify("item/agentMessage/delta", delta("done"));
    codex.complete_item(message("done"));
    codex.complete_turn("1", "completed");
    codex.prompt(4, "2", "again");
    codex.start_item(message(""));
    codex.notify("item/agentMessage/delta", delta("do"));
    codex.notify("error", json!({"willRetry": true, "error": {"message": "Reconnecting... 1/2"}}));
    codex.start_item(message(""));
    codex.notify("item/agentMessage/delta", delta("done"));
    codex.complete_item(message("done"));
    codex.complete_turn("2", "completed");
    assert_eq!(codex.texts(), ["hello", "done", "again", "do", "retry Retry 1 of 2: Reconnecting...", "done"]);
    let streamed: Vec<Value> = codex.data_of("item.delta").iter().map(|data| data["delta"].clone()).collect();
    assert_eq!(streamed, ["hello", "done", "again", "do", "done"]);
}

#[test]
fn a_message_repeated_after_a_retry_is_converted_once() {
    let mut codex = Harness::in_turn();
    for text in ["cut", "cut", "whole"] {
        codex.start_item(json!({"type": "agentMessage", "id": "m", "text": ""}));
        codex.notify("item/agentMessage/delta", json!({"itemId": "m", "delta": text}));
        codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": text}));
        codex.notify("error", json!({"willRetry": true, "error": {"message": "Reconnecting..."}}));
    }
    let texts: Vec<String> = codex.texts().into_iter().filter(|text| !text.starts_with("retry")).collect();
    assert_eq!(texts, ["hello", "cut", "whole"]);
}

#[test]
fn a_command_under_a_used_id_is_a_new_command() {
    let mut codex = Harness::in_turn();
    for output in ["one", "two"] {
        codex.start_item(command("inProgress", json!({})));
        codex.notify("item/commandExecution/outputDelta", json!({"itemId": "c", "delta": output}));
        codex.complete_item(command("completed", json!({"aggregatedOutput": output})));
    }
    codex.start_item(command("inProgress", json!({})));
    codex.complete_turn("1", "interrupted");
    codex.prompt(4, "2", "again");
    codex.start_item(command("inProgress", json!({})));
    codex.complete_item(command("completed", json!({"aggregatedOutput": "four"})));
    let results: Vec<String> =
        codex.items().into_iter().filter(|item| item.0 == ItemKind::ToolResult).map(|item| item.3).collect();
    assert_eq!(results, ["one", "two", "", "four"]);
    let calls = codex.data_of("item.completed").into_iter().filter(|data| data["item"]["kind"] == "tool_call");
    assert!(calls.map(|data| data["item"]["content"][0]["call_id"].clone()).all(|id| id == "c"));
}

//! Messages, tools, plans, sub-agents.

use interlingua_schema::{ItemKind, ItemStatus};
use serde_json::{Value, json};

use super::talk::{Talk, command};
use crate::losses::count_unparsed;

#[test]
fn summary_and_raw_reasoning_are_two_messages() {
    let mut talk = Talk::in_turn();
    talk.begin(json!({"type": "reasoning", "id": "r"}));
    for (index, delta) in [(0, "one"), (1, "tw"), (1, "o")] {
        talk.tell("item/reasoning/summaryTextDelta", json!({"itemId": "r", "summaryIndex": index, "delta": delta}));
    }
    talk.tell("item/reasoning/textDelta", json!({"itemId": "r", "contentIndex": 0, "delta": "raw"}));
    talk.end(json!({"type": "reasoning", "id": "r", "summary": ["one", "two"], "content": ["raw"]}));
    talk.end(json!({"type": "reasoning", "id": "hidden", "summary": [], "content": []}));
    let parts: Vec<Value> =
        talk.of_type("item.completed").into_iter().map(|data| data["item"]["content"][0].clone()).collect();
    assert_eq!(parts[1], json!({"type": "reasoning", "text": "one\n\ntwo", "visibility": "public"}));
    assert_eq!(parts[2], json!({"type": "reasoning", "text": "raw", "visibility": "private"}));
    assert_eq!(parts[3], json!({"type": "reasoning", "text": "", "visibility": "private"}));
}

#[test]
fn two_threads_are_two_sessions() {
    let mut talk = Talk::in_turn();
    talk.host(json!({"id": 9, "method": "thread/start", "params": {}}));
    talk.agent(json!({"id": 9, "result": {"thread": {"id": "other"}}}));
    talk.tell("thread/started", json!({"thread": {"id": "other"}}));
    assert_eq!(talk.of_type("session.started").len(), 2);
}

#[test]
fn a_command_that_ends_after_its_turn_keeps_its_result() {
    let mut talk = Talk::in_turn();
    talk.begin(command("inProgress", json!({})));
    talk.end_turn("1", "completed");
    talk.end(command("failed", json!({"exitCode": -1, "aggregatedOutput": "late"})));
    let (kind, _, status, text) = talk.items().pop().unwrap();
    assert_eq!((kind, status, text.as_str()), (ItemKind::ToolResult, ItemStatus::Failed, "late"));
}

#[test]
fn a_background_command_ends_as_it_says_whatever_it_printed() {
    for prints in [false, true] {
        for (status, code, expected) in [("completed", 0, ItemStatus::Completed), ("failed", 3, ItemStatus::Failed)] {
            let mut talk = Talk::in_turn();
            talk.begin(command("inProgress", json!({})));
            if prints {
                talk.tell("item/commandExecution/outputDelta", json!({"itemId": "c", "delta": "begun"}));
            }
            talk.end_turn("1", "completed");
            assert!(talk.items().iter().all(|item| item.0 != ItemKind::ToolResult), "it is not over");
            talk.end(command(status, json!({"exitCode": code, "aggregatedOutput": "begun and done"})));
            let results: Vec<_> = talk.items().into_iter().filter(|item| item.0 == ItemKind::ToolResult).collect();
            assert_eq!(results.len(), 1);
            assert_eq!((results[0].2.clone(), results[0].3.as_str()), (expected, "begun and done"));
            assert!(talk.texts().iter().all(|text| !text.starts_with("late_result")));
        }
    }
}

#[test]
fn a_tool_whose_end_is_not_understood_is_failed() {
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
            let mut talk = Talk::in_turn();
            let mut tool = tool.clone();
            tool["status"] = status;
            talk.end(tool.clone());
            talk.end_turn("1", "completed");
            assert_eq!(talk.items().last().unwrap().2, expected, "{tool}");
        }
    }
    // A command says how it went in its exit code as well.
    for (code, expected) in [(0, ItemStatus::Completed), (1, ItemStatus::Failed)] {
        let mut talk = Talk::in_turn();
        talk.end(command("mislaid", json!({"exitCode": code})));
        assert_eq!(talk.items().last().unwrap().2, expected);
    }
    let mut talk = Talk::in_turn();
    talk.end(json!({"type": "subAgentActivity", "id": "i", "kind": "lost", "agentThreadId": "child"}));
    assert_eq!(talk.items().last().unwrap().2, ItemStatus::Failed);
}

#[test]
fn a_status_that_is_not_understood_ends_nothing_before_the_end() {
    let mut talk = Talk::in_turn();
    talk.begin(command("mislaid", json!({})));
    assert!(talk.items().iter().all(|item| item.0 != ItemKind::ToolResult));
    talk.end(command("completed", json!({"exitCode": 0})));
    assert_eq!(talk.items().last().unwrap().2, ItemStatus::Completed);
}

/// The call of an item in the directory `/w`: its kind, title and input.
fn call_of(item: Value) -> (Value, Value, Value) {
    let mut talk = Talk::new();
    talk.host(json!({"id": 2, "method": "thread/start", "params": {}}));
    talk.agent(json!({"id": 2, "result": {"thread": {"id": "t"}, "model": "m", "cwd": "/w"}}));
    talk.prompt(3, "1", "hello");
    talk.end(item);
    let done = talk.of_type("item.completed");
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
        assert_eq!(call_of(item), (json!(kind), json!(title), input));
    }
}

#[test]
fn a_patch_says_what_happens_to_each_file() {
    let hunk = "@@ -1 +1 @@\n-x\n+y\n";
    let changes = json!([
        {"path": "/w/new", "kind": {"type": "add"}, "diff": "one\n"},
        {"path": "/w/old", "kind": {"type": "delete"}, "diff": "one\n"},
        {"path": "/w/a", "kind": {"type": "update", "move_path": null}, "diff": hunk},
        {"path": "/w/b", "kind": {"type": "update", "move_path": "/w/c"}, "diff": format!("{hunk}\n\nMoved to: /w/c")},
        {"path": "/w/d", "kind": {"type": "update", "move_path": "/w/e"}, "diff": ""},
    ]);
    let item = json!({"type": "fileChange", "id": "i", "changes": changes, "status": "completed"});
    let (kind, title, input) = call_of(item);
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
fn a_patch_that_was_made_shows_the_files_and_one_that_was_not_the_reason() {
    for (status, output) in [("completed", ""), ("failed", "Success? no")] {
        let mut talk = Talk::in_turn();
        let item = |status: &str| json!({"type": "fileChange", "id": "p", "changes": [], "status": status});
        talk.begin(item("inProgress"));
        talk.tell("item/fileChange/outputDelta", json!({"itemId": "p", "delta": "Success? no"}));
        talk.end(item(status));
        assert_eq!(talk.texts().last().unwrap(), output);
    }
}

#[test]
fn a_command_reads_files_in_its_own_directory() {
    let mut talk = Talk::in_turn();
    let read = json!([{"type": "read", "command": "cat a", "name": "a", "path": "a"}]);
    talk.end(command("completed", json!({"cwd": "/w/sub", "commandActions": read})));
    let result = talk.of_type("item.completed").pop().unwrap();
    assert_eq!(result["item"]["content"][1]["path"], "/w/sub/a");
}

#[test]
fn a_commands_output_is_what_its_end_says() {
    let mut talk = Talk::in_turn();
    talk.begin(command("inProgress", json!({})));
    talk.tell("item/commandExecution/outputDelta", json!({"itemId": "c", "turnId": "1", "delta": "half of"}));
    talk.end(command("completed", json!({"aggregatedOutput": "all of it", "exitCode": 0})));
    let mut silent = command("completed", json!({"aggregatedOutput": null, "exitCode": 0}));
    silent["id"] = "silent".into();
    talk.end(silent);
    assert_eq!(talk.texts()[1..], ["commandExecution", "all of it", "commandExecution", ""]);
}

#[test]
fn a_command_outlives_an_interrupt_as_a_late_result() {
    let mut talk = Talk::in_turn();
    talk.begin(command("inProgress", json!({})));
    talk.host(json!({"id": 4, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
    talk.agent(json!({"id": 4, "result": {}}));
    talk.end_turn("1", "interrupted");
    talk.end(command("failed", json!({"aggregatedOutput": "started", "exitCode": -1})));
    let items = talk.items();
    assert_eq!(items[2].2, ItemStatus::Failed, "{items:?}");
    assert_eq!(items[3].3, "late_result exit code -1|started");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "interrupted");
}

#[test]
fn a_plan_is_a_status_with_its_steps() {
    let mut talk = Talk::in_turn();
    let plan = json!({"turnId": "1", "explanation": "go", "plan": [{"step": "look", "status": "inProgress"}]});
    talk.tell("turn/plan/updated", plan.clone());
    let again = json!({"turnId": "1", "plan": plan["plan"]});
    talk.tell("turn/plan/updated", again);
    assert_eq!(talk.texts()[1..], ["plan 0 of 1 done|go"]);
    assert_eq!(talk.stats().dropped.get("a plan that is as before"), Some(&1));
    let item = &talk.of_type("item.completed")[1]["item"];
    assert_eq!(
        item["content"][1],
        json!({"type": "json", "json": {"steps": [{"content": "look", "status": "in_progress"}]}})
    );
}

#[test]
fn raw_traffic_with_the_model_is_not_said_again() {
    let mut talk = Talk::in_turn();
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]});
    talk.tell("rawResponseItem/completed", json!({"turnId": "1", "item": said}));
    talk.tell("rawResponse/completed", json!({"turnId": "1", "responseId": "r"}));
    assert_eq!(talk.texts(), ["hello"]);
    assert_eq!((count_unparsed(talk.stats()), talk.stats().unaccounted), (0, 0));
}

#[test]
fn what_an_agent_says_under_an_id_of_old_is_said() {
    let mut talk = Talk::in_turn();
    let message = |text: &str| json!({"type": "agentMessage", "id": "m", "text": text});
    let delta = |text: &str| json!({"itemId": "m", "delta": text});
    talk.begin(message(""));
    talk.tell("item/agentMessage/delta", delta("done"));
    talk.end(message("done"));
    talk.end_turn("1", "completed");
    talk.prompt(4, "2", "again");
    talk.begin(message(""));
    talk.tell("item/agentMessage/delta", delta("do"));
    talk.tell("error", json!({"willRetry": true, "error": {"message": "Reconnecting... 1/2"}}));
    talk.begin(message(""));
    talk.tell("item/agentMessage/delta", delta("done"));
    talk.end(message("done"));
    talk.end_turn("2", "completed");
    assert_eq!(talk.texts(), ["hello", "done", "again", "do", "retry Retry 1 of 2: Reconnecting...", "done"]);
    let streamed: Vec<Value> = talk.of_type("item.delta").iter().map(|data| data["delta"].clone()).collect();
    assert_eq!(streamed, ["hello", "done", "again", "do", "done"]);
}

#[test]
fn what_is_only_repeated_after_a_retry_is_said_once() {
    let mut talk = Talk::in_turn();
    for text in ["cut", "cut", "whole"] {
        talk.begin(json!({"type": "agentMessage", "id": "m", "text": ""}));
        talk.tell("item/agentMessage/delta", json!({"itemId": "m", "delta": text}));
        talk.end(json!({"type": "agentMessage", "id": "m", "text": text}));
        talk.tell("error", json!({"willRetry": true, "error": {"message": "Reconnecting..."}}));
    }
    let said: Vec<String> = talk.texts().into_iter().filter(|text| !text.starts_with("retry")).collect();
    assert_eq!(said, ["hello", "cut", "whole"]);
}

#[test]
fn a_command_under_an_id_of_old_is_another_one() {
    let mut talk = Talk::in_turn();
    for output in ["one", "two"] {
        talk.begin(command("inProgress", json!({})));
        talk.tell("item/commandExecution/outputDelta", json!({"itemId": "c", "delta": output}));
        talk.end(command("completed", json!({"aggregatedOutput": output})));
    }
    talk.begin(command("inProgress", json!({})));
    talk.end_turn("1", "interrupted");
    talk.prompt(4, "2", "again");
    talk.begin(command("inProgress", json!({})));
    talk.end(command("completed", json!({"aggregatedOutput": "four"})));
    let results: Vec<String> =
        talk.items().into_iter().filter(|item| item.0 == ItemKind::ToolResult).map(|item| item.3).collect();
    assert_eq!(results, ["one", "two", "", "four"]);
    let calls = talk.of_type("item.completed").into_iter().filter(|data| data["item"]["kind"] == "tool_call");
    assert!(calls.map(|data| data["item"]["content"][0]["call_id"].clone()).all(|id| id == "c"));
}

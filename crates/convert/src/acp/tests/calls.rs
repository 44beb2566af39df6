//! Tests of tool calls: their ids, names, kinds and results.

use serde_json::{Value, json};

use super::harness::{Harness, data_of, items};

fn text(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

/// The parts of the completed tool calls.
fn calls(events: &[interlingua_schema::UniversalEvent]) -> Vec<Value> {
    let parts = data_of(events, "item.completed").into_iter().map(|data| data["item"]["content"][0].clone());
    parts.filter(|part| part["type"] == "tool_call").collect()
}

#[test]
fn an_id_may_be_used_again_in_a_later_turn() {
    let mut acp = Harness::in_turn();
    for output in ["one", "two"] {
        let call = json!({ "toolCallId": "call_1", "title": "x", "kind": "other", "status": "pending", "rawInput": { "n": output } });
        acp.update("tool_call", call);
        acp.update("tool_call_update", json!({ "toolCallId": "call_1", "status": "completed", "rawOutput": output }));
        acp.end_turn();
        acp.prompt("again");
    }
    acp.end_turn();
    let events = acp.finish();
    let expected = ["user: hello", "call: x", "result: one", "user: again", "call: x", "result: two", "user: again"];
    assert_eq!(items(&events), expected);
    assert!(calls(&events).iter().all(|call| call["call_id"] == "call_1"));
}

#[test]
fn a_result_after_an_inferred_denial_is_a_late_result() {
    let mut acp = Harness::in_turn();
    acp.ask(json!({ "toolCallId": "t", "title": "rm a", "kind": "execute" }));
    acp.choose("no");
    acp.chunk("going on", None);
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "t", "status": "failed", "content": text("refused by user") }),
    );
    acp.end_turn();
    acp.prompt("again");
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "t", "status": "failed", "content": text("refused by user") }),
    );
    acp.end_turn();
    let events = acp.finish();
    let late = data_of(&events, "item.completed").into_iter().map(|data| data["item"]["content"].clone());
    let late: Vec<Value> = late.filter(|content| content[0]["label"] == "late_result").collect();
    assert_eq!((late.len(), &late[0][1]["text"]), (1, &json!("refused by user")));
}

#[test]
fn a_text_after_the_result_is_a_late_result() {
    let mut acp = Harness::in_turn();
    acp.update("tool_call", json!({ "toolCallId": "t", "title": "ls", "kind": "execute", "status": "in_progress" }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed", "content": text("a") }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "content": text("a") }));
    acp.update("tool_call_update", json!({ "toolCallId": "t", "content": text("after") }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "call: Run ls", "result: a", "note: |after"]);
}

#[test]
fn a_call_that_the_model_writes_anew_is_one_call() {
    let mut acp = Harness::in_turn_with("qwen-code");
    let call =
        || json!({ "toolCallId": "t", "title": "Shell", "kind": "execute", "status": "pending", "rawInput": {} });
    acp.update("tool_call", call());
    let discarded = json!({ "preparationDiscarded": true });
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "failed", "_meta": discarded }));
    acp.update("tool_call", call());
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "failed", "content": text("no command") }));
    acp.end_turn();
    assert_eq!(items(&acp.finish()), ["user: hello", "call: Shell", "!result: no command"]);
}

#[test]
fn the_text_of_a_result_is_the_most_faithful_one() {
    for (kind, output, expected) in [
        // An empty or short raw output does not hide the content.
        ("read", json!({ "rawOutput": "", "content": text("data") }), "data"),
        ("search", json!({ "rawOutput": "Found 1 match", "content": text("a:1: x") }), "a:1: x"),
        // A command reports its output as such.
        (
            "execute",
            json!({ "rawOutput": { "stdout": "out", "stderr": "err" }, "content": text("Ran it") }),
            "out\nerr",
        ),
        ("other", json!({ "rawOutput": 42 }), "42"),
        ("other", json!({ "rawOutput": [{ "a": 1 }] }), r#"[{"a":1}]"#),
        ("execute", json!({ "content": text("```console\nkiwi\n```") }), "kiwi"),
        ("other", json!({ "rawOutput": {} }), ""),
        ("other", json!({ "content": [text("one")[0], text("two")[0]] }), "one\ntwo"),
    ] {
        let mut acp = Harness::in_turn();
        acp.update("tool_call", json!({ "toolCallId": "t", "title": "x", "kind": kind, "status": "in_progress", "rawInput": { "command": "x" } }));
        let mut end = json!({ "toolCallId": "t", "status": "completed" });
        end.as_object_mut().unwrap().extend(output.as_object().unwrap().clone());
        acp.update("tool_call_update", end);
        acp.end_turn();
        let result = items(&acp.finish()).last().unwrap().clone();
        assert_eq!(result, format!("result: {expected}"), "{output}");
    }
}

#[test]
fn the_tools_of_claude_code_are_as_on_its_own_wire() {
    let mut acp = Harness::in_turn_with("@agentclientprotocol/claude-agent-acp");
    let meta = |name: &str| json!({ "claudeCode": { "toolName": name } });
    let input = json!({ "command": "false", "timeout": 2000 });
    acp.update(
        "tool_call",
        json!({ "toolCallId": "a", "title": "Terminal", "kind": "execute", "rawInput": input, "_meta": meta("Bash") }),
    );
    let raw = "Exit code 3\nbad";
    acp.update("tool_call_update", json!({ "toolCallId": "a", "status": "failed", "rawOutput": raw, "content": text("```\nExit code 3\nbad\n```") }));
    acp.update("tool_call", json!({ "toolCallId": "b", "title": "Read", "kind": "read", "rawInput": { "file_path": "/w/a" }, "_meta": meta("mcp__acp__Read") }));
    acp.update("tool_call_update", json!({ "toolCallId": "b", "status": "completed", "rawOutput": "1\tone\n2\ttwo" }));
    acp.update(
        "tool_call",
        json!({ "toolCallId": "c", "title": "x", "kind": "other", "rawInput": { "a": 1 }, "_meta": meta("nope") }),
    );
    acp.update("tool_call_update", json!({ "toolCallId": "c", "status": "failed", "rawOutput": "<tool_use_error>Error: No such tool</tool_use_error>" }));
    acp.end_turn();
    let events = acp.finish();
    let expected = [
        "user: hello",
        "call: Run false",
        "!result: bad [3]",
        "call: Read a",
        "result: one\ntwo|</w/a>",
        "call: x",
        "!result: Error: No such tool",
    ];
    assert_eq!(items(&events), expected);
    let calls = calls(&events);
    assert_eq!(calls[0]["input"], json!({ "command": "false", "timeout_ms": 2000 }));
    assert_eq!((&calls[1]["name"], &calls[1]["tool_kind"]), (&json!("Read"), &json!("file_read")));
}

#[test]
fn the_tools_of_opencode_are_as_on_its_own_wire() {
    let mut acp = Harness::in_turn_with("OpenCode");
    acp.update("tool_call", json!({ "toolCallId": "a", "title": "bash", "kind": "execute", "status": "pending", "rawInput": { "cwd": "/w" } }));
    acp.update(
        "tool_call",
        json!({ "toolCallId": "b", "title": "no_such_tool", "kind": "other", "status": "pending", "rawInput": {} }),
    );
    acp.update("tool_call_update", json!({ "toolCallId": "a", "status": "in_progress", "title": "true", "rawInput": { "command": "true", "cwd": "/w" } }));
    let output = json!({ "output": "(no output)", "metadata": { "output": "(no output)", "exit": 0 } });
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "a", "status": "completed", "rawOutput": output, "content": text("(no output)") }),
    );
    let invalid = json!({ "tool": "no_such_tool", "error": "Model tried to call unavailable tool" });
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "b", "status": "in_progress", "title": "invalid", "rawInput": invalid }),
    );
    let reason = "The arguments provided to the tool are invalid: Model tried to call unavailable tool 'no_such_tool'. Available tools: bash.";
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "b", "status": "completed", "title": "Invalid Tool", "rawOutput": { "output": reason } }),
    );
    acp.update(
        "tool_call",
        json!({ "toolCallId": "c", "title": "tiny_add", "kind": "other", "status": "pending", "rawInput": {} }),
    );
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "c", "status": "in_progress", "title": "tiny_add", "rawInput": { "a": 2 } }),
    );
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "c", "status": "failed", "rawOutput": { "error": "tiny broke" } }),
    );
    acp.end_turn();
    let events = acp.finish();
    let expected = [
        "user: hello",
        "call: Run true",
        "result:  [0]",
        "call: no_such_tool",
        "!result: Model tried to call unavailable tool 'no_such_tool'.",
        "call: tiny: add",
        "!result: tiny broke",
    ];
    assert_eq!(items(&events), expected);
    let calls = calls(&events);
    assert_eq!((&calls[0]["name"], &calls[0]["input"]["command"]), (&json!("bash"), &json!("true")));
    assert_eq!(calls[2]["input"], json!({ "server": "tiny", "tool": "add", "arguments": { "a": 2 } }));
}

#[test]
fn a_repeated_call_of_opencode_is_known_by_its_kind_and_arguments() {
    let mut acp = Harness::in_turn_with("OpenCode");
    acp.update("tool_call", json!({ "toolCallId": "a", "title": "w/new.txt", "kind": "read", "status": "pending", "rawInput": { "filePath": "/w/new.txt" } }));
    let output =
        "<path>/w/new.txt</path>\n<type>file</type>\n<content>\n1: one\n\n(End of file - total 1 lines)\n</content>";
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "a", "status": "completed", "rawOutput": { "output": output }, "content": text("one") }),
    );
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "call: Read new.txt", "result: one|</w/new.txt>"]);
    assert_eq!(calls(&events)[0]["name"], "read");
}

#[test]
fn a_call_that_is_cut_off_has_its_arguments() {
    let mut acp = Harness::in_turn();
    acp.update(
        "tool_call",
        json!({ "toolCallId": "t", "title": "x", "kind": "execute", "status": "pending", "rawInput": {} }),
    );
    acp.update("tool_call", json!({ "toolCallId": "t", "title": "x", "kind": "execute", "status": "pending", "rawInput": { "command": "ls" } }));
    acp.answer(json!({ "stopReason": "cancelled" }));
    assert_eq!(items(&acp.finish()), ["user: hello", "call: Run ls", "!result: "]);
}

#[test]
fn gemini_describes_calls_in_ids_titles_and_texts() {
    let mut acp = Harness::in_turn_with("gemini-cli");
    acp.ask(json!({ "toolCallId": "run_shell_command__1", "title": "make", "kind": "execute", "content": text("[current working directory /w] (build)") }));
    acp.choose("go");
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "run_shell_command__1", "status": "completed", "content": [] }),
    );
    acp.update(
        "tool_call",
        json!({ "toolCallId": "grep_search__2", "title": "'hello'", "kind": "search", "status": "in_progress" }),
    );
    acp.update("tool_call_update", json!({ "toolCallId": "grep_search__2", "status": "completed" }));
    acp.update("tool_call_update", json!({ "toolCallId": "mcp_tiny_add__3", "title": "add (tiny MCP Server)", "kind": "other", "status": "in_progress", "content": text("{\"a\":2}") }));
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "mcp_tiny_add__3", "status": "completed", "content": text("5") }),
    );
    acp.end_turn();
    let events = acp.finish();
    let calls = calls(&events);
    assert_eq!(calls[0]["input"], json!({ "command": "make", "cwd": "/w", "description": "build" }));
    assert_eq!(calls[1]["input"], json!({ "query": "hello", "in": "contents" }));
    assert_eq!((&calls[2]["tool_kind"], &calls[2]["input"]["arguments"]), (&json!("mcp"), &json!({ "a": 2 })));
    assert_eq!(data_of(&events, "permission.requested")[0]["metadata"].get("reason"), None);
}

#[test]
fn qwen_names_its_tools_and_its_sub_agents_in_meta() {
    let mut acp = Harness::in_turn_with("qwen-code");
    let child = json!({ "toolName": "run_shell_command", "parentToolCallId": "p" });
    let task = json!({ "description": "say hi", "prompt": "greet", "subagent_type": "general" });
    acp.update("tool_call", json!({ "toolCallId": "p", "title": "Agent", "kind": "other", "status": "pending", "rawInput": {}, "_meta": { "toolName": "agent" } }));
    acp.update("tool_call_update", json!({ "toolCallId": "p", "status": "in_progress", "rawInput": task }));
    acp.update(
        "agent_message_chunk",
        json!({ "content": { "type": "text", "text": "Child speaks." }, "_meta": { "parentToolCallId": "p" } }),
    );
    acp.update("tool_call_update", json!({ "toolCallId": "p", "status": "in_progress", "content": text("Shell: echo"), "_meta": { "subagentProgress": true } }));
    acp.update("tool_call", json!({ "toolCallId": "c", "title": "Shell: echo child", "kind": "execute", "status": "pending", "rawInput": { "command": "echo child" }, "_meta": child }));
    let output = json!({ "type": "shell_result", "output": "child", "exitCode": 0, "signal": null });
    acp.update("tool_call_update", json!({ "toolCallId": "c", "status": "completed", "rawOutput": output, "content": text("Command: echo child\nDirectory: (root)"), "_meta": child }));
    acp.update("tool_call_update", json!({ "toolCallId": "p", "status": "completed", "content": text("Child is done."), "rawOutput": { "type": "task_execution" } }));
    acp.end_turn();
    let events = acp.finish();
    let expected = [
        "user: hello",
        "call: Sub-agent: greet",
        "agent: Child speaks.",
        "call: Run echo child",
        "result: child [0]",
        "result: Child is done.",
    ];
    assert_eq!(items(&events), expected);
    let completed = data_of(&events, "item.completed");
    let spawn = &completed[1]["item"]["item_id"];
    assert_eq!((&completed[2]["item"]["parent_id"], &calls(&events)[1]["name"]), (spawn, &json!("run_shell_command")));
}

#[test]
fn a_call_with_the_id_of_a_sub_agent_is_below_the_call_that_started_it() {
    let mut acp = Harness::in_turn_with("Copilot");
    let task = json!({ "description": "say hi", "prompt": "greet", "agent_type": "explore" });
    acp.update(
        "tool_call",
        json!({ "toolCallId": "p", "title": "say hi", "kind": "other", "status": "pending", "rawInput": task }),
    );
    let meta = json!({ "github.com/copilot": { "agentId": "10bb" } });
    acp.update("tool_call", json!({ "toolCallId": "c", "title": "child", "kind": "execute", "status": "pending", "rawInput": { "command": "ls" }, "_meta": meta }));
    let end = json!({ "toolCallId": "c", "status": "completed", "content": text("a\n<shellId: 0 completed with exit code 0>"), "_meta": meta });
    acp.update("tool_call_update", end);
    acp.update("tool_call_update", json!({ "toolCallId": "p", "status": "completed", "content": text("done") }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(
        items(&events),
        ["user: hello", "call: Sub-agent: greet", "call: Run ls", "result: a\n [0]", "result: done"]
    );
    let completed = data_of(&events, "item.completed");
    assert_eq!(completed[2]["item"]["parent_id"], completed[1]["item"]["item_id"]);
}

#[test]
fn a_pattern_makes_a_read_a_search() {
    let mut acp = Harness::in_turn_with("Copilot");
    acp.update("tool_call", json!({ "toolCallId": "g", "title": "Searching for 'x'", "kind": "read", "status": "pending", "rawInput": { "pattern": "x" } }));
    acp.update("tool_call_update", json!({ "toolCallId": "g", "status": "completed", "content": text("./a") }));
    acp.end_turn();
    let call = calls(&acp.finish())[0].clone();
    assert_eq!((&call["tool_kind"], &call["input"]), (&json!("search"), &json!({ "query": "x", "in": "contents" })));
}

#[test]
fn a_title_is_no_command_of_an_agent_that_sends_arguments() {
    let mut acp = Harness::in_turn();
    acp.update(
        "tool_call",
        json!({ "toolCallId": "t", "title": "Run Shell", "kind": "execute", "status": "pending", "rawInput": {} }),
    );
    acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "failed", "content": text("no command") }));
    acp.end_turn();
    let call = calls(&acp.finish())[0].clone();
    assert_eq!((&call["title"], &call["input"]), (&json!("Run Shell"), &json!(null)));
}

#[test]
fn arguments_in_a_text_of_json_are_arguments() {
    let mut acp = Harness::in_turn();
    acp.update("tool_call", json!({ "toolCallId": "t", "title": "bash", "kind": "execute", "status": "in_progress", "rawInput": "{\"command\":\"ls\"}" }));
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "t", "status": "completed", "rawOutput": "{\"stdout\":\"a\",\"returncode\":0}" }),
    );
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(items(&events), ["user: hello", "call: Run ls", "result: a [0]"]);
    assert_eq!(calls(&events)[0]["arguments"], "{\"command\":\"ls\"}");
}

#[test]
fn the_arguments_in_a_permission_request_complete_an_empty_call() {
    let mut acp = Harness::in_turn_with("qwen-code");
    let meta = json!({ "toolName": "mcp__tiny__add" });
    acp.update("tool_call", json!({ "toolCallId": "t", "title": "add", "kind": "other", "status": "pending", "rawInput": {}, "_meta": meta }));
    acp.ask(json!({ "toolCallId": "t", "title": "{\"a\":2}", "kind": "other", "rawInput": { "a": 2 }, "_meta": meta, "content": text("needs the net") }));
    acp.choose("go");
    acp.update(
        "tool_call_update",
        json!({ "toolCallId": "t", "status": "completed", "content": text("5"), "rawOutput": "5\n[image/png]" }),
    );
    acp.end_turn();
    let events = acp.finish();
    let call = calls(&events)[0].clone();
    assert_eq!(call["input"], json!({ "server": "tiny", "tool": "add", "arguments": { "a": 2 } }));
    let requested = &data_of(&events, "permission.requested")[0];
    assert_eq!(
        (&requested["action"], &requested["metadata"]["reason"]),
        (&json!("tiny: add"), &json!("needs the net"))
    );
}

#[test]
fn the_approval_of_a_plan_is_a_question() {
    for (option, status, response) in [("go", "answered", json!("approve")), ("no", "rejected", json!(null))] {
        let mut acp = Harness::in_turn_with("qwen-code");
        let meta = json!({ "toolName": "exit_plan_mode" });
        acp.update("tool_call", json!({ "toolCallId": "t", "title": "ExitPlanMode", "kind": "switch_mode", "status": "pending", "rawInput": {}, "_meta": meta }));
        acp.ask(json!({ "toolCallId": "t", "title": "Plan:", "kind": "switch_mode", "rawInput": { "plan": "1. do it" }, "content": text("1. do it") }));
        acp.choose(option);
        acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed", "content": text("User approved. You can now start coding.") }));
        acp.end_turn();
        let events = acp.finish();
        assert_eq!(data_of(&events, "permission.requested").len(), 0);
        let asked = &data_of(&events, "question.requested")[0];
        assert_eq!((&asked["prompt"], &asked["options"]), (&json!("1. do it"), &json!(["approve", "reject"])));
        assert_eq!((&asked["metadata"]["call_id"], &calls(&events)[0]["tool_kind"]), (&json!("t"), &json!("plan")));
        let resolved = &data_of(&events, "question.resolved")[0];
        assert_eq!((&resolved["status"], &resolved["response"]), (&json!(status), &response));
    }
}

#[test]
fn the_questions_of_a_tool_are_questions() {
    let questions = json!([{ "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{ "label": "Red", "description": "warm" }, { "label": "Blue" }] }]);
    for (answers, status) in [(json!({ "0": "Red" }), "answered"), (json!({}), "rejected")] {
        let mut acp = Harness::in_turn_with("qwen-code");
        acp.ask(json!({ "toolCallId": "t", "title": "Ask user 1 question", "kind": "think", "rawInput": { "questions": questions }, "_meta": { "toolName": "ask_user_question" } }));
        acp.send(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "outcome": { "outcome": "selected", "optionId": "go" }, "answers": answers } }));
        acp.update("tool_call_update", json!({ "toolCallId": "t", "status": "completed" }));
        acp.end_turn();
        let events = acp.finish();
        let asked = &data_of(&events, "question.requested")[0];
        assert_eq!((&asked["prompt"], &asked["metadata"]["header"]), (&json!("Which colour?"), &json!("Colour")));
        assert_eq!(asked["metadata"]["options"][0], json!({ "label": "Red", "description": "warm" }));
        assert_eq!(data_of(&events, "question.resolved")[0]["status"], status);
        let call = calls(&events)[0].clone();
        let input = json!({ "questions": [{ "prompt": "Which colour?", "options": ["Red", "Blue"] }] });
        assert_eq!((&call["tool_kind"], &call["input"]), (&json!("question"), &input));
    }
}

#[test]
fn a_number_and_a_text_are_different_request_ids() {
    let mut acp = Harness::in_turn();
    for id in [json!(7), json!("7")] {
        let call = json!({ "toolCallId": format!("call {id}"), "title": "x", "kind": "other", "rawInput": { "a": 1 } });
        let options = json!([{ "optionId": "go", "name": "Allow", "kind": "allow_once" }]);
        let params = json!({ "sessionId": "s", "toolCall": call, "options": options });
        acp.receive(&json!({ "jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": params }));
    }
    let chosen = json!({ "outcome": { "outcome": "selected", "optionId": "go" } });
    acp.send(&json!({ "jsonrpc": "2.0", "id": "7", "result": chosen }));
    acp.end_turn();
    let events = acp.finish();
    assert_eq!(data_of(&events, "permission.requested").len(), 2);
    let resolved: Vec<Value> = data_of(&events, "permission.resolved");
    let status =
        |call: &str| resolved.iter().find(|data| data["metadata"]["call_id"] == call).unwrap()["status"].clone();
    assert_eq!((status("call 7"), status("call \"7\"")), (json!("denied"), json!("approved")));
}

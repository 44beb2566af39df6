//! `codex exec --json`.

use interlingua_schema::TurnStatus;
use serde_json::json;

use super::harness::Harness;
use crate::losses::count_unparsed;
use crate::{Input, Launch, StreamEnd};

#[test]
fn the_prompt_comes_from_the_command_line() {
    let mut codex = Harness::new();
    let argv = ["codex", "exec", "--json", "say hi"].map(str::to_owned).to_vec();
    codex.conversion.observe_launch(None, &Launch { argv, ..Launch::default() }, &mut codex.events);
    codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
    codex.receive(json!({"type": "turn.started"}));
    codex.receive(json!({"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}));
    codex.push(Input::Received(
        r#"{"type":"item.completed","item":{"id":"item_1","type":"web_search","id":"ws_1","query":"q"}}"#,
    ));
    codex.receive(json!({"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "hi"}}));
    codex.receive(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
    codex.conversion.finish(None, StreamEnd::Log, &mut codex.events);
    assert_eq!(codex.texts(), ["say hi", "retry Retry 1 of 5: stream disconnected", "web_search", "", "hi"]);
    assert_eq!(codex.data_of("turn.ended")[0]["usage"]["input_tokens"], 5);
    assert_eq!(count_unparsed(codex.stats()), 0);
}

#[test]
fn model_and_directory_come_from_the_command_line() {
    let mut codex = Harness::with_raw();
    let argv = ["codex", "exec", "--json", "-m", "gpt", "-C", "/w", "go"].map(str::to_owned).to_vec();
    codex.conversion.observe_launch(
        None,
        &Launch { argv, version: Some("0.169.0".to_owned()), ..Launch::default() },
        &mut codex.events,
    );
    codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
    codex.receive(json!({"type": "turn.started"}));
    let metadata = json!({"agent": "codex", "agent_version": "0.169.0", "model": "gpt", "cwd": "/w"});
    assert_eq!(codex.data_of("session.started")[0]["metadata"], metadata);
    // The command line is not a payload.
    let prompt = codex.events_json().into_iter().find(|event| event["type"] == "item.completed").unwrap();
    assert_eq!((&prompt["data"]["item"]["role"], &prompt["raw"]), (&json!("user"), &json!(null)));
}

#[test]
fn a_failure_is_reported_once() {
    let mut codex = Harness::new();
    codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
    codex.receive(json!({"type": "turn.started"}));
    codex.receive(json!({"type": "error", "message": "unexpected status 401 Unauthorized"}));
    codex.receive(json!({"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}));
    assert_eq!(codex.data_of("error").len(), 1);
    assert_eq!(codex.data_of("error")[0]["code"], "auth");
    assert_eq!(codex.data_of("turn.ended")[0]["status"], serde_json::to_value(TurnStatus::Failed).unwrap());
}

#[test]
fn the_turn_of_a_sub_agent_is_dropped() {
    let mut codex = Harness::new();
    codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
    codex.receive(json!({"type": "turn.started"}));
    codex.receive(json!({"type": "turn.started"}));
    codex
        .receive(json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "child"}}));
    codex.receive(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
    assert_eq!(codex.data_of("turn.started").len(), 1);
    assert_eq!(codex.data_of("turn.ended")[0]["usage"]["input_tokens"], 5);
    assert_eq!(codex.stats().unaccounted, 0);
}

#[test]
fn an_exit_during_the_turn_is_an_error() {
    let mut codex = Harness::new();
    codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
    codex.receive(json!({"type": "turn.started"}));
    codex.receive(json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "so"}}));
    codex.push(Input::Exit { code: Some(0) });
    assert_eq!(codex.data_of("error")[0]["code"], "agent_error");
    assert_eq!(codex.data_of("turn.ended")[0]["status"], "failed");
}

#[test]
fn a_second_run_has_its_own_usage_and_plan() {
    let mut codex = Harness::new();
    let argv = ["codex", "exec", "--json", "go"].map(str::to_owned).to_vec();
    codex.conversion.observe_launch(None, &Launch { argv, ..Launch::default() }, &mut codex.events);
    for thread in ["a", "b"] {
        codex.receive(json!({"type": "thread.started", "thread_id": thread}));
        codex.receive(json!({"type": "turn.started"}));
        let plan = json!({"id": "item_0", "type": "todo_list", "items": [{"text": "look", "completed": false}]});
        codex.receive(json!({"type": "item.started", "item": plan}));
        codex.receive(json!({"type": "item.completed", "item": plan}));
        codex.receive(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
        codex.push(Input::Exit { code: Some(0) });
    }
    let used = codex.data_of("turn.ended").into_iter().map(|data| data["usage"]["input_tokens"].clone());
    assert_eq!(used.collect::<Vec<_>>(), [5, 5]);
    assert_eq!(codex.texts(), ["go", "plan 0 of 1 done", "plan 0 of 1 done"]);
}

#[test]
fn a_tool_with_an_unknown_final_status_is_failed() {
    for tool in [
        json!({"type": "command_execution", "id": "i", "command": "ls"}),
        json!({"type": "file_change", "id": "i", "changes": [{"path": "/w/a", "kind": "add"}]}),
        json!({"type": "mcp_tool_call", "id": "i", "server": "s", "tool": "t"}),
        json!({"type": "collab_tool_call", "id": "i", "tool": "wait"}),
    ] {
        for (status, expected) in [
            (json!("completed"), "completed"),
            (json!("in_progress"), "failed"),
            (json!("mislaid"), "failed"),
            (json!(null), "failed"),
        ] {
            let mut codex = Harness::new();
            let mut tool = tool.clone();
            tool["status"] = status;
            codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
            codex.receive(json!({"type": "turn.started"}));
            codex.receive(json!({"type": "item.completed", "item": tool}));
            assert_eq!(codex.data_of("item.completed").pop().unwrap()["item"]["status"], expected, "{tool}");
        }
    }
    let mut codex = Harness::new();
    codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
    codex.receive(json!({"type": "item.completed", "item": {"type": "command_execution", "id": "i", "command": "ls",
        "exit_code": 0, "status": "mislaid"}}));
    assert_eq!(codex.data_of("item.completed").pop().unwrap()["item"]["status"], "completed");
}

#[test]
fn tools_have_input_and_title() {
    let mut codex = Harness::new();
    codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
    for (id, (item, title, input)) in [
        (
            json!({"type": "command_execution", "command": "/bin/bash -lc 'echo a'"}),
            "Run echo a",
            json!({"command": "echo a"}),
        ),
        (
            json!({"type": "file_change", "changes": [{"path": "/w/a", "kind": "delete"}]}),
            "Delete /w/a",
            json!({"changes": [{"path": "/w/a", "change": "delete"}]}),
        ),
        (
            json!({"type": "mcp_tool_call", "server": "tiny", "tool": "add", "arguments": {"a": 1}}),
            "tiny: add",
            json!({"server": "tiny", "tool": "add", "arguments": {"a": 1}}),
        ),
        (
            json!({"type": "web_search", "query": "q", "action": {"type": "search", "query": "q"}}),
            "Search the web: q",
            json!({"query": "q"}),
        ),
        (
            json!({"type": "collab_tool_call", "tool": "spawn_agent", "prompt": "Count"}),
            "Sub-agent: Count",
            json!({"prompt": "Count"}),
        ),
        (json!({"type": "collab_tool_call", "tool": "wait"}), "Wait for sub-agent", json!(null)),
    ]
    .into_iter()
    .enumerate()
    {
        let mut item = item;
        item["id"] = format!("item_{id}").into();
        codex.receive(json!({"type": "item.completed", "item": item}));
        let done = codex.data_of("item.completed");
        let call = &done[done.len() - 2]["item"]["content"][0];
        assert_eq!((&call["title"], &call["input"]), (&json!(title), &input));
    }
}

#[test]
fn a_field_of_usage_is_missing_only_for_releases_that_send_it() {
    let usage = |fields: &[&str]| {
        let all = ["input_tokens", "cached_input_tokens", "output_tokens"].iter().chain(fields);
        all.map(|field| ((*field).to_owned(), json!(1))).collect::<serde_json::Map<_, _>>()
    };
    let unparsed = |version: Option<&str>, fields: &[&str]| {
        let mut codex = Harness::new();
        let argv = ["codex", "exec", "--json"].map(str::to_owned).to_vec();
        let launch = Launch { argv, version: version.map(str::to_owned), ..Launch::default() };
        codex.conversion.observe_launch(None, &launch, &mut codex.events);
        codex.receive(json!({"type": "thread.started", "thread_id": "t"}));
        codex.receive(json!({"type": "turn.started"}));
        codex.receive(json!({"type": "turn.completed", "usage": usage(fields)}));
        codex.stats().unparsed
    };
    let (reasoning, cache_write) = ("reasoning_output_tokens", "cache_write_input_tokens");
    for (version, fields) in [
        (Some("0.77.0"), &[][..]),
        (Some("0.130.0"), &[reasoning]),
        (Some("0.166.0"), &[reasoning, cache_write]),
        (None, &[]),
        (None, &[reasoning, cache_write]),
    ] {
        assert_eq!(unparsed(version, fields), 0, "{version:?} {fields:?}");
    }
    for (version, fields) in
        [(Some("0.130.0"), &[][..]), (Some("0.166.0"), &[reasoning]), (None, &[reasoning]), (None, &[cache_write])]
    {
        assert_eq!(unparsed(version, fields), 1, "{version:?} {fields:?}");
    }
}

//! `codex exec --json`.

use interlingua_schema::TurnStatus;
use serde_json::json;

use super::talk::Talk;
use crate::losses::count_unparsed;
use crate::{Input, Launch, StreamEnd};

#[test]
fn a_one_shot_run_has_its_prompt_from_the_command_line() {
    let mut talk = Talk::new();
    let argv = ["codex", "exec", "--json", "say hi"].map(str::to_owned).to_vec();
    talk.stream.observe_launch(None, &Launch { argv, ..Launch::default() }, &mut talk.events);
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}));
    talk.push(Input::Received(
        r#"{"type":"item.completed","item":{"id":"item_1","type":"web_search","id":"ws_1","query":"q"}}"#,
    ));
    talk.agent(json!({"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": "hi"}}));
    talk.agent(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
    talk.stream.finish(None, StreamEnd::Log, &mut talk.events);
    assert_eq!(talk.texts(), ["say hi", "retry Retry 1 of 5: stream disconnected", "web_search", "", "hi"]);
    assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], 5);
    assert_eq!(count_unparsed(talk.stats()), 0);
}

#[test]
fn a_one_shot_run_works_with_what_its_command_line_says() {
    let mut talk = Talk::with_raw();
    let argv = ["codex", "exec", "--json", "-m", "gpt", "-C", "/w", "go"].map(str::to_owned).to_vec();
    talk.stream.observe_launch(
        None,
        &Launch { argv, version: Some("0.169.0".to_owned()), ..Launch::default() },
        &mut talk.events,
    );
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    let metadata = json!({"agent": "codex", "agent_version": "0.169.0", "model": "gpt", "cwd": "/w"});
    assert_eq!(talk.of_type("session.started")[0]["metadata"], metadata);
    // A command line is no payload.
    let prompt = talk.data().into_iter().find(|event| event["type"] == "item.completed").unwrap();
    assert_eq!((&prompt["data"]["item"]["role"], &prompt["raw"]), (&json!("user"), &json!(null)));
}

#[test]
fn a_one_shot_run_that_fails_says_so_once() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "error", "message": "unexpected status 401 Unauthorized"}));
    talk.agent(json!({"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}));
    assert_eq!(talk.of_type("error").len(), 1);
    assert_eq!(talk.of_type("error")[0]["code"], "auth");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], serde_json::to_value(TurnStatus::Failed).unwrap());
}

#[test]
fn a_sub_agents_turn_in_a_one_shot_run_is_no_turn() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "child"}}));
    talk.agent(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
    assert_eq!(talk.of_type("turn.started").len(), 1);
    assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], 5);
    assert_eq!(talk.stats().unaccounted, 0);
}

#[test]
fn a_one_shot_run_that_stops_in_its_turn_has_died() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "turn.started"}));
    talk.agent(json!({"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "so"}}));
    talk.push(Input::Exit { code: Some(0) });
    assert_eq!(talk.of_type("error")[0]["code"], "agent_error");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "failed");
}

#[test]
fn a_second_run_counts_and_plans_for_itself() {
    let mut talk = Talk::new();
    let argv = ["codex", "exec", "--json", "go"].map(str::to_owned).to_vec();
    talk.stream.observe_launch(None, &Launch { argv, ..Launch::default() }, &mut talk.events);
    for thread in ["a", "b"] {
        talk.agent(json!({"type": "thread.started", "thread_id": thread}));
        talk.agent(json!({"type": "turn.started"}));
        let plan = json!({"id": "item_0", "type": "todo_list", "items": [{"text": "look", "completed": false}]});
        talk.agent(json!({"type": "item.started", "item": plan}));
        talk.agent(json!({"type": "item.completed", "item": plan}));
        talk.agent(json!({"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 1}}));
        talk.push(Input::Exit { code: Some(0) });
    }
    let used = talk.of_type("turn.ended").into_iter().map(|data| data["usage"]["input_tokens"].clone());
    assert_eq!(used.collect::<Vec<_>>(), [5, 5]);
    assert_eq!(talk.texts(), ["go", "plan 0 of 1 done", "plan 0 of 1 done"]);
}

#[test]
fn a_tool_of_a_one_shot_run_whose_end_is_not_understood_is_failed() {
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
            let mut talk = Talk::new();
            let mut tool = tool.clone();
            tool["status"] = status;
            talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
            talk.agent(json!({"type": "turn.started"}));
            talk.agent(json!({"type": "item.completed", "item": tool}));
            assert_eq!(talk.of_type("item.completed").pop().unwrap()["item"]["status"], expected, "{tool}");
        }
    }
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
    talk.agent(json!({"type": "item.completed", "item": {"type": "command_execution", "id": "i", "command": "ls",
        "exit_code": 0, "status": "mislaid"}}));
    assert_eq!(talk.of_type("item.completed").pop().unwrap()["item"]["status"], "completed");
}

#[test]
fn the_tools_of_a_one_shot_run_have_input_and_title() {
    let mut talk = Talk::new();
    talk.agent(json!({"type": "thread.started", "thread_id": "t"}));
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
        talk.agent(json!({"type": "item.completed", "item": item}));
        let done = talk.of_type("item.completed");
        let call = &done[done.len() - 2]["item"]["content"][0];
        assert_eq!((&call["title"], &call["input"]), (&json!(title), &input));
    }
}

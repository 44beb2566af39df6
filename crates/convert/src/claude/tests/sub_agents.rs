use interlingua_schema::Item;
use serde_json::{Value, json};

use super::{ONE_SHOT, Played, Step, calls, done, init, play, recv, results};

fn task(subtype: &str, more: Value) -> Step {
    let mut line = json!({ "type": "system", "subtype": subtype, "session_id": "s", "task_id": "a" });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    recv(line)
}

fn sub(kind: &str, content: Value) -> Step {
    recv(
        json!({ "type": kind, "session_id": "s", "parent_tool_use_id": "t", "message": { "id": "sub", "role": kind, "model": "opus", "content": content } }),
    )
}

fn under_the_call(played: &Played) -> Vec<String> {
    let call = played.items().find(|item| item.native_item_id.as_ref().is_some_and(|id| id.as_str() == "t")).unwrap();
    let below = |item: &&Item| item.parent_id.as_ref() == Some(&call.item_id);
    played.items().filter(below).map(|item| item.content.iter().map(super::part).collect()).collect()
}

#[test]
fn a_sub_agent_is_told_and_speaks_under_its_call() {
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            calls("t", "Agent", json!({ "prompt": "list" })),
            sub("user", json!([{ "type": "text", "text": "list" }])),
            sub("assistant", json!([{ "type": "text", "text": "Looking." }])),
            sub("assistant", json!([{ "type": "tool_use", "id": "u", "name": "Bash", "input": {} }])),
            sub("user", json!([{ "type": "tool_result", "tool_use_id": "u", "content": "src" }])),
            results(
                "t",
                json!([{ "type": "text", "text": "report" }]),
                false,
                json!({ "status": "completed", "totalDurationMs": 7 }),
            ),
            done("x"),
        ],
    );
    assert_eq!(under_the_call(&played), ["list", "Looking."]);
    let trace = played.trace();
    assert_eq!(trace[6..9], ["tool_call/assistant Bash {}", "tool_result/tool [src]", "tool_result/tool [report]"]);
}

#[test]
fn what_only_the_call_tells_a_sub_agent_is_still_its_prompt() {
    let launched = json!({ "isAsync": true, "status": "async_launched" });
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            calls("t", "Agent", json!({ "prompt": "list" })),
            results("t", json!("launched"), false, launched),
            done(""),
            sub("assistant", json!([{ "type": "text", "text": "Looking." }])),
        ],
    );
    assert_eq!(under_the_call(&played), ["list", "Looking."]);
}

#[test]
fn a_refused_sub_agent_was_told_nothing() {
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            calls("t", "Agent", json!({ "prompt": "list" })),
            results("t", json!("denied"), true, json!("Error: denied")),
            done(""),
        ],
    );
    assert!(under_the_call(&played).is_empty());
}

#[test]
fn a_sub_agents_failure_does_not_fail_the_turn() {
    let error = json!({
        "type": "assistant", "session_id": "s", "parent_tool_use_id": "t", "error": "overloaded",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "busy" }] },
    });
    let played = play(&ONE_SHOT, &[init(), calls("t", "Task", json!({ "prompt": "p" })), recv(error), done("")]);
    assert_eq!(played.trace()[4..6], ["error overloaded: busy", "turn.ended completed"]);
}

#[test]
fn a_task_is_below_its_call_and_each_state_is_told_once() {
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            calls("t", "Agent", json!({ "prompt": "list" })),
            task("task_started", json!({ "tool_use_id": "t", "description": "List" })),
            sub("user", json!([{ "type": "text", "text": "list" }])),
            task("task_updated", json!({ "patch": { "status": "completed" } })),
            task("task_notification", json!({ "tool_use_id": "t", "status": "completed", "summary": "Sub report." })),
            results("t", json!("report"), false, Value::Null),
        ],
    );
    let expected = ["task: Task started: List{}", "list", "task: Task completed: List{}"];
    assert_eq!(under_the_call(&played), expected);
}

#[test]
fn a_nested_sub_agent_is_told_before_it_ends() {
    let nested = json!([{ "type": "tool_use", "id": "n", "name": "Agent", "input": { "prompt": "count" } }]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "n", "content": "three" }]);
    let played = play(
        &ONE_SHOT,
        &[
            init(),
            calls("t", "Agent", json!({ "prompt": "list" })),
            sub("user", json!([{ "type": "text", "text": "list" }])),
            sub("assistant", nested),
            task("task_started", json!({ "tool_use_id": "n", "description": "Count" })),
            task("task_updated", json!({ "patch": { "status": "completed" } })),
            task("task_notification", json!({ "tool_use_id": "n", "status": "completed", "summary": "3" })),
            sub("user", result),
        ],
    );
    let call = played.items().find(|item| item.native_item_id.as_ref().is_some_and(|id| id.as_str() == "n")).unwrap();
    let below = played.items().filter(|item| item.parent_id.as_ref() == Some(&call.item_id));
    let below: Vec<String> = below.map(|item| super::part(&item.content[0])).collect();
    assert_eq!(below, ["task: Task started: Count", "count", "task: Task completed: Count"]);
}

#[test]
fn a_sub_agent_that_is_not_on_the_wire_is_told_before_its_result() {
    let played = play(
        &ONE_SHOT,
        &[init(), calls("t", "Agent", json!({ "prompt": "list" })), results("t", json!("report"), false, Value::Null)],
    );
    assert_eq!(under_the_call(&played), ["list"]);
    assert_eq!(played.trace()[4..], ["message/user list", "tool_result/tool [report]"]);
}

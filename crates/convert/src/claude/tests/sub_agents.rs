use interlingua_schema::Item;
use serde_json::{Value, json};

use super::{Converted, ONE_SHOT, TestInput, convert, init, received, success, tool_call, tool_result};

fn task_line(subtype: &str, more: Value) -> TestInput {
    let mut line = json!({ "type": "system", "subtype": subtype, "session_id": "s", "task_id": "a" });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    received(line)
}

fn sub_agent_line(kind: &str, content: Value) -> TestInput {
    received(
        json!({ "type": kind, "session_id": "s", "parent_tool_use_id": "t", "message": { "id": "sub", "role": kind, "model": "opus", "content": content } }),
    )
}

fn items_below_the_call(converted: &Converted) -> Vec<String> {
    let call =
        converted.items().find(|item| item.native_item_id.as_ref().is_some_and(|id| id.as_str() == "t")).unwrap();
    let below = |item: &&Item| item.parent_id.as_ref() == Some(&call.item_id);
    converted.items().filter(below).map(|item| item.content.iter().map(super::summarize_part).collect()).collect()
}

#[test]
fn the_prompt_and_messages_of_a_sub_agent_are_below_its_call() {
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            tool_call("t", "Agent", json!({ "prompt": "list" })),
            sub_agent_line("user", json!([{ "type": "text", "text": "list" }])),
            sub_agent_line("assistant", json!([{ "type": "text", "text": "Looking." }])),
            sub_agent_line("assistant", json!([{ "type": "tool_use", "id": "u", "name": "Bash", "input": {} }])),
            sub_agent_line("user", json!([{ "type": "tool_result", "tool_use_id": "u", "content": "src" }])),
            tool_result(
                "t",
                json!([{ "type": "text", "text": "report" }]),
                false,
                json!({ "status": "completed", "totalDurationMs": 7 }),
            ),
            success("x"),
        ],
    );
    assert_eq!(items_below_the_call(&converted), ["list", "Looking."]);
    let trace = converted.trace();
    assert_eq!(trace[6..9], ["tool_call/assistant Bash {}", "tool_result/tool [src]", "tool_result/tool [report]"]);
}

#[test]
fn a_prompt_that_is_only_in_the_call_is_shown() {
    let launched = json!({ "isAsync": true, "status": "async_launched" });
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            tool_call("t", "Agent", json!({ "prompt": "list" })),
            tool_result("t", json!("launched"), false, launched),
            success(""),
            sub_agent_line("assistant", json!([{ "type": "text", "text": "Looking." }])),
        ],
    );
    assert_eq!(items_below_the_call(&converted), ["list", "Looking."]);
}

#[test]
fn a_denied_sub_agent_has_no_prompt() {
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            tool_call("t", "Agent", json!({ "prompt": "list" })),
            tool_result("t", json!("denied"), true, json!("Error: denied")),
            success(""),
        ],
    );
    assert!(items_below_the_call(&converted).is_empty());
}

#[test]
fn a_sub_agents_failure_does_not_fail_the_turn() {
    let error = json!({
        "type": "assistant", "session_id": "s", "parent_tool_use_id": "t", "error": "overloaded",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "busy" }] },
    });
    let converted =
        convert(&ONE_SHOT, &[init(), tool_call("t", "Task", json!({ "prompt": "p" })), received(error), success("")]);
    assert_eq!(converted.trace()[4..6], ["error overloaded: busy", "turn.ended completed"]);
}

#[test]
fn a_task_is_below_its_call_and_each_state_is_shown_once() {
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            tool_call("t", "Agent", json!({ "prompt": "list" })),
            task_line("task_started", json!({ "tool_use_id": "t", "description": "List" })),
            sub_agent_line("user", json!([{ "type": "text", "text": "list" }])),
            task_line("task_updated", json!({ "patch": { "status": "completed" } })),
            task_line(
                "task_notification",
                json!({ "tool_use_id": "t", "status": "completed", "summary": "Sub report." }),
            ),
            tool_result("t", json!("report"), false, Value::Null),
        ],
    );
    let expected = ["task: Task started: List{}", "list", "task: Task completed: List{}"];
    assert_eq!(items_below_the_call(&converted), expected);
}

#[test]
fn the_prompt_of_a_nested_sub_agent_comes_before_its_end() {
    let nested = json!([{ "type": "tool_use", "id": "n", "name": "Agent", "input": { "prompt": "count" } }]);
    let result = json!([{ "type": "tool_result", "tool_use_id": "n", "content": "three" }]);
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            tool_call("t", "Agent", json!({ "prompt": "list" })),
            sub_agent_line("user", json!([{ "type": "text", "text": "list" }])),
            sub_agent_line("assistant", nested),
            task_line("task_started", json!({ "tool_use_id": "n", "description": "Count" })),
            task_line("task_updated", json!({ "patch": { "status": "completed" } })),
            task_line("task_notification", json!({ "tool_use_id": "n", "status": "completed", "summary": "3" })),
            sub_agent_line("user", result),
        ],
    );
    let call =
        converted.items().find(|item| item.native_item_id.as_ref().is_some_and(|id| id.as_str() == "n")).unwrap();
    let below = converted.items().filter(|item| item.parent_id.as_ref() == Some(&call.item_id));
    let below: Vec<String> = below.map(|item| super::summarize_part(&item.content[0])).collect();
    assert_eq!(below, ["task: Task started: Count", "count", "task: Task completed: Count"]);
}

#[test]
fn the_prompt_of_a_sub_agent_without_lines_comes_before_its_result() {
    let converted = convert(
        &ONE_SHOT,
        &[
            init(),
            tool_call("t", "Agent", json!({ "prompt": "list" })),
            tool_result("t", json!("report"), false, Value::Null),
        ],
    );
    assert_eq!(items_below_the_call(&converted), ["list"]);
    assert_eq!(converted.trace()[4..], ["message/user list", "tool_result/tool [report]"]);
}

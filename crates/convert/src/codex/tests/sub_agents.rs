//! Threads of sub-agents.

use serde_json::{Value, json};

use super::harness::Harness;

#[test]
fn a_thread_spawned_by_a_call_is_a_sub_agent() {
    let mut codex = Harness::in_turn();
    let spawn = |status: &str, children: Value| {
        json!({"type": "collabAgentToolCall", "id": "s", "tool": "spawnAgent", "status": status, "prompt": "count",
            "receiverThreadIds": children})
    };
    codex.start_item(spawn("inProgress", json!([])));
    codex.notify("warning", json!({"threadId": "child", "message": "hm"}));
    codex.complete_item(spawn("completed", json!(["child"])));
    codex.notify("turn/started", json!({"threadId": "child", "turn": {"id": "c1"}}));
    let message = json!({"type": "userMessage", "id": "cu", "content": [{"type": "text", "text": "count"}]});
    codex.notify("item/started", json!({"threadId": "child", "item": message}));
    codex.notify(
        "item/completed",
        json!({"threadId": "child", "item": {"type": "agentMessage", "id": "cm", "text": "3"}}),
    );
    codex.notify("turn/completed", json!({"threadId": "child", "turn": {"id": "c1", "status": "completed"}}));
    codex.complete_turn("1", "completed");
    assert_eq!(codex.data_of("session.started").len(), 1);
    assert_eq!(codex.data_of("turn.started").len(), 1);
    let done = codex.data_of("item.completed");
    let call = done.iter().find(|data| data["item"]["kind"] == "tool_call").unwrap()["item"]["item_id"].clone();
    let below: Vec<&Value> = done.iter().filter(|data| data["item"]["parent_id"] == call).collect();
    assert_eq!(below.len(), 3, "the warning, the prompt and the answer");
}

#[test]
fn payloads_of_a_sub_agent_may_precede_its_call() {
    // The sub-agent's turn names its root turn. Without that, it belongs to the only running turn.
    for root in [json!("1"), json!(null)] {
        let mut codex = Harness::in_turn();
        codex.notify("turn/started", json!({"threadId": "child", "turn": {"id": "c1", "rootTurnId": root}}));
        let message = json!({"type": "agentMessage", "id": "cm", "text": "3"});
        codex.notify("item/completed", json!({"threadId": "child", "item": message}));
        let call = json!({"type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "child"});
        codex.start_item(call.clone());
        codex.complete_item(call);
        codex.notify("turn/completed", json!({"threadId": "child", "turn": {"id": "c1", "status": "completed"}}));
        codex.complete_turn("1", "completed");
        assert_eq!(codex.data_of("session.started").len(), 1);
        let done = codex.data_of("item.completed");
        let call = done.iter().find(|data| data["item"]["kind"] == "tool_call").unwrap()["item"]["item_id"].clone();
        let answer = done.iter().find(|data| data["item"]["native_item_id"] == "cm").unwrap();
        assert_eq!(answer["item"]["parent_id"], call);
    }
}

#[test]
fn a_thread_that_the_host_requests_is_a_session() {
    let mut codex = Harness::in_turn();
    codex.send(json!({"id": 9, "method": "thread/resume", "params": {"threadId": "other"}}));
    codex.notify("turn/started", json!({"threadId": "other", "turn": {"id": "o1", "rootTurnId": "o1"}}));
    codex.receive(json!({"id": 9, "result": {"thread": {"id": "other"}}}));
    assert_eq!(codex.data_of("session.started").len(), 2);
}

#[test]
fn a_completed_sub_agent_is_a_task_of_its_call() {
    let mut codex = Harness::in_turn();
    let call = json!({"type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "child",
        "agentPath": "/agents/adder"});
    codex.start_item(call.clone());
    codex.complete_item(call);
    // The sub-agent completes two tasks.
    for turn in ["c1", "c2"] {
        let done = json!({"type": "subAgentActivity", "id": format!("subagent-completed-{turn}"), "kind": "completed",
            "agentThreadId": "child", "agentPath": "/agents/adder"});
        codex.start_item(done.clone());
        codex.complete_item(done);
    }
    let done = codex.data_of("item.completed");
    let call = done.iter().find(|data| data["item"]["kind"] == "tool_call").unwrap()["item"]["item_id"].clone();
    let tasks: Vec<&Value> = done.iter().map(|data| &data["item"]).filter(|item| item["kind"] == "status").collect();
    for (task, turn) in tasks.iter().zip(["c1", "c2"]) {
        assert_eq!(task["parent_id"], call);
        assert_eq!(task["content"][0]["detail"], "Task completed: /agents/adder");
        assert_eq!(task["content"][1]["json"], json!({"task_id": turn, "call_id": "s", "state": "completed"}));
    }
    assert_eq!(tasks.len(), 2);
}

#[test]
fn the_output_of_a_sub_agent_call_has_the_message_or_status_of_each_agent() {
    for (states, output) in [
        (json!({"a": {"status": "pendingInit", "message": null}}), ""),
        (json!({"a": {"status": "completed", "message": "3"}}), "3"),
        (json!({"a": {"status": "completed", "message": "3"}, "b": {"status": "running"}}), "a: 3\nb: running"),
    ] {
        let mut codex = Harness::in_turn();
        codex.complete_item(json!({"type": "collabAgentToolCall", "id": "s", "tool": "wait", "status": "completed",
            "agentsStates": states}));
        assert_eq!(codex.texts().last().unwrap(), output);
    }
}

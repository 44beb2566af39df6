//! Threads that work for another.

use serde_json::{Value, json};

use super::talk::Talk;

#[test]
fn a_thread_that_a_call_starts_is_a_sub_agent() {
    let mut talk = Talk::in_turn();
    let spawn = |status: &str, children: Value| {
        json!({"type": "collabAgentToolCall", "id": "s", "tool": "spawnAgent", "status": status, "prompt": "count",
            "receiverThreadIds": children})
    };
    talk.begin(spawn("inProgress", json!([])));
    talk.tell("warning", json!({"threadId": "child", "message": "hm"}));
    talk.end(spawn("completed", json!(["child"])));
    talk.tell("turn/started", json!({"threadId": "child", "turn": {"id": "c1"}}));
    let said = json!({"type": "userMessage", "id": "cu", "content": [{"type": "text", "text": "count"}]});
    talk.tell("item/started", json!({"threadId": "child", "item": said}));
    talk.tell(
        "item/completed",
        json!({"threadId": "child", "item": {"type": "agentMessage", "id": "cm", "text": "3"}}),
    );
    talk.tell("turn/completed", json!({"threadId": "child", "turn": {"id": "c1", "status": "completed"}}));
    talk.end_turn("1", "completed");
    assert_eq!(talk.of_type("session.started").len(), 1);
    assert_eq!(talk.of_type("turn.started").len(), 1);
    let done = talk.of_type("item.completed");
    let call = done.iter().find(|data| data["item"]["kind"] == "tool_call").unwrap()["item"]["item_id"].clone();
    let below: Vec<&Value> = done.iter().filter(|data| data["item"]["parent_id"] == call).collect();
    assert_eq!(below.len(), 3, "the warning, the prompt and the answer");
}

#[test]
fn a_sub_agent_of_the_newer_kind_may_speak_before_its_call() {
    // Its turn names the one that it works for; where it says nothing, there is only one that it can be.
    for root in [json!("1"), json!(null)] {
        let mut talk = Talk::in_turn();
        talk.tell("turn/started", json!({"threadId": "child", "turn": {"id": "c1", "rootTurnId": root}}));
        let said = json!({"type": "agentMessage", "id": "cm", "text": "3"});
        talk.tell("item/completed", json!({"threadId": "child", "item": said}));
        let call = json!({"type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "child"});
        talk.begin(call.clone());
        talk.end(call);
        talk.tell("turn/completed", json!({"threadId": "child", "turn": {"id": "c1", "status": "completed"}}));
        talk.end_turn("1", "completed");
        assert_eq!(talk.of_type("session.started").len(), 1);
        let done = talk.of_type("item.completed");
        let call = done.iter().find(|data| data["item"]["kind"] == "tool_call").unwrap()["item"]["item_id"].clone();
        let answer = done.iter().find(|data| data["item"]["native_item_id"] == "cm").unwrap();
        assert_eq!(answer["item"]["parent_id"], call);
    }
}

#[test]
fn a_thread_that_the_host_asks_for_is_no_sub_agent() {
    let mut talk = Talk::in_turn();
    talk.host(json!({"id": 9, "method": "thread/resume", "params": {"threadId": "other"}}));
    talk.tell("turn/started", json!({"threadId": "other", "turn": {"id": "o1", "rootTurnId": "o1"}}));
    talk.agent(json!({"id": 9, "result": {"thread": {"id": "other"}}}));
    assert_eq!(talk.of_type("session.started").len(), 2);
}

#[test]
fn a_sub_agent_that_is_done_is_a_task_of_its_call() {
    let mut talk = Talk::in_turn();
    let call = json!({"type": "subAgentActivity", "id": "s", "kind": "started", "agentThreadId": "child",
        "agentPath": "/agents/adder"});
    talk.begin(call.clone());
    talk.end(call);
    // It is given more to do, and is done with that as well.
    for turn in ["c1", "c2"] {
        let done = json!({"type": "subAgentActivity", "id": format!("subagent-completed-{turn}"), "kind": "completed",
            "agentThreadId": "child", "agentPath": "/agents/adder"});
        talk.begin(done.clone());
        talk.end(done);
    }
    let done = talk.of_type("item.completed");
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
fn what_a_call_about_sub_agents_gives_back_is_what_they_say() {
    for (states, output) in [
        (json!({"a": {"status": "pendingInit", "message": null}}), ""),
        (json!({"a": {"status": "completed", "message": "3"}}), "3"),
        (json!({"a": {"status": "completed", "message": "3"}, "b": {"status": "running"}}), "a: 3\nb: running"),
    ] {
        let mut talk = Talk::in_turn();
        talk.end(json!({"type": "collabAgentToolCall", "id": "s", "tool": "wait", "status": "completed",
            "agentsStates": states}));
        assert_eq!(talk.texts().last().unwrap(), output);
    }
}

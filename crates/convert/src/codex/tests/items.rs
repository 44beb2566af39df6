//! Messages, tools, plans, sub-agents.

use interlingua_schema::{ItemKind, ItemStatus};
use serde_json::{Value, json};

use super::talk::{Talk, command};

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
    assert_eq!(talk.tally().dropped.get("a plan that is as before"), Some(&1));
    let item = &talk.of_type("item.completed")[1]["item"];
    assert_eq!(item["content"][1], json!({"type": "json", "json": [{"content": "look", "status": "in_progress"}]}));
}

#[test]
fn raw_traffic_with_the_model_is_not_said_again() {
    let mut talk = Talk::in_turn();
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]});
    talk.tell("rawResponseItem/completed", json!({"turnId": "1", "item": said}));
    talk.tell("rawResponse/completed", json!({"turnId": "1", "responseId": "r"}));
    assert_eq!(talk.texts(), ["hello"]);
    assert_eq!((talk.tally().unparsed, talk.tally().unaccounted), (0, 0));
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
    assert_eq!(talk.texts(), ["hello", "done", "again", "do", "retry Reconnecting... 1/2", "done"]);
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

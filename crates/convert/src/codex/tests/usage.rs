//! Token usage of turns.

use serde_json::{Value, json};

use super::harness::Harness;

fn report_usage(codex: &mut Harness, thread: &str, total: u64, last: u64) {
    let tokens = |count: u64| json!({"inputTokens": count, "outputTokens": 1});
    let usage = json!({"total": tokens(total), "last": tokens(last)});
    codex.notify("thread/tokenUsage/updated", json!({"threadId": thread, "turnId": "1", "tokenUsage": usage}));
}

#[test]
fn the_usage_of_a_turn_excludes_earlier_turns() {
    let mut codex = Harness::in_turn();
    report_usage(&mut codex, "t", 100, 100);
    report_usage(&mut codex, "t", 150, 50);
    codex.complete_turn("1", "completed");
    codex.prompt(4, "2", "again");
    report_usage(&mut codex, "t", 150, 50);
    report_usage(&mut codex, "t", 180, 30);
    codex.complete_turn("2", "completed");
    let inputs: Vec<Value> =
        codex.data_of("turn.ended").into_iter().map(|data| data["usage"]["input_tokens"].clone()).collect();
    assert_eq!(inputs, [150, 30]);
}

#[test]
fn the_total_that_a_resumed_thread_repeats_does_not_count() {
    let mut codex = Harness::in_turn();
    codex.send(json!({"id": 4, "method": "initialize", "params": {}}));
    codex.receive(json!({"id": 4, "result": {"userAgent": "x"}}));
    codex.send(json!({"id": 5, "method": "thread/resume", "params": {"threadId": "t"}}));
    codex.receive(json!({"id": 5, "result": {"thread": {"id": "t"}, "model": "m"}}));
    codex.prompt(6, "1", "again");
    report_usage(&mut codex, "t", 600, 100);
    codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": "here"}));
    report_usage(&mut codex, "t", 630, 30);
    codex.complete_turn("1", "completed");
    assert_eq!(codex.data_of("turn.ended")[1]["usage"]["input_tokens"], 30);
}

#[test]
fn output_without_an_item_counts_as_an_answer() {
    let plan =
        |codex: &mut Harness| codex.notify("turn/plan/updated", json!({"plan": [{"step": "a", "status": "pending"}]}));
    let question = |codex: &mut Harness| {
        let params = json!({"threadId": "t", "itemId": "q", "questions": [{"id": "a", "question": "A?"}]});
        codex.receive(json!({"method": "item/tool/requestUserInput", "id": 0, "params": params}));
    };
    let delta = |codex: &mut Harness| codex.notify("item/agentMessage/delta", json!({"itemId": "m", "delta": "so"}));
    for answer in [&plan as &dyn Fn(&mut Harness), &question, &delta] {
        let mut codex = Harness::new();
        codex.send(json!({"id": 1, "method": "thread/resume", "params": {"threadId": "t"}}));
        codex.receive(json!({"id": 1, "result": {"thread": {"id": "t"}, "model": "m"}}));
        codex.prompt(2, "1", "go on");
        answer(&mut codex);
        report_usage(&mut codex, "t", 600, 100);
        codex.complete_turn("1", "completed");
        assert_eq!(codex.data_of("turn.ended")[0]["usage"]["input_tokens"], 100);
    }
}

#[test]
fn a_new_sub_agent_starts_with_zero_usage() {
    for (forked, expected) in [(json!(null), 110), (json!("t"), 100)] {
        let mut codex = Harness::in_turn();
        report_usage(&mut codex, "t", 100, 100);
        let child = json!({"id": "child", "parentThreadId": "t", "forkedFromId": forked});
        codex.notify("thread/started", json!({"thread": child}));
        codex.notify("turn/started", json!({"threadId": "child", "turn": {"id": "c1"}}));
        report_usage(&mut codex, "child", 10, 10);
        codex.complete_turn("1", "completed");
        assert_eq!(codex.data_of("turn.ended")[0]["usage"]["input_tokens"], expected);
    }
}

#[test]
fn the_first_request_of_an_unannounced_sub_agent_counts() {
    // Up to 0.130, the thread of a sub-agent is not announced, and its first total precedes its first item.
    for (first, expected) in [((10, 10), 127), ((50, 10), 117)] {
        let mut codex = Harness::in_turn();
        report_usage(&mut codex, "t", 100, 100);
        let spawn = |status: &str, children: Value| {
            json!({"type": "collabAgentToolCall", "id": "s", "tool": "spawnAgent", "status": status, "prompt": "count",
                "receiverThreadIds": children})
        };
        codex.start_item(spawn("inProgress", json!([])));
        codex.notify("turn/started", json!({"threadId": "child", "turn": {"id": "c1"}}));
        codex.complete_item(spawn("completed", json!(["child"])));
        // A thread that continues an earlier conversation starts with the total of that conversation.
        let (total, last) = first;
        report_usage(&mut codex, "child", total, last);
        report_usage(&mut codex, "child", total, last);
        codex.notify(
            "item/completed",
            json!({"threadId": "child", "item": {"type": "agentMessage", "id": "cm", "text": "3"}}),
        );
        report_usage(&mut codex, "child", total + 17, 17);
        codex.complete_turn("1", "completed");
        assert_eq!(codex.data_of("turn.ended")[0]["usage"]["input_tokens"], expected);
    }
}

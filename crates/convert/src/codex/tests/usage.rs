//! Usage: what a turn used, whatever the thread used before it.

use serde_json::{Value, json};

use super::talk::Talk;

fn used(talk: &mut Talk, thread: &str, total: u64, last: u64) {
    let figures = |count: u64| json!({"inputTokens": count, "outputTokens": 1});
    let usage = json!({"total": figures(total), "last": figures(last)});
    talk.tell("thread/tokenUsage/updated", json!({"threadId": thread, "turnId": "1", "tokenUsage": usage}));
}

#[test]
fn a_turn_uses_its_own_tokens() {
    let mut talk = Talk::in_turn();
    used(&mut talk, "t", 100, 100);
    used(&mut talk, "t", 150, 50);
    talk.end_turn("1", "completed");
    talk.prompt(4, "2", "again");
    used(&mut talk, "t", 150, 50);
    used(&mut talk, "t", 180, 30);
    talk.end_turn("2", "completed");
    let inputs: Vec<Value> =
        talk.of_type("turn.ended").into_iter().map(|data| data["usage"]["input_tokens"].clone()).collect();
    assert_eq!(inputs, [150, 30]);
}

#[test]
fn a_resumed_thread_repeats_its_total_before_it_uses_anything() {
    let mut talk = Talk::in_turn();
    talk.host(json!({"id": 4, "method": "initialize", "params": {}}));
    talk.agent(json!({"id": 4, "result": {"userAgent": "x"}}));
    talk.host(json!({"id": 5, "method": "thread/resume", "params": {"threadId": "t"}}));
    talk.agent(json!({"id": 5, "result": {"thread": {"id": "t"}, "model": "m"}}));
    talk.prompt(6, "1", "again");
    used(&mut talk, "t", 600, 100);
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "here"}));
    used(&mut talk, "t", 630, 30);
    talk.end_turn("1", "completed");
    assert_eq!(talk.of_type("turn.ended")[1]["usage"]["input_tokens"], 30);
}

#[test]
fn an_answer_that_makes_no_item_is_one_too() {
    let plan = |talk: &mut Talk| talk.tell("turn/plan/updated", json!({"plan": [{"step": "a", "status": "pending"}]}));
    let question = |talk: &mut Talk| {
        let params = json!({"threadId": "t", "itemId": "q", "questions": [{"id": "a", "question": "A?"}]});
        talk.agent(json!({"method": "item/tool/requestUserInput", "id": 0, "params": params}));
    };
    let words = |talk: &mut Talk| talk.tell("item/agentMessage/delta", json!({"itemId": "m", "delta": "so"}));
    for answer in [&plan as &dyn Fn(&mut Talk), &question, &words] {
        let mut talk = Talk::new();
        talk.host(json!({"id": 1, "method": "thread/resume", "params": {"threadId": "t"}}));
        talk.agent(json!({"id": 1, "result": {"thread": {"id": "t"}, "model": "m"}}));
        talk.prompt(2, "1", "go on");
        answer(&mut talk);
        used(&mut talk, "t", 600, 100);
        talk.end_turn("1", "completed");
        assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], 100);
    }
}

#[test]
fn a_sub_agent_that_begins_has_used_nothing() {
    for (forked, expected) in [(json!(null), 110), (json!("t"), 100)] {
        let mut talk = Talk::in_turn();
        used(&mut talk, "t", 100, 100);
        let child = json!({"id": "child", "parentThreadId": "t", "forkedFromId": forked});
        talk.tell("thread/started", json!({"thread": child}));
        talk.tell("turn/started", json!({"threadId": "child", "turn": {"id": "c1"}}));
        used(&mut talk, "child", 10, 10);
        talk.end_turn("1", "completed");
        assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], expected);
    }
}

#[test]
fn the_first_request_of_a_sub_agent_counts() {
    // Up to 0.130 no thread is announced for it, and its first counters come before anything it says.
    for (first, expected) in [((10, 10), 127), ((50, 10), 117)] {
        let mut talk = Talk::in_turn();
        used(&mut talk, "t", 100, 100);
        let spawn = |status: &str, children: Value| {
            json!({"type": "collabAgentToolCall", "id": "s", "tool": "spawnAgent", "status": status, "prompt": "count",
                "receiverThreadIds": children})
        };
        talk.begin(spawn("inProgress", json!([])));
        talk.tell("turn/started", json!({"threadId": "child", "turn": {"id": "c1"}}));
        talk.end(spawn("completed", json!(["child"])));
        // A thread that goes on with an earlier conversation begins with the total of that.
        let (total, last) = first;
        used(&mut talk, "child", total, last);
        used(&mut talk, "child", total, last);
        talk.tell(
            "item/completed",
            json!({"threadId": "child", "item": {"type": "agentMessage", "id": "cm", "text": "3"}}),
        );
        used(&mut talk, "child", total + 17, 17);
        talk.end_turn("1", "completed");
        assert_eq!(talk.of_type("turn.ended")[0]["usage"]["input_tokens"], expected);
    }
}

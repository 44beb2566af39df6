use serde_json::json;

use super::{ONE_SHOT, SESSION, Step, done, init, play, recv, says, send, user};

fn usage(cost: f64, input: u64, own: u64) -> serde_json::Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "", "session_id": "s",
        "total_cost_usd": cost, "duration_ms": 5, "stop_reason": "end_turn",
        "usage": { "input_tokens": own, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3, "output_tokens": 4 },
        "modelUsage": { "opus": { "inputTokens": input, "cacheReadInputTokens": 2, "cacheCreationInputTokens": 3, "outputTokens": 4, "costUSD": cost } },
    })
}

fn turns(played: &super::Played) -> Vec<(u64, Option<f64>)> {
    let ended = played.events.iter().filter_map(|event| match &event.data {
        interlingua_schema::EventData::TurnEnded(data) => data.usage.as_ref(),
        _ => None,
    });
    ended.map(|usage| (usage.input_tokens, usage.cost_usd)).collect()
}

#[test]
fn a_one_shot_run_is_a_turn_with_its_prompt() {
    let played = play(&ONE_SHOT, &[Step::Close, init(), says("m", "Hello."), done("Hello."), Step::Exit(0)]);
    assert_eq!(
        played.trace(),
        [
            "session.started",
            "turn.started",
            "*message/user go",
            "message/assistant Hello.",
            "turn.ended completed",
            "*session.ended"
        ]
    );
}

#[test]
fn an_answer_that_stands_only_in_the_result_is_a_message() {
    let played = play(&ONE_SHOT, &[done("Only here."), Step::Exit(0)]);
    let expected = ["*turn.started", "*message/user go", "message/assistant Only here.", "turn.ended completed"];
    assert_eq!(played.trace()[1..5], expected);
}

#[test]
fn usage_counts_cached_input_and_sub_agents_and_is_the_turns_own() {
    let played = play(
        &SESSION,
        &[user(json!("a")), init(), recv(usage(0.5, 40, 10)), user(json!("b")), init(), recv(usage(0.75, 60, 10))],
    );
    assert_eq!(turns(&played), [(45, Some(0.5)), (20, Some(0.25))]);
}

#[test]
fn after_a_resume_the_first_cost_is_not_known() {
    let argv = ["claude", "--print", "--resume", "s", "--input-format", "stream-json"];
    let steps =
        [user(json!("a")), init(), recv(usage(0.5, 400, 10)), user(json!("b")), init(), recv(usage(0.75, 450, 10))];
    assert_eq!(turns(&play(&argv, &steps)), [(15, None), (50, Some(0.25))]);
}

#[test]
fn a_turn_that_the_agent_begins_has_no_user_message() {
    let played = play(&ONE_SHOT, &[init(), says("m", "a"), done("a"), init(), says("n", "b"), done("b")]);
    assert_eq!(played.trace()[5..], ["turn.started", "message/assistant b", "turn.ended completed"]);
}

#[test]
fn a_queued_prompt_belongs_to_the_turn_that_takes_it_up() {
    let queued = recv(
        json!({ "type": "result", "subtype": "success", "result": "1", "session_id": "s", "queued_turn_count": 1 }),
    );
    let played = play(
        &SESSION,
        &[user(json!("one")), init(), user(json!("two")), says("m", "1"), queued, init(), says("n", "2"), done("2")],
    );
    let expected = ["turn.started", "*message/user two", "message/assistant 2", "turn.ended completed"];
    assert_eq!(played.trace()[5..], expected);
}

#[test]
fn a_prompt_that_was_taken_up_in_the_running_turn_is_shown_in_it() {
    let played =
        play(&SESSION, &[user(json!("one")), init(), user(json!("two")), says("m", "1"), done("1"), Step::Exit(0)]);
    let expected = ["message/assistant 1", "*message/user two", "turn.ended completed", "*session.ended"];
    assert_eq!(played.trace()[3..], expected);
}

#[test]
fn a_repeated_prompt_is_shown_once_and_history_not_at_all() {
    let argv = ["claude", "--print", "--input-format", "stream-json", "--replay-user-messages"];
    let replay = |text: &str| {
        recv(
            json!({ "type": "user", "isReplay": true, "uuid": "u", "session_id": "s", "message": { "role": "user", "content": text } }),
        )
    };
    let played =
        play(&argv, &[user(json!("hi")), init(), replay("hi"), replay("old"), says("m", "Hello."), done("Hello.")]);
    assert_eq!(played.trace()[2..4], ["message/user hi", "message/assistant Hello."]);
    assert_eq!(played.tally.dropped["history that is replayed"], 1);
}

#[test]
fn an_interrupt_ends_the_turn_and_is_no_error() {
    let aborted = json!({
        "type": "assistant", "session_id": "s", "aborted": true,
        "message": { "id": "m", "role": "assistant", "model": "opus", "content": [{ "type": "text", "text": "slow" }] },
    });
    let marker = json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": [{ "type": "text", "text": "[Request interrupted by user]" }] } });
    let result = json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": "s",
        "terminal_reason": "aborted_streaming", "errors": ["[ede_diagnostic] x"],
    });
    let interrupt = json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } });
    let played =
        play(&SESSION, &[user(json!("talk")), init(), send(interrupt), recv(aborted), recv(marker), recv(result)]);
    assert_eq!(played.trace()[3..], ["message/assistant! slow", "turn.ended interrupted"]);
    assert_eq!(played.tally.dropped["marker that repeats an interrupt"], 1);
}

#[test]
fn a_made_up_line_is_the_error_and_no_message() {
    let line = json!({
        "type": "assistant", "session_id": "s", "error": "server_error", "is_api_error_message": true,
        "api_error_status": 529, "api_error_type": "overloaded_error",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error: 529" }] },
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": true, "result": "API Error: 529", "terminal_reason": "api_error", "session_id": "s" });
    let played = play(&ONE_SHOT, &[init(), recv(line), recv(result), Step::Exit(1)]);
    assert_eq!(played.trace()[3..], ["error overloaded: API Error: 529", "turn.ended failed", "*session.ended"]);
}

#[test]
fn limits_and_startup_failures_have_their_codes() {
    let result = |subtype: &str, more: serde_json::Value| {
        let mut result = json!({ "type": "result", "subtype": subtype, "is_error": true, "session_id": "s" });
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let trace = play(&ONE_SHOT, &[recv(result)]).trace();
        trace[3].clone()
    };
    assert_eq!(result("error_max_turns", json!({ "errors": ["too many"] })), "error limit: too many");
    assert_eq!(result("error_max_budget_usd", json!({})), "error limit: error_max_budget_usd");
    let root = json!({ "errors": ["not as root"], "startup_failure_reason": "bypass_root" });
    assert_eq!(result("error_during_execution", root), "error invalid_request: not as root");
    let long = json!({ "result": "Prompt is too long", "terminal_reason": "prompt_too_long" });
    assert_eq!(result("success", long), "error context_overflow: Prompt is too long");
    let refused = json!({ "result": "API Error: Unable to connect to API (ECONNREFUSED)" });
    assert_eq!(result("success", refused), "error connection: API Error: Unable to connect to API (ECONNREFUSED)");
    assert_eq!(result("success", json!({ "result": "no", "api_error_status": 401 })), "error auth: no");
    assert_eq!(
        result("success", json!({ "result": "slow down", "api_error_status": 429 })),
        "error rate_limited: slow down"
    );
}

#[test]
fn a_reset_ends_the_turn_and_begins_another_session() {
    let reset =
        json!({ "type": "conversation_reset", "session_id": "s", "new_conversation_id": "t", "trigger": "clear" });
    let played =
        play(&SESSION, &[user(json!("a")), init(), says("m", "A"), done("A"), user(json!("/clear")), recv(reset)]);
    let expected = [
        "*turn.started",
        "*message/user /clear",
        "status notice: conversation reset {}",
        "turn.ended completed",
        "session.started",
    ];
    assert_eq!(played.trace()[5..], expected);
}

#[test]
fn all_messages_may_come_as_one_list() {
    let list = json!([
        { "type": "system", "subtype": "init", "session_id": "s", "model": "opus" },
        { "type": "result", "subtype": "success", "result": "Hi.", "session_id": "s" },
    ]);
    let played = play(&ONE_SHOT, &[recv(list)]);
    assert_eq!(played.trace()[3..], ["message/assistant Hi.", "turn.ended completed"]);
}

#[test]
fn what_is_no_event_is_unparsed_and_the_turn_goes_on() {
    let steps = [
        init(),
        Step::Received("plain words".into()),
        recv(json!({ "type": "new_thing" })),
        recv(json!([])),
        says("m", "a"),
        done("a"),
    ];
    let played = play(&ONE_SHOT, &steps);
    assert_eq!(played.tally.unparsed, 3);
    assert_eq!(played.trace()[6..], ["message/assistant a", "turn.ended completed"]);
}

use serde_json::json;

use super::{ONE_SHOT, SESSION, Step, calls, done, init, play, recv, results, says, send, user};
use crate::losses::count_unparsed;

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

/// The agent's side of the life of a prompt that was sent with an id.
fn lifecycle(uuid: &str, state: &str) -> Step {
    recv(json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state, "session_id": "s" }))
}

fn user_with_id(uuid: &str, text: &str) -> Step {
    send(json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": text } }))
}

fn requests() -> Step {
    recv(json!({ "type": "system", "subtype": "status", "status": "requesting", "session_id": "s" }))
}

fn init_of(version: &str) -> Step {
    recv(
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "opus", "claude_code_version": version }),
    )
}

#[test]
fn a_queued_prompt_belongs_to_the_turn_that_takes_it_up() {
    let expected = [
        "message/assistant 1",
        "turn.ended completed",
        "turn.started",
        "*message/user two",
        "message/assistant 2",
        "turn.ended completed",
    ];
    let without_id =
        [user(json!("one")), init(), user(json!("two")), says("m", "1"), done("1"), init(), says("n", "2"), done("2")];
    assert_eq!(play(&SESSION, &without_id).trace()[3..], expected);
    let with_id = [
        user_with_id("a", "one"),
        lifecycle("a", "queued"),
        lifecycle("a", "started"),
        init(),
        user_with_id("b", "two"),
        lifecycle("b", "queued"),
        says("m", "1"),
        done("1"),
        lifecycle("a", "completed"),
        lifecycle("b", "started"),
        init(),
        says("n", "2"),
        done("2"),
        lifecycle("b", "completed"),
    ];
    assert_eq!(play(&SESSION, &with_id).trace()[3..], expected);
}

#[test]
fn a_queued_prompt_that_the_agent_repeats_is_shown_in_its_own_turn() {
    let argv = ["claude", "--print", "--input-format", "stream-json", "--replay-user-messages"];
    let replay = |uuid: &str, text: &str| {
        recv(
            json!({ "type": "user", "isReplay": true, "uuid": uuid, "session_id": "s", "message": { "role": "user", "content": text } }),
        )
    };
    let steps = [
        user_with_id("a", "one"),
        lifecycle("a", "started"),
        init(),
        replay("a", "one"),
        user_with_id("b", "two"),
        lifecycle("b", "queued"),
        says("m", "1"),
        done("1"),
        lifecycle("b", "started"),
        init(),
        replay("b", "two"),
        says("n", "2"),
        done("2"),
    ];
    let expected = [
        "message/user one",
        "message/assistant 1",
        "turn.ended completed",
        "turn.started",
        "message/user two",
        "message/assistant 2",
        "turn.ended completed",
    ];
    assert_eq!(play(&argv, &steps).trace()[2..], expected);
}

#[test]
fn a_prompt_that_is_taken_up_in_the_running_turn_is_shown_before_its_answer() {
    let expected = [
        "tool_call/assistant Bash {}",
        "tool_result/tool [x]",
        "*message/user two",
        "message/assistant 2",
        "turn.ended completed",
        "*session.ended",
    ];
    let result = || results("t", json!("x"), false, serde_json::Value::Null);
    // Older versions do not say when they ask the model.
    for request in [vec![requests()], vec![]] {
        let mut steps = vec![user(json!("one")), init(), calls("t", "Bash", json!({})), user(json!("two")), result()];
        steps.extend(request);
        steps.extend([says("n", "2"), done("2"), Step::Exit(0)]);
        assert_eq!(play(&SESSION, &steps).trace()[3..], expected);
    }
    let with_id = [
        user_with_id("a", "one"),
        lifecycle("a", "queued"),
        lifecycle("a", "started"),
        init(),
        calls("t", "Bash", json!({})),
        user_with_id("b", "two"),
        lifecycle("b", "queued"),
        result(),
        lifecycle("b", "started"),
        requests(),
        says("n", "2"),
        done("2"),
        Step::Exit(0),
    ];
    assert_eq!(play(&SESSION, &with_id).trace()[3..], expected);
}

#[test]
fn a_prompt_that_comes_after_the_last_tool_waits_for_its_own_turn() {
    let steps = [
        user(json!("one")),
        init(),
        calls("t", "Bash", json!({})),
        results("t", json!("x"), false, serde_json::Value::Null),
        requests(),
        user(json!("two")),
        says("n", "1"),
        done("1"),
        init(),
        says("o", "2"),
    ];
    let expected =
        ["message/assistant 1", "turn.ended completed", "turn.started", "*message/user two", "message/assistant 2"];
    assert_eq!(play(&SESSION, &steps).trace()[5..], expected);
}

#[test]
fn prompts_that_were_queued_together_are_one_turn_since_2_1() {
    let steps = |version: &str| {
        [
            user(json!("one")),
            init_of(version),
            user(json!("two")),
            user(json!("three")),
            says("m", "1"),
            done("1"),
            init_of(version),
            says("n", "2"),
            done("2"),
        ]
    };
    let played = play(&SESSION, &steps("2.1.326"));
    assert_eq!(played.trace()[5..8], ["turn.started", "*message/user two", "*message/user three"]);
    let played = play(&SESSION, &steps("2.0.30"));
    assert_eq!(played.trace()[5..8], ["turn.started", "*message/user two", "message/assistant 2"]);
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
fn a_made_up_line_of_a_version_that_does_not_mark_it_is_the_error_too() {
    let line = json!({
        "type": "assistant", "session_id": "s",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error: 400 bad" }] },
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": true, "result": "API Error: 400 bad", "session_id": "s" });
    let played = play(&ONE_SHOT, &[init(), recv(line), recv(result)]);
    assert_eq!(played.trace()[3..], ["error invalid_request: API Error: 400 bad", "turn.ended failed"]);
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
fn a_reset_ends_the_turn_and_the_next_init_begins_another_session() {
    let in_session = |id: &str, mut line: serde_json::Value| {
        line["session_id"] = json!(id);
        recv(line)
    };
    let reset = || {
        recv(
            json!({ "type": "conversation_reset", "session_id": "s", "new_conversation_id": "neither", "trigger": "clear" }),
        )
    };
    let init_of_new = || in_session("t", json!({ "type": "system", "subtype": "init", "model": "opus" }));
    let result_of_clear = || {
        let line = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "num_turns": 0, "total_cost_usd": 0 });
        in_session("t", line)
    };
    let ended = |cost: f64| {
        let model = json!({ "inputTokens": 40, "outputTokens": 4 });
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "total_cost_usd": cost, "modelUsage": { "opus": model } })
    };
    let begin =
        || vec![user(json!("a")), init(), says("m", "A"), in_session("s", ended(0.5)), user(json!("/clear")), reset()];
    let end = || {
        let answer = json!({ "type": "assistant", "message": { "id": "n", "model": "opus", "content": [{ "type": "text", "text": "B" }] } });
        [user(json!("b")), init_of_new(), in_session("t", answer), in_session("t", ended(0.25))]
    };
    // The command has an `init` and a `result` of its own, or not.
    for own in [vec![], vec![result_of_clear()], vec![init_of_new(), result_of_clear()]] {
        let mut steps = begin();
        steps.extend(own);
        steps.extend(end());
        let played = play(&SESSION, &steps);
        let expected = [
            "*turn.started",
            "*message/user /clear",
            "status notice: conversation reset",
            "turn.ended completed",
            "session.started",
            "turn.started",
            "*message/user b",
            "message/assistant B",
            "turn.ended completed",
        ];
        assert_eq!(played.trace()[5..], expected);
        assert_eq!(turns(&played), [(40, Some(0.5)), (40, Some(0.25))]);
    }
    // A log may have only the agent's side.
    let mut steps = begin();
    steps.extend([init_of_new(), result_of_clear()]);
    steps.extend(end());
    steps.retain(|step| !matches!(step, Step::Sent(_)));
    let played = play(&SESSION, &steps);
    let expected = [
        "session.started",
        "turn.started",
        "message/assistant A",
        "turn.ended completed",
        "status notice: conversation reset",
        "session.started",
        "turn.started",
        "message/assistant B",
        "turn.ended completed",
    ];
    assert_eq!(played.trace(), expected);
    steps.remove(4);
    steps.remove(4);
    assert_eq!(play(&SESSION, &steps).trace(), expected);
}

#[test]
fn an_interrupt_of_a_version_that_does_not_say_so_is_no_error() {
    let interrupt =
        || send(json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } }));
    let marker = || {
        recv(
            json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": [{ "type": "text", "text": "[Request interrupted by user]" }] } }),
        )
    };
    let result = || {
        recv(
            json!({ "type": "result", "subtype": "error_during_execution", "is_error": false, "session_id": "s", "errors": [] }),
        )
    };
    for steps in [
        vec![user(json!("talk")), init(), interrupt(), marker(), result()],
        vec![user(json!("talk")), init(), interrupt(), result()],
        vec![user(json!("talk")), interrupt(), init(), result()],
        vec![user(json!("talk")), init(), marker(), result()],
    ] {
        assert_eq!(play(&SESSION, &steps).trace()[3..], ["turn.ended interrupted"]);
    }
    let next = [user(json!("talk")), init(), interrupt(), result(), user(json!("more")), init(), result()];
    assert_eq!(play(&SESSION, &next).trace()[6..], ["error agent_error: error_during_execution", "turn.ended failed"]);
}

#[test]
fn totals_without_input_give_way_to_the_agents_own_figures() {
    let result = |cost: f64, output: u64| {
        let mut line = usage(cost, 0, 10);
        line["modelUsage"]["opus"] = json!({ "inputTokens": 0, "outputTokens": output, "cacheReadInputTokens": 0 });
        recv(line)
    };
    let steps = [user(json!("a")), init(), result(0.5, 9), user(json!("b")), init(), result(0.75, 15)];
    assert_eq!(turns(&play(&SESSION, &steps)), [(15, Some(0.5)), (15, Some(0.25))]);
}

#[test]
fn totals_that_went_down_begin_anew() {
    let steps = [
        user(json!("a")),
        init(),
        recv(usage(0.5, 40, 10)),
        user(json!("b")),
        init(),
        recv(usage(0.25, 20, 10)),
        user(json!("c")),
        init(),
        recv(usage(0.375, 30, 10)),
    ];
    assert_eq!(turns(&play(&SESSION, &steps)), [(45, Some(0.5)), (25, Some(0.25)), (10, Some(0.125))]);
}

#[test]
fn a_result_that_is_not_understood_is_a_failure() {
    for subtype in [json!("error_brand_new"), json!(null)] {
        let mut line = json!({ "type": "result", "is_error": false, "result": "fine", "session_id": "s" });
        if !subtype.is_null() {
            line["subtype"] = subtype;
        }
        let played = play(&ONE_SHOT, &[init(), says("m", "a"), recv(line)]);
        let expected = ["message/assistant a", "*agent.unparsed", "error agent_error: fine", "turn.ended failed"];
        assert_eq!(played.trace()[3..], expected);
        assert_eq!(count_unparsed(&played.tally), 1);
    }
}

fn ended(played: &super::Played) -> serde_json::Value {
    let ended = played.events.iter().rev().find_map(|event| match &event.data {
        interlingua_schema::EventData::TurnEnded(ended) => Some(ended),
        _ => None,
    });
    serde_json::to_value(ended.unwrap()).unwrap()
}

#[test]
fn a_turn_says_why_it_ended_where_that_is_certain() {
    for (more, expected) in [
        (json!({ "stop_reason": "end_turn" }), json!("end_turn")),
        (json!({ "stop_reason": "max_tokens" }), json!("max_tokens")),
        (json!({ "stop_reason": "refusal" }), json!("refusal")),
        (json!({ "stop_reason": "tool_use" }), json!("other")),
        (json!({}), json!("end_turn")),
        (json!({ "num_turns": 0 }), json!(null)),
        (json!({ "stop_reason": "stop_sequence", "is_error": true }), json!(null)),
    ] {
        let mut line =
            json!({ "type": "result", "subtype": "success", "is_error": false, "result": "x", "session_id": "s" });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let ended = ended(&play(&ONE_SHOT, &[init(), recv(line)]));
        assert_eq!(ended.pointer("/metadata/stop_reason").unwrap_or(&json!(null)), &expected, "{more}");
    }
}

#[test]
fn an_answer_that_was_too_long_says_so() {
    let line = json!({
        "type": "assistant", "session_id": "s", "error": "max_output_tokens",
        "message": { "id": "x", "model": "<synthetic>", "content": [{ "type": "text", "text": "too long" }] },
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": true, "result": "too long", "stop_reason": "stop_sequence", "session_id": "s" });
    let played = play(&ONE_SHOT, &[init(), recv(line), recv(result)]);
    assert_eq!(ended(&played)["metadata"]["stop_reason"], "max_tokens");
}

#[test]
fn a_session_begins_with_what_the_agent_says_of_itself_and_a_turn_with_what_may_change() {
    let init = json!({
        "type": "system", "subtype": "init", "session_id": "s", "model": "opus", "cwd": "/w", "tools": ["Bash"],
        "mcp_servers": [{ "name": "tiny", "status": "connected" }], "permissionMode": "bypassPermissions",
        "claude_code_version": "2.1.326", "output_style": "default", "agents": ["Explore"],
    });
    let played = play(&ONE_SHOT, &[recv(init.clone()), says("m", "a"), done("a"), recv(init)]);
    let metadata = |kind: &str, place: usize| {
        let mut events = played.events.iter().filter(|event| event.data.kind() == kind);
        serde_json::to_value(events.nth(place).unwrap()).unwrap()["data"]["metadata"].clone()
    };
    let mut expected = json!({
        "model": "opus", "cwd": "/w", "tools": ["Bash"], "permission_mode": "bypass",
        "mcp_servers": [{ "name": "tiny", "status": "connected" }],
    });
    // The first turn begins with what the session has just said.
    assert_eq!(metadata("turn.started", 0), json!({ "model": "opus" }));
    assert_eq!(metadata("turn.started", 1), expected);
    expected["agent"] = json!("claude");
    expected["agent_version"] = json!("2.1.326");
    expected["native"] = json!({ "agents": ["Explore"], "output_style": "default" });
    assert_eq!(metadata("session.started", 0), expected);
}

#[test]
fn all_messages_may_come_as_one_list() {
    let list = json!([
        { "type": "system", "subtype": "init", "session_id": "s", "model": "opus" },
        { "type": "result", "subtype": "success", "is_error": false, "result": "Hi.", "session_id": "s" },
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
    assert_eq!(count_unparsed(&played.tally), 3);
    assert_eq!(played.trace()[6..], ["message/assistant a", "turn.ended completed"]);
}

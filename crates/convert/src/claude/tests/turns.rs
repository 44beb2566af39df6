use serde_json::json;

use super::{ONE_SHOT, SESSION, TestInput, convert, init, prompt, received, sent, success, text_message};
use crate::losses::count_unparsed;

fn result_with_usage(cost: f64, model_input: u64, main_agent_input: u64) -> serde_json::Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "result": "", "session_id": "s",
        "total_cost_usd": cost, "duration_ms": 5, "stop_reason": "end_turn",
        "usage": { "input_tokens": main_agent_input, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3, "output_tokens": 4 },
        "modelUsage": { "opus": { "inputTokens": model_input, "cacheReadInputTokens": 2, "cacheCreationInputTokens": 3, "outputTokens": 4, "costUSD": cost } },
    })
}

/// Input tokens and cost of each turn.
fn turn_usages(converted: &super::Converted) -> Vec<(u64, Option<f64>)> {
    let ended = converted.events.iter().filter_map(|event| match &event.data {
        interlingua_schema::EventData::TurnEnded(data) => data.usage.as_ref(),
        _ => None,
    });
    ended.map(|usage| (usage.input_tokens, usage.cost_usd)).collect()
}

#[test]
fn a_one_shot_run_is_a_turn_with_its_prompt() {
    let converted = convert(
        &ONE_SHOT,
        &[TestInput::Close, init(), text_message("m", "Hello."), success("Hello."), TestInput::Exit(0)],
    );
    assert_eq!(
        converted.trace(),
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
fn an_answer_that_is_only_in_the_result_is_a_message() {
    let converted = convert(&ONE_SHOT, &[success("Only here."), TestInput::Exit(0)]);
    let expected = ["*turn.started", "*message/user go", "message/assistant Only here.", "turn.ended completed"];
    assert_eq!(converted.trace()[1..5], expected);
}

#[test]
fn usage_of_a_turn_includes_cached_input_and_sub_agents() {
    let converted = convert(
        &SESSION,
        &[
            prompt(json!("a")),
            init(),
            received(result_with_usage(0.5, 40, 10)),
            prompt(json!("b")),
            init(),
            received(result_with_usage(0.75, 60, 10)),
        ],
    );
    assert_eq!(turn_usages(&converted), [(45, Some(0.5)), (20, Some(0.25))]);
}

#[test]
fn after_a_resume_the_cost_of_the_first_turn_is_unknown() {
    let argv = ["claude", "--print", "--resume", "s", "--input-format", "stream-json"];
    let inputs = [
        prompt(json!("a")),
        init(),
        received(result_with_usage(0.5, 400, 10)),
        prompt(json!("b")),
        init(),
        received(result_with_usage(0.75, 450, 10)),
    ];
    assert_eq!(turn_usages(&convert(&argv, &inputs)), [(15, None), (50, Some(0.25))]);
}

#[test]
fn a_turn_that_the_agent_starts_has_no_user_message() {
    let converted = convert(
        &ONE_SHOT,
        &[init(), text_message("m", "a"), success("a"), init(), text_message("n", "b"), success("b")],
    );
    assert_eq!(converted.trace()[5..], ["turn.started", "message/assistant b", "turn.ended completed"]);
}

#[test]
fn an_interrupt_ends_the_turn_without_an_error() {
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
    let converted = convert(
        &SESSION,
        &[prompt(json!("talk")), init(), sent(interrupt), received(aborted), received(marker), received(result)],
    );
    assert_eq!(converted.trace()[3..], ["message/assistant! slow", "turn.ended interrupted"]);
    assert_eq!(converted.stats.dropped["marker that repeats an interrupt"], 1);
}

#[test]
fn an_error_message_of_the_cli_is_an_error_and_not_a_message() {
    let line = json!({
        "type": "assistant", "session_id": "s", "error": "server_error", "is_api_error_message": true,
        "api_error_status": 529, "api_error_type": "overloaded_error",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error: 529" }] },
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": true, "result": "API Error: 529", "terminal_reason": "api_error", "session_id": "s" });
    let converted = convert(&ONE_SHOT, &[init(), received(line), received(result), TestInput::Exit(1)]);
    assert_eq!(converted.trace()[3..], ["error overloaded: API Error: 529", "turn.ended failed", "*session.ended"]);
}

#[test]
fn an_error_message_of_the_cli_is_an_error_even_if_it_is_not_marked() {
    let line = json!({
        "type": "assistant", "session_id": "s",
        "message": { "id": "x", "role": "assistant", "model": "<synthetic>", "content": [{ "type": "text", "text": "API Error: 400 bad" }] },
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": true, "result": "API Error: 400 bad", "session_id": "s" });
    let converted = convert(&ONE_SHOT, &[init(), received(line), received(result)]);
    assert_eq!(converted.trace()[3..], ["error invalid_request: API Error: 400 bad", "turn.ended failed"]);
}

#[test]
fn limits_and_startup_failures_have_error_codes() {
    let result = |subtype: &str, more: serde_json::Value| {
        let mut result = json!({ "type": "result", "subtype": subtype, "is_error": true, "session_id": "s" });
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let trace = convert(&ONE_SHOT, &[received(result)]).trace();
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
fn a_reset_ends_the_turn_and_the_next_init_starts_another_session() {
    let in_session = |id: &str, mut line: serde_json::Value| {
        line["session_id"] = json!(id);
        received(line)
    };
    let reset = || {
        received(
            json!({ "type": "conversation_reset", "session_id": "s", "new_conversation_id": "neither", "trigger": "clear" }),
        )
    };
    let init_of_next_session = || in_session("t", json!({ "type": "system", "subtype": "init", "model": "opus" }));
    let result_of_clear = || {
        let line = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "num_turns": 0, "total_cost_usd": 0 });
        in_session("t", line)
    };
    let result = |cost: f64| {
        let model = json!({ "inputTokens": 40, "outputTokens": 4 });
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "total_cost_usd": cost, "modelUsage": { "opus": model } })
    };
    let first_inputs = || {
        vec![
            prompt(json!("a")),
            init(),
            text_message("m", "A"),
            in_session("s", result(0.5)),
            prompt(json!("/clear")),
            reset(),
        ]
    };
    let last_inputs = || {
        let answer = json!({ "type": "assistant", "message": { "id": "n", "model": "opus", "content": [{ "type": "text", "text": "B" }] } });
        [prompt(json!("b")), init_of_next_session(), in_session("t", answer), in_session("t", result(0.25))]
    };
    // The command may have a separate `init` and `result`.
    for of_command in [vec![], vec![result_of_clear()], vec![init_of_next_session(), result_of_clear()]] {
        let mut inputs = first_inputs();
        inputs.extend(of_command);
        inputs.extend(last_inputs());
        let converted = convert(&SESSION, &inputs);
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
        assert_eq!(converted.trace()[5..], expected);
        assert_eq!(turn_usages(&converted), [(40, Some(0.5)), (40, Some(0.25))]);
    }
    // A log may have only the agent's output.
    let mut inputs = first_inputs();
    inputs.extend([init_of_next_session(), result_of_clear()]);
    inputs.extend(last_inputs());
    inputs.retain(|input| !matches!(input, TestInput::Sent(_)));
    let converted = convert(&SESSION, &inputs);
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
    assert_eq!(converted.trace(), expected);
    inputs.remove(4);
    inputs.remove(4);
    assert_eq!(convert(&SESSION, &inputs).trace(), expected);
}

#[test]
fn an_interrupt_that_the_result_does_not_report_is_not_an_error() {
    let interrupt =
        || sent(json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } }));
    let marker = || {
        received(
            json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": [{ "type": "text", "text": "[Request interrupted by user]" }] } }),
        )
    };
    let result = || {
        received(
            json!({ "type": "result", "subtype": "error_during_execution", "is_error": false, "session_id": "s", "errors": [] }),
        )
    };
    for inputs in [
        vec![prompt(json!("talk")), init(), interrupt(), marker(), result()],
        vec![prompt(json!("talk")), init(), interrupt(), result()],
        vec![prompt(json!("talk")), interrupt(), init(), result()],
        vec![prompt(json!("talk")), init(), marker(), result()],
    ] {
        assert_eq!(convert(&SESSION, &inputs).trace()[3..], ["turn.ended interrupted"]);
    }
    let next = [prompt(json!("talk")), init(), interrupt(), result(), prompt(json!("more")), init(), result()];
    assert_eq!(
        convert(&SESSION, &next).trace()[6..],
        ["error agent_error: error_during_execution", "turn.ended failed"]
    );
}

#[test]
fn totals_without_input_are_replaced_by_the_main_agents_usage() {
    let result = |cost: f64, output: u64| {
        let mut line = result_with_usage(cost, 0, 10);
        line["modelUsage"]["opus"] = json!({ "inputTokens": 0, "outputTokens": output, "cacheReadInputTokens": 0 });
        received(line)
    };
    let inputs = [prompt(json!("a")), init(), result(0.5, 9), prompt(json!("b")), init(), result(0.75, 15)];
    assert_eq!(turn_usages(&convert(&SESSION, &inputs)), [(15, Some(0.5)), (15, Some(0.25))]);
}

#[test]
fn totals_that_decrease_start_again_at_zero() {
    let inputs = [
        prompt(json!("a")),
        init(),
        received(result_with_usage(0.5, 40, 10)),
        prompt(json!("b")),
        init(),
        received(result_with_usage(0.25, 20, 10)),
        prompt(json!("c")),
        init(),
        received(result_with_usage(0.375, 30, 10)),
    ];
    assert_eq!(turn_usages(&convert(&SESSION, &inputs)), [(45, Some(0.5)), (25, Some(0.25)), (10, Some(0.125))]);
}

#[test]
fn a_result_with_an_unknown_subtype_is_a_failure() {
    for subtype in [json!("error_brand_new"), json!(null)] {
        let mut line = json!({ "type": "result", "is_error": false, "result": "fine", "session_id": "s" });
        if !subtype.is_null() {
            line["subtype"] = subtype;
        }
        let converted = convert(&ONE_SHOT, &[init(), text_message("m", "a"), received(line)]);
        let expected = ["message/assistant a", "*agent.unparsed", "error agent_error: fine", "turn.ended failed"];
        assert_eq!(converted.trace()[3..], expected);
        assert_eq!(count_unparsed(&converted.stats), 1);
    }
}

fn last_turn_end(converted: &super::Converted) -> serde_json::Value {
    let ended = converted.events.iter().rev().find_map(|event| match &event.data {
        interlingua_schema::EventData::TurnEnded(ended) => Some(ended),
        _ => None,
    });
    serde_json::to_value(ended.unwrap()).unwrap()
}

#[test]
fn a_turn_has_a_stop_reason_if_it_is_certain() {
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
        let ended = last_turn_end(&convert(&ONE_SHOT, &[init(), received(line)]));
        assert_eq!(ended.pointer("/metadata/stop_reason").unwrap_or(&json!(null)), &expected, "{more}");
    }
}

#[test]
fn an_answer_that_exceeds_the_token_limit_has_the_stop_reason_max_tokens() {
    let line = json!({
        "type": "assistant", "session_id": "s", "error": "max_output_tokens",
        "message": { "id": "x", "model": "<synthetic>", "content": [{ "type": "text", "text": "too long" }] },
    });
    let result = json!({ "type": "result", "subtype": "success", "is_error": true, "result": "too long", "stop_reason": "stop_sequence", "session_id": "s" });
    let converted = convert(&ONE_SHOT, &[init(), received(line), received(result)]);
    assert_eq!(last_turn_end(&converted)["metadata"]["stop_reason"], "max_tokens");
}

#[test]
fn the_session_has_all_metadata_and_a_turn_what_may_change() {
    let init = json!({
        "type": "system", "subtype": "init", "session_id": "s", "model": "opus", "cwd": "/w", "tools": ["Bash"],
        "mcp_servers": [{ "name": "tiny", "status": "connected" }], "permissionMode": "bypassPermissions",
        "claude_code_version": "2.1.326", "output_style": "default", "agents": ["Explore"],
    });
    let converted = convert(&ONE_SHOT, &[received(init.clone()), text_message("m", "a"), success("a"), received(init)]);
    let metadata = |kind: &str, place: usize| {
        let mut events = converted.events.iter().filter(|event| event.data.kind() == kind);
        serde_json::to_value(events.nth(place).unwrap()).unwrap()["data"]["metadata"].clone()
    };
    let mut expected = json!({
        "model": "opus", "cwd": "/w", "tools": ["Bash"], "permission_mode": "bypass",
        "mcp_servers": [{ "name": "tiny", "status": "connected" }],
    });
    // The first turn has only the model; `session.started` has the rest.
    assert_eq!(metadata("turn.started", 0), json!({ "model": "opus" }));
    assert_eq!(metadata("turn.started", 1), expected);
    expected["agent"] = json!("claude");
    expected["agent_version"] = json!("2.1.326");
    expected["native"] = json!({ "agents": ["Explore"], "output_style": "default" });
    assert_eq!(metadata("session.started", 0), expected);
}

#[test]
fn all_messages_may_come_in_one_list() {
    let list = json!([
        { "type": "system", "subtype": "init", "session_id": "s", "model": "opus" },
        { "type": "result", "subtype": "success", "is_error": false, "result": "Hi.", "session_id": "s" },
    ]);
    let converted = convert(&ONE_SHOT, &[received(list)]);
    assert_eq!(converted.trace()[3..], ["message/assistant Hi.", "turn.ended completed"]);
}

#[test]
fn unknown_lines_are_unparsed_and_the_turn_continues() {
    let inputs = [
        init(),
        TestInput::Received("plain words".into()),
        received(json!({ "type": "new_thing" })),
        received(json!([])),
        text_message("m", "a"),
        success("a"),
    ];
    let converted = convert(&ONE_SHOT, &inputs);
    assert_eq!(count_unparsed(&converted.stats), 3);
    assert_eq!(converted.trace()[6..], ["message/assistant a", "turn.ended completed"]);
}

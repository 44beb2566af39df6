use serde_json::json;

use super::{SESSION, TestInput, convert, init, prompt, received, sent, success, text_message, tool_call, tool_result};

/// A state that the agent reports for a prompt with an id.
fn lifecycle(uuid: &str, state: &str) -> TestInput {
    received(json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state, "session_id": "s" }))
}

fn prompt_with_id(uuid: &str, text: &str) -> TestInput {
    sent(json!({ "type": "user", "uuid": uuid, "message": { "role": "user", "content": text } }))
}

fn requesting() -> TestInput {
    received(json!({ "type": "system", "subtype": "status", "status": "requesting", "session_id": "s" }))
}

fn init_with_version(version: &str) -> TestInput {
    received(
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "opus", "claude_code_version": version }),
    )
}

#[test]
fn a_queued_prompt_belongs_to_the_turn_that_accepts_it() {
    let expected = [
        "message/assistant 1",
        "turn.ended completed",
        "turn.started",
        "*message/user two",
        "message/assistant 2",
        "turn.ended completed",
    ];
    let without_id = [
        prompt(json!("one")),
        init(),
        prompt(json!("two")),
        text_message("m", "1"),
        success("1"),
        init(),
        text_message("n", "2"),
        success("2"),
    ];
    assert_eq!(convert(&SESSION, &without_id).trace()[3..], expected);
    let with_id = [
        prompt_with_id("a", "one"),
        lifecycle("a", "queued"),
        lifecycle("a", "started"),
        init(),
        prompt_with_id("b", "two"),
        lifecycle("b", "queued"),
        text_message("m", "1"),
        success("1"),
        lifecycle("a", "completed"),
        lifecycle("b", "started"),
        init(),
        text_message("n", "2"),
        success("2"),
        lifecycle("b", "completed"),
    ];
    assert_eq!(convert(&SESSION, &with_id).trace()[3..], expected);
}

#[test]
fn a_queued_prompt_that_the_agent_echoes_is_shown_in_its_own_turn() {
    let argv = ["claude", "--print", "--input-format", "stream-json", "--replay-user-messages"];
    let replay = |uuid: &str, text: &str| {
        received(
            json!({ "type": "user", "isReplay": true, "uuid": uuid, "session_id": "s", "message": { "role": "user", "content": text } }),
        )
    };
    let inputs = [
        prompt_with_id("a", "one"),
        lifecycle("a", "started"),
        init(),
        replay("a", "one"),
        prompt_with_id("b", "two"),
        lifecycle("b", "queued"),
        text_message("m", "1"),
        success("1"),
        lifecycle("b", "started"),
        init(),
        replay("b", "two"),
        text_message("n", "2"),
        success("2"),
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
    assert_eq!(convert(&argv, &inputs).trace()[2..], expected);
}

#[test]
fn a_prompt_that_is_accepted_in_the_running_turn_is_shown_before_its_answer() {
    let expected = [
        "tool_call/assistant Bash {}",
        "tool_result/tool [x]",
        "*message/user two",
        "message/assistant 2",
        "turn.ended completed",
        "*session.ended",
    ];
    let result = || tool_result("t", json!("x"), false, serde_json::Value::Null);
    // Older versions do not report when they send a request to the model.
    for request in [vec![requesting()], vec![]] {
        let mut inputs =
            vec![prompt(json!("one")), init(), tool_call("t", "Bash", json!({})), prompt(json!("two")), result()];
        inputs.extend(request);
        inputs.extend([text_message("n", "2"), success("2"), TestInput::Exit(0)]);
        assert_eq!(convert(&SESSION, &inputs).trace()[3..], expected);
    }
    let with_id = [
        prompt_with_id("a", "one"),
        lifecycle("a", "queued"),
        lifecycle("a", "started"),
        init(),
        tool_call("t", "Bash", json!({})),
        prompt_with_id("b", "two"),
        lifecycle("b", "queued"),
        result(),
        lifecycle("b", "started"),
        requesting(),
        text_message("n", "2"),
        success("2"),
        TestInput::Exit(0),
    ];
    assert_eq!(convert(&SESSION, &with_id).trace()[3..], expected);
}

#[test]
fn a_prompt_that_comes_after_the_last_tool_waits_for_the_next_turn() {
    let inputs = [
        prompt(json!("one")),
        init(),
        tool_call("t", "Bash", json!({})),
        tool_result("t", json!("x"), false, serde_json::Value::Null),
        requesting(),
        prompt(json!("two")),
        text_message("n", "1"),
        success("1"),
        init(),
        text_message("o", "2"),
    ];
    let expected =
        ["message/assistant 1", "turn.ended completed", "turn.started", "*message/user two", "message/assistant 2"];
    assert_eq!(convert(&SESSION, &inputs).trace()[5..], expected);
}

#[test]
fn prompts_queued_during_a_turn_are_one_turn_since_2_1() {
    let inputs = |version: &str| {
        [
            prompt(json!("one")),
            init_with_version(version),
            prompt(json!("two")),
            prompt(json!("three")),
            text_message("m", "1"),
            success("1"),
            init_with_version(version),
            text_message("n", "2"),
            success("2"),
        ]
    };
    let converted = convert(&SESSION, &inputs("2.1.326"));
    assert_eq!(converted.trace()[5..8], ["turn.started", "*message/user two", "*message/user three"]);
    let converted = convert(&SESSION, &inputs("2.0.30"));
    assert_eq!(converted.trace()[5..8], ["turn.started", "*message/user two", "message/assistant 2"]);
}

#[test]
fn an_echoed_prompt_is_shown_once_and_replayed_history_is_dropped() {
    let argv = ["claude", "--print", "--input-format", "stream-json", "--replay-user-messages"];
    let replay = |text: &str| {
        received(
            json!({ "type": "user", "isReplay": true, "uuid": "u", "session_id": "s", "message": { "role": "user", "content": text } }),
        )
    };
    let converted = convert(
        &argv,
        &[prompt(json!("hi")), init(), replay("hi"), replay("old"), text_message("m", "Hello."), success("Hello.")],
    );
    assert_eq!(converted.trace()[2..4], ["message/user hi", "message/assistant Hello."]);
    assert_eq!(converted.stats.dropped["replayed history"], 1);
}

use serde_json::{Value, json};

use super::{SESSION, TestInput, convert, init, prompt, received, sent, tool_call, tool_result};

fn control_request(id: &str, request: Value) -> TestInput {
    received(json!({ "type": "control_request", "request_id": id, "request": request }))
}

fn control_response(id: &str, response: Value) -> TestInput {
    sent(
        json!({ "type": "control_response", "response": { "subtype": "success", "request_id": id, "response": response } }),
    )
}

fn can_use_tool(tool: &str, input: Value) -> TestInput {
    control_request("r", json!({ "subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "t" }))
}

/// The trace of a request about a call, and of its answer.
fn trace_request(tool: &str, call: Value, input: Value, answer: TestInput) -> Vec<String> {
    let inputs = [prompt(json!("go")), init(), tool_call("t", tool, call), can_use_tool(tool, input), answer];
    convert(&SESSION, &inputs).trace()[4..].to_vec()
}

/// The trace line of the answer to a permission request for `Bash`.
fn answer_bash(answer: TestInput) -> String {
    trace_request("Bash", json!({ "command": "ls" }), json!({ "command": "ls" }), answer)[1].clone()
}

#[test]
fn a_permission_is_approved_once_or_for_longer_or_denied() {
    assert_eq!(
        answer_bash(control_response("r", json!({ "behavior": "allow", "updatedInput": {} }))),
        "*permission Run ls approved once"
    );
    let approve_in = |destination: &str| {
        let rules = json!([{ "type": "addRules", "rules": [], "behavior": "allow", "destination": destination }]);
        answer_bash(control_response(
            "r",
            json!({ "behavior": "allow", "updatedInput": {}, "updatedPermissions": rules }),
        ))
    };
    assert_eq!(approve_in("session"), "*permission Run ls approved session");
    assert_eq!(approve_in("localSettings"), "*permission Run ls approved always");
    assert_eq!(
        answer_bash(control_response("r", json!({ "behavior": "deny", "message": "no" }))),
        "*permission Run ls denied"
    );
}

#[test]
fn anything_but_an_approval_is_a_denial() {
    assert_eq!(answer_bash(control_response("r", json!({ "behavior": "perhaps" }))), "*permission Run ls denied");
    let error = json!({ "type": "control_response", "response": { "subtype": "error", "request_id": "r", "error": "host crashed" } });
    assert_eq!(answer_bash(sent(error)), "*permission Run ls denied");
    assert_eq!(
        answer_bash(received(json!({ "type": "control_cancel_request", "request_id": "r" }))),
        "*permission Run ls denied"
    );
    assert_eq!(answer_bash(TestInput::Close), "*permission Run ls denied");
    let finished = tool_result("t", json!("failed"), true, Value::Null);
    assert_eq!(answer_bash(finished), "*permission Run ls denied");
}

#[test]
fn a_denial_may_interrupt_the_turn() {
    let denied = control_response("r", json!({ "behavior": "deny", "message": "stop", "interrupt": true }));
    let result = json!({ "type": "result", "subtype": "error_during_execution", "session_id": "s", "errors": ["x"] });
    let inputs = [
        prompt(json!("go")),
        init(),
        tool_call("t", "Bash", json!({})),
        can_use_tool("Bash", json!({})),
        denied,
        received(result),
    ];
    assert_eq!(convert(&SESSION, &inputs).trace().last().unwrap(), "turn.ended interrupted");
}

#[test]
fn answers_are_matched_to_questions_by_text() {
    let questions = json!([
        { "question": "Which?", "header": "W", "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }], "multiSelect": false },
        { "question": "What else?", "header": "E", "options": [], "multiSelect": true },
    ]);
    let input = json!({ "questions": questions });
    let answer = control_response(
        "r",
        json!({ "behavior": "allow", "updatedInput": { "questions": questions, "answers": { "What else?": ["x", "y"], "Which?": "A" } } }),
    );
    let expected = [
        "question \"Which?\" requested -",
        "question \"What else?\" requested -",
        "*question \"Which?\" answered A",
        "*question \"What else?\" answered x, y",
    ];
    assert_eq!(trace_request("AskUserQuestion", input.clone(), input.clone(), answer), expected);
    let none = control_response("r", json!({ "behavior": "allow", "updatedInput": { "questions": questions } }));
    let expected = ["*question \"Which?\" rejected -", "*question \"What else?\" rejected -"];
    assert_eq!(trace_request("AskUserQuestion", input.clone(), input.clone(), none)[2..], expected);
    let dismissed = control_response("r", json!({ "behavior": "deny", "message": "dismissed" }));
    assert_eq!(
        trace_request("AskUserQuestion", input.clone(), input, dismissed)[2],
        "*question \"Which?\" rejected dismissed"
    );
}

#[test]
fn a_plan_is_a_question_even_if_only_the_call_has_the_plan() {
    let yes = || control_response("r", json!({ "behavior": "allow", "updatedInput": {} }));
    let plan = json!({ "plan": "1. Fix" });
    let expected = ["question \"1. Fix\" requested -", "*question \"1. Fix\" answered approve"];
    assert_eq!(trace_request("ExitPlanMode", json!({}), plan.clone(), yes()), expected);
    assert_eq!(trace_request("ExitPlanMode", plan.clone(), json!({}), yes()), expected);
    let no = control_response("r", json!({ "behavior": "deny", "message": "add a test" }));
    assert_eq!(trace_request("ExitPlanMode", plan.clone(), plan, no)[1], "*question \"1. Fix\" rejected add a test");
}

#[test]
fn an_elicitation_is_a_question() {
    let request = json!({ "subtype": "elicitation", "mcp_server_name": "ask", "message": "Name?", "mode": "form", "requested_schema": { "properties": { "name": { "type": "string" } } } });
    let answered = |response: Value| {
        let inputs =
            [prompt(json!("go")), init(), control_request("r", request.clone()), control_response("r", response)];
        convert(&SESSION, &inputs).trace()[4].clone()
    };
    assert_eq!(
        answered(json!({ "action": "accept", "content": { "name": "kiwi" } })),
        "*question \"Name?\" answered kiwi"
    );
    assert_eq!(
        answered(json!({ "action": "accept", "content": { "a": 1, "b": 2 } })),
        "*question \"Name?\" answered {\"a\":1,\"b\":2}"
    );
    assert_eq!(answered(json!({ "action": "accept" })), "*question \"Name?\" answered accept");
    assert_eq!(answered(json!({ "action": "decline" })), "*question \"Name?\" rejected -");
}

#[test]
fn a_hook_callback_is_a_status_that_ends_with_its_answer() {
    let request = json!({ "subtype": "hook_callback", "callback_id": "hook_0", "input": { "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} }, "tool_use_id": "t" });
    let inputs = [
        prompt(json!("go")),
        init(),
        control_request("h", request),
        control_response("h", json!({ "continue": true })),
    ];
    assert_eq!(convert(&SESSION, &inputs).trace()[3], "*status hook: PreToolUse: hook_0");
}

#[test]
fn a_rejected_request_of_the_host_is_an_error_that_does_not_fail_the_turn() {
    let refusal = json!({ "type": "control_response", "response": { "subtype": "error", "request_id": "c", "error": "Unsupported" } });
    let inputs = [
        prompt(json!("one")),
        init(),
        super::text_message("m", "1"),
        super::success("1"),
        prompt(json!("two")),
        received(refusal),
        init(),
        super::text_message("n", "2"),
        super::success("2"),
    ];
    let expected = [
        "error invalid_request: Unsupported",
        "turn.started",
        "*message/user two",
        "message/assistant 2",
        "turn.ended completed",
    ];
    assert_eq!(convert(&SESSION, &inputs).trace()[5..], expected);
}

#[test]
fn a_model_change_by_the_host_is_reported_once() {
    let request = json!({ "type": "control_request", "request_id": "c", "request": { "subtype": "set_model", "model": "sonnet" } });
    let answer = json!({ "type": "control_response", "response": { "subtype": "success", "request_id": "c", "response": { "model": "sonnet" } } });
    let next =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "sonnet", "permissionMode": "plan" });
    let inputs = [
        prompt(json!("a")),
        init(),
        super::success(""),
        sent(request),
        received(answer),
        prompt(json!("b")),
        received(next),
    ];
    let expected = [
        "status model_changed: Model changed from opus to sonnet {}",
        "turn.started",
        "*message/user b",
        "status mode_changed: Mode changed from default to plan {}",
    ];
    assert_eq!(convert(&SESSION, &inputs).trace()[4..], expected);
}

fn requested_permission(converted: &super::Converted) -> interlingua_schema::Permission {
    let permission = converted.events.iter().find_map(|event| match &event.data {
        interlingua_schema::EventData::PermissionRequested(permission) => Some(permission.clone()),
        _ => None,
    });
    permission.unwrap()
}

#[test]
fn a_permission_request_has_its_input_reason_and_scopes() {
    let suggestions = json!([
        { "type": "addRules", "rules": [], "behavior": "allow", "destination": "localSettings" },
        { "type": "setMode", "mode": "acceptEdits", "destination": "session" },
    ]);
    let request = json!({
        "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t", "input": { "command": "ls" },
        "permission_suggestions": suggestions, "decision_reason": "a rule says so", "blocked_path": "/w",
    });
    let inputs = [
        prompt(json!("go")),
        init(),
        tool_call("t", "Bash", json!({ "command": "ls" })),
        control_request("r", request),
    ];
    let permission = requested_permission(&convert(&SESSION, &inputs));
    assert_eq!(permission.action, "Run ls");
    let mut metadata = serde_json::to_value(permission.metadata).unwrap();
    let native = metadata.as_object_mut().unwrap().remove("native").unwrap();
    assert_eq!(native["blocked_path"], "/w");
    let expected = json!({
        "call_id": "t", "tool_kind": "command", "input": { "command": "ls" }, "reason": "a rule says so",
        "scopes": ["once", "session", "always"],
    });
    assert_eq!(metadata, expected);
}

#[test]
fn a_permission_request_without_a_call_id_finds_its_call_by_tool_and_input() {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "two" } });
    let inputs = [
        prompt(json!("go")),
        init(),
        tool_call("a", "Bash", json!({ "command": "one" })),
        tool_call("b", "Bash", json!({ "command": "two" })),
        control_request("r", request),
    ];
    let permission = requested_permission(&convert(&SESSION, &inputs));
    assert_eq!(permission.metadata.unwrap().call_id.as_deref(), Some("b"));
}

#[test]
fn a_permission_request_that_comes_before_its_call_starts_the_call() {
    let inputs = [
        prompt(json!("go")),
        init(),
        can_use_tool("Bash", json!({ "command": "ls" })),
        tool_call("t", "Bash", json!({ "command": "ls" })),
        tool_result("t", json!("hi"), false, json!({ "stdout": "hi", "stderr": "" })),
    ];
    let converted = convert(&SESSION, &inputs);
    let expected = [
        "tool_call/assistant Bash {\"command\":\"ls\"}",
        "permission Run ls requested",
        "*permission Run ls denied",
        "tool_result/tool [hi] exit 0",
    ];
    assert_eq!(converted.trace()[3..], expected);
    assert_eq!(requested_permission(&converted).metadata.unwrap().call_id.as_deref(), Some("t"));
}

#[test]
fn a_rejected_interrupt_has_no_effect() {
    let request = json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } });
    let refusal =
        json!({ "type": "control_response", "response": { "subtype": "error", "request_id": "i", "error": "no" } });
    let result = json!({ "type": "result", "subtype": "error_during_execution", "session_id": "s", "errors": ["x"] });
    let inputs = [prompt(json!("go")), init(), sent(request), received(refusal), received(result)];
    let expected = ["error invalid_request: no", "error agent_error: x", "turn.ended failed"];
    assert_eq!(convert(&SESSION, &inputs).trace()[3..], expected);
}

#[test]
fn requests_about_one_call_are_withdrawn_in_a_fixed_order() {
    let ask = |id: &str| {
        let input = json!({ "command": id });
        control_request(
            id,
            json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": input, "tool_use_id": "t" }),
        )
    };
    let mut inputs = vec![prompt(json!("go")), init(), tool_call("t", "Bash", json!({ "command": "ls" }))];
    inputs.extend(["e", "b", "d", "a", "c"].map(ask));
    inputs.push(tool_result("t", json!("done"), false, Value::Null));
    let converted = convert(&SESSION, &inputs);
    let resolved: Vec<String> = converted
        .events
        .iter()
        .filter_map(|event| match &event.data {
            interlingua_schema::EventData::PermissionResolved(permission) => Some(permission.permission_id.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(resolved, ["a", "b", "c", "d", "e"]);
}

use serde_json::{Value, json};

use super::{SESSION, Step, calls, init, play, recv, results, send, user};

fn asks(id: &str, request: Value) -> Step {
    recv(json!({ "type": "control_request", "request_id": id, "request": request }))
}

fn answers(id: &str, response: Value) -> Step {
    send(
        json!({ "type": "control_response", "response": { "subtype": "success", "request_id": id, "response": response } }),
    )
}

fn can_use(tool: &str, input: Value) -> Step {
    asks("r", json!({ "subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "t" }))
}

/// What becomes of a request after a call, with this answer.
fn asked(tool: &str, call: Value, input: Value, answer: Step) -> Vec<String> {
    let steps = [user(json!("go")), init(), calls("t", tool, call), can_use(tool, input), answer];
    play(&SESSION, &steps).trace()[4..].to_vec()
}

fn bash(answer: Step) -> String {
    asked("Bash", json!({ "command": "ls" }), json!({ "command": "ls" }), answer)[1].clone()
}

#[test]
fn a_permission_is_given_once_or_always_or_refused() {
    assert_eq!(
        bash(answers("r", json!({ "behavior": "allow", "updatedInput": {} }))),
        "*permission Run ls approved once"
    );
    let kept_in = |destination: &str| {
        let rules = json!([{ "type": "addRules", "rules": [], "behavior": "allow", "destination": destination }]);
        bash(answers("r", json!({ "behavior": "allow", "updatedInput": {}, "updatedPermissions": rules })))
    };
    assert_eq!(kept_in("session"), "*permission Run ls approved session");
    assert_eq!(kept_in("localSettings"), "*permission Run ls approved always");
    assert_eq!(bash(answers("r", json!({ "behavior": "deny", "message": "no" }))), "*permission Run ls denied");
}

#[test]
fn what_is_not_clearly_a_yes_is_a_no() {
    assert_eq!(bash(answers("r", json!({ "behavior": "perhaps" }))), "*permission Run ls denied");
    let error = json!({ "type": "control_response", "response": { "subtype": "error", "request_id": "r", "error": "host crashed" } });
    assert_eq!(bash(send(error)), "*permission Run ls denied");
    assert_eq!(bash(recv(json!({ "type": "control_cancel_request", "request_id": "r" }))), "*permission Run ls denied");
    assert_eq!(bash(Step::Close), "*permission Run ls denied");
    let settled = results("t", json!("failed"), true, Value::Null);
    assert_eq!(bash(settled), "*permission Run ls denied");
}

#[test]
fn a_refusal_may_stop_the_turn() {
    let denied = answers("r", json!({ "behavior": "deny", "message": "stop", "interrupt": true }));
    let result = json!({ "type": "result", "subtype": "error_during_execution", "session_id": "s", "errors": ["x"] });
    let steps =
        [user(json!("go")), init(), calls("t", "Bash", json!({})), can_use("Bash", json!({})), denied, recv(result)];
    assert_eq!(play(&SESSION, &steps).trace().last().unwrap(), "turn.ended interrupted");
}

#[test]
fn each_question_of_a_request_gets_its_answer_by_its_text() {
    let questions = json!([
        { "question": "Which?", "header": "W", "options": [{ "label": "A", "description": "a" }, { "label": "B", "description": "b" }], "multiSelect": false },
        { "question": "What else?", "header": "E", "options": [], "multiSelect": true },
    ]);
    let input = json!({ "questions": questions });
    let answer = answers(
        "r",
        json!({ "behavior": "allow", "updatedInput": { "questions": questions, "answers": { "What else?": ["x", "y"], "Which?": "A" } } }),
    );
    let expected = [
        "question \"Which?\" requested -",
        "question \"What else?\" requested -",
        "*question \"Which?\" answered A",
        "*question \"What else?\" answered x, y",
    ];
    assert_eq!(asked("AskUserQuestion", input.clone(), input.clone(), answer), expected);
    let none = answers("r", json!({ "behavior": "allow", "updatedInput": { "questions": questions } }));
    let expected = ["*question \"Which?\" rejected -", "*question \"What else?\" rejected -"];
    assert_eq!(asked("AskUserQuestion", input.clone(), input.clone(), none)[2..], expected);
    let dismissed = answers("r", json!({ "behavior": "deny", "message": "dismissed" }));
    assert_eq!(asked("AskUserQuestion", input.clone(), input, dismissed)[2], "*question \"Which?\" rejected dismissed");
}

#[test]
fn a_plan_is_a_question_even_if_only_the_call_has_it() {
    let yes = || answers("r", json!({ "behavior": "allow", "updatedInput": {} }));
    let plan = json!({ "plan": "1. Fix" });
    let expected = ["question \"1. Fix\" requested -", "*question \"1. Fix\" answered approve"];
    assert_eq!(asked("ExitPlanMode", json!({}), plan.clone(), yes()), expected);
    assert_eq!(asked("ExitPlanMode", plan.clone(), json!({}), yes()), expected);
    let no = answers("r", json!({ "behavior": "deny", "message": "add a test" }));
    assert_eq!(asked("ExitPlanMode", plan.clone(), plan, no)[1], "*question \"1. Fix\" rejected add a test");
}

#[test]
fn an_elicitation_is_a_question() {
    let request = json!({ "subtype": "elicitation", "mcp_server_name": "ask", "message": "Name?", "mode": "form", "requested_schema": { "properties": { "name": { "type": "string" } } } });
    let answered = |response: Value| {
        let steps = [user(json!("go")), init(), asks("r", request.clone()), answers("r", response)];
        play(&SESSION, &steps).trace()[4].clone()
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
fn a_hook_of_the_host_is_a_status_until_it_is_answered() {
    let request = json!({ "subtype": "hook_callback", "callback_id": "hook_0", "input": { "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {} }, "tool_use_id": "t" });
    let steps = [user(json!("go")), init(), asks("h", request), answers("h", json!({ "continue": true }))];
    assert_eq!(play(&SESSION, &steps).trace()[3], "*status hook: PreToolUse: hook_0");
}

#[test]
fn a_refused_request_of_the_host_is_an_error_beside_the_turn() {
    let refusal = json!({ "type": "control_response", "response": { "subtype": "error", "request_id": "c", "error": "Unsupported" } });
    let steps = [
        user(json!("one")),
        init(),
        super::says("m", "1"),
        super::done("1"),
        user(json!("two")),
        recv(refusal),
        init(),
        super::says("n", "2"),
        super::done("2"),
    ];
    let expected = [
        "error invalid_request: Unsupported",
        "turn.started",
        "*message/user two",
        "message/assistant 2",
        "turn.ended completed",
    ];
    assert_eq!(play(&SESSION, &steps).trace()[5..], expected);
}

#[test]
fn a_model_that_the_host_sets_is_told_once() {
    let ask = json!({ "type": "control_request", "request_id": "c", "request": { "subtype": "set_model", "model": "sonnet" } });
    let answer = json!({ "type": "control_response", "response": { "subtype": "success", "request_id": "c", "response": { "model": "sonnet" } } });
    let next =
        json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "sonnet", "permissionMode": "plan" });
    let steps = [user(json!("a")), init(), super::done(""), send(ask), recv(answer), user(json!("b")), recv(next)];
    let expected = [
        "status model_changed: Model changed from opus to sonnet {}",
        "turn.started",
        "*message/user b",
        "status mode_changed: Mode changed from default to plan {}",
    ];
    assert_eq!(play(&SESSION, &steps).trace()[4..], expected);
}

fn permission(played: &super::Played) -> interlingua_schema::Permission {
    let asked = played.events.iter().find_map(|event| match &event.data {
        interlingua_schema::EventData::PermissionRequested(asked) => Some(asked.clone()),
        _ => None,
    });
    asked.unwrap()
}

#[test]
fn a_permission_says_what_it_is_about_and_how_it_may_be_given() {
    let suggestions = json!([
        { "type": "addRules", "rules": [], "behavior": "allow", "destination": "localSettings" },
        { "type": "setMode", "mode": "acceptEdits", "destination": "session" },
    ]);
    let request = json!({
        "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t", "input": { "command": "ls" },
        "permission_suggestions": suggestions, "decision_reason": "a rule says so", "blocked_path": "/w",
    });
    let steps = [user(json!("go")), init(), calls("t", "Bash", json!({ "command": "ls" })), asks("r", request)];
    let asked = permission(&play(&SESSION, &steps));
    assert_eq!(asked.action, "Run ls");
    let mut metadata = serde_json::to_value(asked.metadata).unwrap();
    let native = metadata.as_object_mut().unwrap().remove("native").unwrap();
    assert_eq!(native["blocked_path"], "/w");
    let expected = json!({
        "call_id": "t", "tool_kind": "command", "input": { "command": "ls" }, "reason": "a rule says so",
        "scopes": ["once", "session", "always"],
    });
    assert_eq!(metadata, expected);
}

#[test]
fn a_permission_without_a_tool_id_finds_its_call_by_tool_and_input() {
    let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "two" } });
    let steps = [
        user(json!("go")),
        init(),
        calls("a", "Bash", json!({ "command": "one" })),
        calls("b", "Bash", json!({ "command": "two" })),
        asks("r", request),
    ];
    let asked = permission(&play(&SESSION, &steps));
    assert_eq!(asked.metadata.unwrap().call_id.as_deref(), Some("b"));
}

#[test]
fn a_permission_that_comes_before_its_call_tells_the_call() {
    let steps = [
        user(json!("go")),
        init(),
        can_use("Bash", json!({ "command": "ls" })),
        calls("t", "Bash", json!({ "command": "ls" })),
        results("t", json!("hi"), false, json!({ "stdout": "hi", "stderr": "" })),
    ];
    let played = play(&SESSION, &steps);
    let expected = [
        "tool_call/assistant Bash {\"command\":\"ls\"}",
        "permission Run ls requested",
        "*permission Run ls denied",
        "tool_result/tool [hi] exit 0",
    ];
    assert_eq!(played.trace()[3..], expected);
    assert_eq!(permission(&played).metadata.unwrap().call_id.as_deref(), Some("t"));
}

#[test]
fn an_interrupt_that_is_refused_did_not_happen() {
    let ask = json!({ "type": "control_request", "request_id": "i", "request": { "subtype": "interrupt" } });
    let refusal =
        json!({ "type": "control_response", "response": { "subtype": "error", "request_id": "i", "error": "no" } });
    let result = json!({ "type": "result", "subtype": "error_during_execution", "session_id": "s", "errors": ["x"] });
    let steps = [user(json!("go")), init(), send(ask), recv(refusal), recv(result)];
    let expected = ["error invalid_request: no", "error agent_error: x", "turn.ended failed"];
    assert_eq!(play(&SESSION, &steps).trace()[3..], expected);
}

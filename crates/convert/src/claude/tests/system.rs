use serde_json::{Value, json};

use super::{ONE_SHOT, SESSION, convert, init, prompt, received, success, text_message};

/// The trace of one line in a turn.
fn trace_line(line: Value) -> Vec<String> {
    let mut line = line;
    line["session_id"] = json!("s");
    convert(&ONE_SHOT, &[init(), received(line)]).trace()[3..].to_vec()
}

fn trace_system(subtype: &str, more: Value) -> Vec<String> {
    let mut line = json!({ "type": "system", "subtype": subtype });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    trace_line(line)
}

#[test]
fn tasks_hooks_modes_and_models_are_status_items() {
    assert_eq!(
        trace_system("task_started", json!({ "task_id": "b", "description": "slow" })),
        ["status task: Task started: slow {}"]
    );
    assert_eq!(
        trace_system("task_progress", json!({ "task_id": "b", "description": "Running" })),
        ["status task: Task running: Running {}"]
    );
    assert_eq!(
        trace_system("task_updated", json!({ "task_id": "b", "patch": { "status": "killed" } })),
        ["status task: Task stopped {}"]
    );
    assert_eq!(
        trace_system("task_notification", json!({ "task_id": "b", "status": "failed", "summary": "no" })),
        ["status task: Task failed: no {}"]
    );
    // An unknown state in a notification fails the task; in an update the task counts as running.
    assert_eq!(
        trace_system("task_notification", json!({ "task_id": "b", "status": "vanished" })),
        ["status task: Task failed {}", "*agent.unparsed"]
    );
    assert_eq!(
        trace_system("task_updated", json!({ "task_id": "b", "patch": { "status": "dreaming" } })),
        ["status task: Task running {}", "*agent.unparsed"]
    );
    assert_eq!(
        trace_system(
            "hook_response",
            json!({ "hook_id": "h", "hook_name": "Stop", "outcome": "error", "exit_code": 2 })
        ),
        ["status! hook: Stop"]
    );
    assert_eq!(
        trace_system("hook_response", json!({ "hook_id": "h", "outcome": "who knows" })),
        ["status! hook: ", "*agent.unparsed"]
    );
    assert_eq!(trace_system("hook_response", json!({ "hook_id": "h", "exit_code": 0 })), ["status hook: "]);
    assert_eq!(
        trace_system("status", json!({ "status": null, "permissionMode": "bypassPermissions" })),
        ["status mode_changed: Mode changed from default to bypass {}"]
    );
    assert_eq!(
        trace_system("model_fallback", json!({ "original_model": "a", "fallback_model": "b" })),
        ["status model_changed: Model changed from a to b {}"]
    );
    assert_eq!(
        trace_system("model_refusal_fallback", json!({ "content": "Switched.", "fallback_model": "b" })),
        ["status model_changed: Model changed to b {} Switched."]
    );
}

#[test]
fn other_messages_are_notices_system_messages_or_errors() {
    assert_eq!(
        trace_system("informational", json!({ "content": "Note.", "level": "warning" })),
        ["status notice: Note."]
    );
    assert_eq!(trace_system("notification", json!({ "text": "Look.", "key": "k" })), ["status notice: Look."]);
    assert_eq!(trace_system("local_command_output", json!({ "content": "Done." })), ["system/system Done."]);
    assert_eq!(
        trace_system("permission_denied", json!({ "tool_name": "Bash", "message": "no" })),
        ["status notice: permission denied: Bash: no"]
    );
    assert_eq!(
        trace_line(json!({ "type": "prompt_suggestion", "suggestion": "go on" })),
        ["status notice: suggested prompt: go on"]
    );
    assert_eq!(
        trace_line(
            json!({ "type": "rate_limit_event", "rate_limit_info": { "status": "allowed_warning", "rateLimitType": "five_hour", "resetsAt": 86400 } })
        ),
        ["status rate_limit: Rate limit (5h): warning, resets at 1970-01-02T00:00:00.000Z {}"]
    );
    assert_eq!(
        trace_line(json!({ "type": "auth_status", "isAuthenticating": false, "error": "expired" })),
        ["error auth: expired"]
    );
    let retry = json!({ "type": "tool_progress", "tool_use_id": "t", "subagent_retry": { "attempt": 1, "max_retries": 3, "error_category": "overloaded" } });
    assert_eq!(trace_line(retry), ["status retry: Retry 1 of 3: overloaded {}"]);
}

#[test]
fn a_compaction_is_one_item_after_the_command_that_requested_it() {
    let status = |more: Value| {
        let mut line = json!({ "type": "system", "subtype": "status", "session_id": "s", "status": null });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        received(line)
    };
    let boundary = json!({ "type": "system", "subtype": "compact_boundary", "session_id": "s", "compact_metadata": { "trigger": "manual", "pre_tokens": 9, "post_tokens": 3 } });
    let first_inputs = || {
        vec![
            prompt(json!("a")),
            init(),
            text_message("m", "A"),
            success("A"),
            prompt(json!("/compact")),
            status(json!({ "status": "compacting" })),
        ]
    };
    let mut inputs = first_inputs();
    inputs.extend([status(json!({ "compact_result": "success" })), init(), received(boundary), success("")]);
    let expected = [
        "*turn.started",
        "*message/user /compact",
        "status compaction: Compacted from 9 to 3 tokens {}",
        "turn.ended completed",
    ];
    assert_eq!(convert(&SESSION, &inputs).trace()[5..], expected);

    let mut inputs = first_inputs();
    inputs.extend([status(json!({ "compact_result": "success" })), success("")]);
    assert_eq!(convert(&SESSION, &inputs).trace()[7], "status compaction: Compacted {}");

    let mut inputs = first_inputs();
    inputs.extend([status(json!({ "compact_result": "perhaps" })), success("")]);
    assert_eq!(convert(&SESSION, &inputs).trace()[7], "status! compaction: Compaction failed: perhaps {}");

    let mut inputs = first_inputs();
    inputs.extend([status(json!({ "compact_result": "failed", "compact_error": "too short" })), success("")]);
    assert_eq!(convert(&SESSION, &inputs).trace()[7], "status! compaction: Compaction failed: too short {}");
}

#[test]
fn a_hook_before_the_session_is_shown_after_its_start() {
    let started = json!({ "type": "system", "subtype": "hook_started", "session_id": "s", "hook_id": "h", "hook_name": "SessionStart" });
    let response = json!({ "type": "system", "subtype": "hook_response", "session_id": "s", "hook_id": "h", "hook_name": "SessionStart", "outcome": "success", "output": "ok" });
    let converted = convert(&ONE_SHOT, &[received(started), received(response), init()]);
    assert_eq!(
        converted.trace(),
        ["session.started", "status hook: SessionStart ok", "turn.started", "*message/user go"]
    );
}

#[test]
fn the_summary_of_a_compaction_is_part_of_it_whether_or_not_it_is_marked_as_synthetic() {
    let boundary = || {
        received(
            json!({ "type": "system", "subtype": "compact_boundary", "session_id": "s", "compact_metadata": { "trigger": "auto", "pre_tokens": 9 } }),
        )
    };
    let summary = |more: Value| {
        let text = "This session is being continued from a previous conversation that ran out of context. The conversation is summarized below:\nWe said hi.\nPlease continue the conversation from where we left it off without asking the user any further questions.";
        let mut line = json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": text } });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        received(line)
    };
    let orders = [
        vec![boundary(), summary(json!({}))],
        vec![boundary(), summary(json!({ "isSynthetic": true }))],
        vec![summary(json!({})), boundary()],
    ];
    for order in orders {
        let mut inputs = vec![init()];
        inputs.extend(order);
        inputs.extend([text_message("m", "a"), success("a")]);
        let converted = convert(&ONE_SHOT, &inputs);
        let expected = ["status compaction: Compacted from 9 tokens {}", "message/assistant a", "turn.ended completed"];
        assert_eq!(converted.trace()[3..], expected);
        let item = converted.items().nth(1).unwrap();
        let interlingua_schema::ContentPart::Json { json } = &item.content[1] else { panic!() };
        assert_eq!(*json, json!({ "trigger": "auto", "tokens_before": 9, "summary": "We said hi." }));
    }
    let alone = convert(&ONE_SHOT, &[init(), boundary(), text_message("m", "a"), success("a")]);
    assert_eq!(alone.trace()[3], "status compaction: Compacted from 9 tokens {}");
}

use serde_json::{Value, json};

use super::{ONE_SHOT, SESSION, done, init, play, recv, says, user};

/// What one line in a turn becomes.
fn becomes(line: Value) -> Vec<String> {
    let mut line = line;
    line["session_id"] = json!("s");
    play(&ONE_SHOT, &[init(), recv(line)]).trace()[3..].to_vec()
}

fn system(subtype: &str, more: Value) -> Vec<String> {
    let mut line = json!({ "type": "system", "subtype": subtype });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    becomes(line)
}

#[test]
fn tasks_hooks_modes_and_models_are_status_items() {
    assert_eq!(
        system("task_started", json!({ "task_id": "b", "description": "slow" })),
        ["status task: started: slow {}"]
    );
    assert_eq!(
        system("task_progress", json!({ "task_id": "b", "description": "Running" })),
        ["status task: progress: Running {}"]
    );
    assert_eq!(
        system("task_updated", json!({ "task_id": "b", "patch": { "status": "killed" } })),
        ["status task: killed {}"]
    );
    assert_eq!(
        system("task_notification", json!({ "task_id": "b", "status": "failed", "summary": "no" })),
        ["status task: failed: no {}"]
    );
    assert_eq!(system("background_tasks_changed", json!({ "tasks": [] })), ["status task: 0 in the background {}"]);
    assert_eq!(
        system("hook_response", json!({ "hook_id": "h", "hook_name": "Stop", "outcome": "error", "exit_code": 2 })),
        ["status! hook: Stop {}"]
    );
    assert_eq!(system("status", json!({ "status": null, "permissionMode": "plan" })), ["status mode_changed: plan"]);
    assert_eq!(
        system("model_fallback", json!({ "original_model": "a", "fallback_model": "b" })),
        ["status model_changed: a → b {}"]
    );
    assert_eq!(
        system("model_refusal_fallback", json!({ "content": "Switched.", "fallback_model": "b" })),
        ["status model_changed: Switched. {}"]
    );
}

#[test]
fn news_is_a_notice() {
    assert_eq!(system("informational", json!({ "content": "Note.", "level": "warning" })), ["status notice: Note. {}"]);
    assert_eq!(system("notification", json!({ "text": "Look.", "key": "k" })), ["status notice: Look. {}"]);
    assert_eq!(system("local_command_output", json!({ "content": "Done." })), ["system/system Done."]);
    assert_eq!(
        system("permission_denied", json!({ "tool_name": "Bash", "message": "no" })),
        ["status notice: permission denied: Bash: no {}"]
    );
    assert_eq!(
        becomes(json!({ "type": "prompt_suggestion", "suggestion": "go on" })),
        ["status notice: suggested prompt: go on"]
    );
    assert_eq!(
        becomes(
            json!({ "type": "rate_limit_event", "rate_limit_info": { "status": "rejected", "rateLimitType": "five_hour" } })
        ),
        ["status rate_limit: five_hour: rejected {}"]
    );
    assert_eq!(
        becomes(json!({ "type": "auth_status", "isAuthenticating": false, "error": "expired" })),
        ["error auth: expired"]
    );
    let retry = json!({ "type": "tool_progress", "tool_use_id": "t", "subagent_retry": { "attempt": 1, "max_retries": 3, "error_category": "overloaded" } });
    assert_eq!(becomes(retry), ["status retry: attempt 1 of 3: overloaded {}"]);
}

#[test]
fn a_compaction_is_one_item_after_the_command_that_asked_for_it() {
    let status = |more: Value| {
        let mut line = json!({ "type": "system", "subtype": "status", "session_id": "s", "status": null });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        recv(line)
    };
    let boundary = json!({ "type": "system", "subtype": "compact_boundary", "session_id": "s", "compact_metadata": { "trigger": "manual", "pre_tokens": 9, "post_tokens": 3 } });
    let begin = || {
        vec![
            user(json!("a")),
            init(),
            says("m", "A"),
            done("A"),
            user(json!("/compact")),
            status(json!({ "status": "compacting" })),
        ]
    };
    let mut steps = begin();
    steps.extend([status(json!({ "compact_result": "success" })), init(), recv(boundary), done("")]);
    let expected =
        ["*turn.started", "*message/user /compact", "status compaction: 9 → 3 tokens {}", "turn.ended completed"];
    assert_eq!(play(&SESSION, &steps).trace()[5..], expected);

    let mut steps = begin();
    steps.extend([status(json!({ "compact_result": "success" })), done("")]);
    assert_eq!(play(&SESSION, &steps).trace()[7], "status compaction: -");

    let mut steps = begin();
    steps.extend([status(json!({ "compact_result": "failed", "compact_error": "too short" })), done("")]);
    assert_eq!(play(&SESSION, &steps).trace()[7], "status! compaction: too short");
}

#[test]
fn a_hook_before_the_session_waits_for_it() {
    let started = json!({ "type": "system", "subtype": "hook_started", "session_id": "s", "hook_id": "h", "hook_name": "SessionStart" });
    let response = json!({ "type": "system", "subtype": "hook_response", "session_id": "s", "hook_id": "h", "hook_name": "SessionStart", "outcome": "success", "output": "ok" });
    let played = play(&ONE_SHOT, &[recv(started), recv(response), init()]);
    assert_eq!(
        played.trace(),
        ["session.started", "status hook: SessionStart {} ok", "turn.started", "*message/user go"]
    );
}

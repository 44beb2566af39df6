//! Turns: prompts, errors, settings, reviews and exits.

use interlingua_schema::{ItemStatus, Role};
use serde_json::{Value, json};

use super::harness::Harness;
use crate::Input;

#[test]
fn a_refused_prompt_is_not_shown() {
    let mut codex = Harness::in_turn();
    let input = json!([{"type": "text", "text": "no"}]);
    codex.send(json!({"id": 4, "method": "turn/steer", "params": {"threadId": "t", "input": input}}));
    codex.receive(json!({"id": 4, "error": {"code": -32600, "message": "expected another turn"}}));
    codex.complete_turn("1", "completed");
    assert_eq!(codex.texts(), ["hello"]);
    assert_eq!(codex.data_of("error")[0]["code"], "invalid_request");
    assert_eq!(codex.data_of("turn.ended")[0]["status"], "completed");
}

#[test]
fn a_prompt_into_a_running_turn_joins_it_even_if_another_turn_is_announced() {
    let mut codex = Harness::in_turn();
    let input = json!([{"type": "text", "text": "more"}]);
    codex.send(json!({"id": 4, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
    codex.receive(json!({"id": 4, "result": {"turn": {"id": "2"}}}));
    codex.notify("turn/started", json!({"turn": {"id": "2"}}));
    codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": "done"}));
    codex.complete_turn("1", "completed");
    assert_eq!(codex.texts(), ["hello", "done", "more"]);
    assert_eq!(codex.data_of("turn.ended").len(), 1);
}

#[test]
fn a_prompt_without_an_echo_has_the_request_as_raw() {
    let mut codex = Harness::with_raw();
    codex.send(json!({"id": 2, "method": "thread/start", "params": {}}));
    codex.receive(json!({"id": 2, "result": {"thread": {"id": "t"}}}));
    let input = json!([{"type": "text", "text": "hello"}]);
    let sent = json!({"id": 3, "method": "turn/start", "params": {"threadId": "t", "input": input}});
    codex.send(sent.clone());
    codex.receive(json!({"id": 3, "result": {"turn": {"id": "1"}}}));
    codex.notify("turn/started", json!({"turn": {"id": "1"}}));
    codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": "hi"}));
    let events = codex.events_json();
    let message = events.iter().find(|event| event["type"] == "item.completed").unwrap();
    assert_eq!((&message["data"]["item"]["role"], &message["raw"]), (&json!("user"), &sent));
}

#[test]
fn a_message_that_a_retry_replaces_is_failed() {
    let mut codex = Harness::in_turn();
    codex.start_item(json!({"type": "agentMessage", "id": "m1", "text": ""}));
    codex.notify("item/agentMessage/delta", json!({"itemId": "m1", "delta": "par"}));
    codex.notify("error", json!({"willRetry": true, "error": {"message": "Reconnecting... 1/2"}}));
    codex.complete_item(json!({"type": "agentMessage", "id": "m2", "text": "whole"}));
    codex.complete_turn("1", "completed");
    let items = codex.items();
    assert_eq!((items[1].2.clone(), items[1].3.as_str()), (ItemStatus::Failed, "par"));
    assert_eq!(items[2].3, "retry Retry 1 of 2: Reconnecting...");
    assert_eq!((items[3].2.clone(), items[3].3.as_str()), (ItemStatus::Completed, "whole"));
    assert!(codex.data_of("error").is_empty());
}

#[test]
fn an_error_is_reported_once_and_fails_the_turn() {
    let mut codex = Harness::in_turn();
    let error = json!({"message": "no room", "codexErrorInfo": "contextWindowExceeded"});
    codex.notify("error", json!({"willRetry": false, "error": error}));
    codex.notify("turn/completed", json!({"turn": {"id": "1", "status": "failed", "error": error}}));
    assert_eq!(codex.data_of("error").len(), 1);
    assert_eq!(codex.data_of("error")[0]["code"], "context_overflow");
    assert_eq!(codex.data_of("turn.ended")[0]["status"], "failed");
}

#[test]
fn a_second_process_closes_what_the_first_left_open() {
    let mut codex = Harness::in_turn();
    codex.start_item(json!({"type": "agentMessage", "id": "m", "text": ""}));
    codex.send(json!({"id": 20, "method": "initialize", "params": {}}));
    codex.receive(json!({"id": 20, "error": {"code": -32600, "message": "Already initialized"}}));
    assert!(codex.data_of("turn.ended").is_empty());
    codex.send(json!({"id": 1, "method": "initialize", "params": {}}));
    codex.receive(json!({"id": 1, "result": {"userAgent": "x"}}));
    assert_eq!(codex.data_of("turn.ended")[0]["status"], "failed");
    codex.send(json!({"id": 2, "method": "thread/resume", "params": {"threadId": "t"}}));
    let old = json!({"type": "agentMessage", "id": "m", "text": "old"});
    codex.receive(json!({"id": 2, "result": {"thread": {"id": "t", "turns": [{"id": "1", "items": [old]}]}}}));
    assert_eq!(codex.data_of("session.started").len(), 1);
    assert!(!codex.texts().contains(&"old".to_owned()));
}

#[test]
fn a_prompt_sent_before_the_agent_exits_is_shown() {
    let mut codex = Harness::in_turn();
    codex.complete_turn("1", "completed");
    let input = json!([{"type": "text", "text": "are you there"}]);
    codex.send(json!({"id": 4, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
    codex.push(Input::Exit { code: Some(1) });
    assert_eq!(codex.texts().last().unwrap(), "are you there");
    assert_eq!(codex.data_of("turn.ended").last().unwrap()["status"], "failed");
}

#[test]
fn rate_limits_are_reported_when_they_change() {
    let mut codex = Harness::in_turn();
    let limits = |used: Value| json!({"rateLimits": {"limitId": "codex", "primary": used}});
    for used in [json!(null), json!({"usedPercent": 5}), json!({"usedPercent": 5}), json!({"usedPercent": 6})] {
        codex.notify("account/rateLimits/updated", limits(used));
    }
    assert_eq!(
        codex.texts()[1..],
        ["rate_limit Rate limit: allowed|primary 5% used", "rate_limit Rate limit: allowed|primary 6% used"]
    );
}

#[test]
fn a_review_is_a_mode_around_ordinary_messages() {
    let mut codex = Harness::in_turn();
    codex.complete_turn("1", "completed");
    codex.send(json!({"id": 4, "method": "review/start", "params": {"threadId": "t"}}));
    let message = json!({"type": "userMessage", "id": "r", "content": [{"type": "text", "text": "current changes"}]});
    codex.receive(json!({"id": 4, "result": {"turn": {"id": "r", "items": [message]}, "reviewThreadId": "t"}}));
    let review = |kind: &str, text: &str| json!({"turnId": "r", "item": {"type": kind, "id": kind, "review": text}});
    codex.notify("item/started", review("enteredReviewMode", "current changes"));
    codex.notify("item/completed", review("enteredReviewMode", "current changes"));
    codex.notify("turn/started", json!({"turn": {"id": "other", "rootTurnId": "r"}}));
    codex.notify("item/started", review("exitedReviewMode", "all fine"));
    codex.notify("item/completed", review("exitedReviewMode", "all fine"));
    codex.complete_turn("r", "completed");
    assert_eq!(
        codex.texts()[1..],
        [
            "mode_changed Mode changed from default to review",
            "mode_changed Mode changed from review to default",
            "current changes",
            "all fine"
        ]
    );
    let turns: Vec<Value> = codex.data_of("turn.started").into_iter().map(|data| data["turn_id"].clone()).collect();
    assert_eq!(turns, ["1", "r"]);
}

#[test]
fn a_review_leaves_no_empty_message() {
    for has_text in [false, true] {
        let mut codex = Harness::in_turn();
        codex.complete_item(json!({"type": "enteredReviewMode", "id": "1", "review": "current changes"}));
        // The model answers in JSON. Codex starts an item for it but never completes the item.
        codex.start_item(json!({"type": "agentMessage", "id": "json", "text": ""}));
        if has_text {
            codex.notify("item/agentMessage/delta", json!({"itemId": "json", "delta": "I look"}));
            codex.complete_item(json!({"type": "agentMessage", "id": "json", "text": "I look"}));
        }
        codex.complete_item(json!({"type": "exitedReviewMode", "id": "1", "review": "all fine"}));
        codex.start_item(json!({"type": "agentMessage", "id": "found", "text": "all fine"}));
        codex.complete_item(json!({"type": "agentMessage", "id": "found", "text": "all fine"}));
        codex.complete_turn("1", "completed");
        let messages: Vec<(ItemStatus, String)> = codex
            .items()
            .into_iter()
            .filter(|item| item.1 == Some(Role::Assistant))
            .map(|item| (item.2, item.3))
            .collect();
        let mut expected = vec![(ItemStatus::Completed, "all fine".to_owned())];
        if has_text {
            expected.insert(0, (ItemStatus::Completed, "I look".to_owned()));
        }
        assert_eq!(messages, expected);
        assert_eq!(codex.stats().unaccounted, 0);
    }
}

#[test]
fn a_turn_with_an_unknown_outcome_is_failed() {
    for turn in [
        json!(null),
        json!({"status": "completed"}),
        json!("completed"),
        json!({"id": "1"}),
        json!({"id": "1", "status": "paused"}),
        json!({"id": "1", "status": "inProgress"}),
    ] {
        let mut codex = Harness::in_turn();
        codex.notify("turn/completed", json!({"turn": turn}));
        let ended = codex.data_of("turn.ended");
        assert_eq!(ended.len(), 1, "{turn}");
        assert_eq!((&ended[0]["status"], &ended[0]["turn_id"]), (&json!("failed"), &json!("1")), "{turn}");
        // The thread continues.
        codex.prompt(4, "2", "again");
        codex.complete_turn("2", "completed");
        assert_eq!(codex.data_of("turn.ended")[1]["metadata"], json!({"stop_reason": "end_turn"}));
    }
}

#[test]
fn a_retry_has_its_number_and_reason() {
    let mut codex = Harness::in_turn();
    let info = json!({"responseStreamDisconnected": {"httpStatusCode": 429}});
    let details = "exceeded retry limit, last status: 429 Too Many Requests";
    for error in [
        json!({"message": "Reconnecting... 3/5", "codexErrorInfo": info, "additionalDetails": details}),
        json!({"message": "Reconnecting... waiting for network"}),
        json!({"message": "Reconnecting... 5/5 (stream disconnected before completion: closed)"}),
    ] {
        codex.notify("error", json!({"willRetry": true, "error": error}));
    }
    let retries: Vec<Value> =
        codex.data_of("item.completed")[1..].iter().map(|data| data["item"]["content"][1]["json"].clone()).collect();
    assert_eq!(
        retries,
        [
            json!({"attempt": 3, "max_attempts": 5, "reason": details, "code": "rate_limited"}),
            json!({"attempt": 4, "reason": "Reconnecting... waiting for network", "code": "connection"}),
            json!({"attempt": 5, "max_attempts": 5, "reason": "stream disconnected before completion: closed",
                "code": "connection"}),
        ]
    );
}

#[test]
fn an_error_has_its_native_type_and_status() {
    let mut codex = Harness::in_turn();
    let info = json!({"httpConnectionFailed": {"httpStatusCode": 401}});
    codex.notify("error", json!({"error": {"message": "no", "codexErrorInfo": info, "additionalDetails": "why"}}));
    let body = r#"{"error": {"message": "bad", "type": "invalid_request_error"}}"#;
    codex.notify("error", json!({"error": {"message": body, "codexErrorInfo": "other"}}));
    let message = "unexpected status 503 Service Unavailable: no";
    codex.notify("error", json!({"error": {"message": message, "codexErrorInfo": "other"}}));
    let details: Vec<Value> = codex.data_of("error").into_iter().map(|data| data["details"].clone()).collect();
    assert_eq!(
        details,
        [
            json!({"status": 401, "type": "httpConnectionFailed", "native": {"additionalDetails": "why"}}),
            json!({"type": "invalid_request_error"}),
            json!({"status": 503}),
        ]
    );
}

#[test]
fn a_response_cut_at_the_token_limit_has_its_stop_reason() {
    let mut codex = Harness::in_turn();
    let message = "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens";
    codex.notify("error", json!({"willRetry": false, "error": {"message": message}}));
    codex.complete_turn("1", "failed");
    assert_eq!(codex.data_of("turn.ended")[0]["metadata"]["stop_reason"], "max_tokens");
}

#[test]
fn a_compaction_is_one_status_item() {
    let item = json!({"type": "contextCompaction", "id": "c"});
    for (is_requested, succeeds) in [(true, true), (false, true), (true, false)] {
        let mut codex = Harness::in_turn();
        if is_requested {
            codex.complete_turn("1", "completed");
            codex.send(json!({"id": 4, "method": "thread/compact/start", "params": {"threadId": "t"}}));
            codex.receive(json!({"id": 4, "result": {}}));
            codex.notify("turn/started", json!({"turn": {"id": "2"}}));
        }
        codex.start_item(item.clone());
        if succeeds {
            codex.complete_item(item.clone());
        } else {
            codex.notify("error", json!({"willRetry": false, "error": {"message": "no room"}}));
        }
        codex.complete_turn("2", if succeeds { "completed" } else { "failed" });
        let data = codex.data_of("item.completed");
        let notes: Vec<&Value> =
            data.iter().map(|data| &data["item"]).filter(|item| item["kind"] == "status").collect();
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0]["content"][1]["json"], json!({"trigger": if is_requested { "manual" } else { "auto" }}));
        let (status, detail) =
            if succeeds { ("completed", "Compacted") } else { ("failed", "Compaction failed: no room") };
        assert_eq!((&notes[0]["status"], &notes[0]["content"][0]["detail"]), (&json!(status), &json!(detail)));
    }
}

#[test]
fn approval_policies_become_universal_permission_modes() {
    for (approval, sandbox, mode) in [
        ("on-request", "workspaceWrite", "default"),
        ("untrusted", "readOnly", "default"),
        ("never", "dangerFullAccess", "bypass"),
        ("never", "workspaceWrite", "never"),
    ] {
        let mut codex = Harness::new();
        codex.send(json!({"id": 2, "method": "thread/start", "params": {}}));
        codex.receive(
            json!({"id": 2, "result": {"thread": {"id": "t", "cliVersion": "0.166.0"}, "model": "m", "cwd": "/w",
            "modelProvider": "p", "approvalPolicy": approval, "sandbox": {"type": sandbox}}}),
        );
        let native = json!({"approval_policy": approval, "model_provider": "p", "sandbox": sandbox});
        let expected = json!({"agent": "codex", "agent_version": "0.166.0", "model": "m", "cwd": "/w",
            "permission_mode": mode, "native": native});
        assert_eq!(codex.data_of("session.started")[0]["metadata"], expected);
    }
}

#[test]
fn the_limit_with_the_highest_usage_is_reported() {
    let mut codex = Harness::in_turn();
    let primary = json!({"usedPercent": 5, "windowDurationMins": 300, "resetsAt": 1_794_815_547});
    let secondary = json!({"usedPercent": 100, "windowDurationMins": 10080});
    codex.notify("account/rateLimits/updated", json!({"rateLimits": {"primary": primary}}));
    codex.notify("account/rateLimits/updated", json!({"rateLimits": {"primary": primary, "secondary": secondary}}));
    let limits: Vec<Value> =
        codex.data_of("item.completed")[1..].iter().map(|data| data["item"]["content"][1]["json"].clone()).collect();
    let resets_at = "2026-11-16T07:52:27.000Z";
    let near = json!({"status": "allowed", "window": "5h", "resets_at": resets_at});
    assert_eq!(limits, [near, json!({"status": "rejected", "window": "7d"})]);
}

#[test]
fn changed_settings_of_a_turn_are_reported_once() {
    let run_turn = |id: u64, codex: &mut Harness, has_settings_event: bool| {
        let input = json!([{"type": "text", "text": "go"}]);
        let mode = json!({"mode": "plan", "settings": {"model": "other"}});
        let params = json!({"threadId": "t", "input": input, "collaborationMode": mode});
        codex.send(json!({"id": id, "method": "turn/start", "params": params}));
        codex.receive(json!({"id": id, "result": {"turn": {"id": id.to_string()}}}));
        if has_settings_event {
            let settings = json!({"model": "other", "collaborationMode": mode});
            codex.notify("thread/settings/updated", json!({"threadSettings": settings}));
        }
        codex.notify("turn/started", json!({"turn": {"id": id.to_string()}}));
        codex.complete_turn(&id.to_string(), "completed");
    };
    for has_settings_event in [false, true] {
        let mut codex = Harness::in_turn();
        codex.complete_turn("1", "completed");
        run_turn(4, &mut codex, has_settings_event);
        run_turn(5, &mut codex, has_settings_event);
        let model = "model_changed Model changed from m to other";
        let mode = "mode_changed Mode changed from default to plan";
        assert_eq!(codex.texts(), ["hello", model, mode, "go", "go"]);
    }
}

#[test]
fn an_exit_during_a_turn_is_an_error_whatever_the_exit_code() {
    for (code, interrupt, status) in [(0, false, "failed"), (1, false, "failed"), (0, true, "interrupted")] {
        let mut codex = Harness::in_turn();
        codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": "I begin"}));
        if interrupt {
            codex.send(json!({"id": 4, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
        }
        codex.push(Input::Exit { code: Some(code) });
        assert_eq!(codex.data_of("turn.ended")[0]["status"], status);
        let errors: Vec<Value> = codex.data_of("error").into_iter().map(|data| data["code"].clone()).collect();
        assert_eq!(errors, if interrupt { vec![] } else { vec![json!("agent_error")] });
    }
}

#[test]
fn a_refused_request_does_not_affect_the_turn() {
    let mut codex = Harness::in_turn();
    codex.send(json!({"id": 4, "method": "turn/steer", "params": {"threadId": "t", "input": []}}));
    codex.receive(json!({"id": 4, "error": {"code": -32600, "message": "no active turn"}}));
    codex.push(Input::Exit { code: Some(-9) });
    let error_codes: Vec<Value> = codex.data_of("error").into_iter().map(|data| data["code"].clone()).collect();
    assert_eq!(error_codes, ["invalid_request", "agent_error"]);
    assert_eq!(codex.data_of("turn.ended")[0]["status"], "failed");
}

#[test]
fn a_refused_interrupt_is_ignored() {
    for (refused, status) in [(1, "interrupted"), (2, "failed")] {
        let mut codex = Harness::in_turn();
        for id in [4, 5] {
            codex.send(json!({"id": id, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
        }
        for id in [4, 5].into_iter().take(refused) {
            codex.receive(json!({"id": id, "error": {"code": -32600, "message": "no"}}));
        }
        codex.notify("error", json!({"willRetry": false, "error": {"message": "boom"}}));
        codex.complete_turn("1", "failed");
        assert_eq!(codex.data_of("turn.ended")[0]["status"], status);
    }
}

#[test]
fn late_payloads_do_not_create_a_turn_to_join() {
    let mut codex = Harness::in_turn();
    codex.complete_turn("1", "completed");
    codex.notify("item/reasoning/summaryTextDelta", json!({"itemId": "r", "summaryIndex": 0, "delta": "late"}));
    codex.prompt(4, "2", "again");
    codex.complete_item(json!({"type": "agentMessage", "id": "m", "text": "yes"}));
    codex.complete_turn("2", "completed");
    let turns: Vec<Value> = codex.data_of("turn.started").into_iter().map(|data| data["turn_id"].clone()).collect();
    assert_eq!(turns, ["1", "2"]);
}

#[test]
fn requests_sent_to_a_new_process_before_it_is_initialized_stay_pending() {
    let mut codex = Harness::in_turn();
    let input = json!([{"type": "text", "text": "lost"}]);
    codex.send(json!({"id": 9, "method": "turn/steer", "params": {"threadId": "t", "input": input}}));
    codex.send(json!({"id": 1, "method": "initialize", "params": {}}));
    codex.send(json!({"id": 2, "method": "thread/start", "params": {}}));
    codex.receive(json!({"id": 1, "result": {"userAgent": "x"}}));
    codex.receive(json!({"id": 2, "result": {"thread": {"id": "t2"}, "model": "other"}}));
    assert_eq!(codex.data_of("session.started")[1]["metadata"]["model"], "other");
    assert_eq!(codex.texts(), ["hello", "lost"]);
}

#[test]
fn a_retry_or_user_message_abandons_reasoning_and_patches() {
    let retry = json!({"willRetry": true, "error": {"message": "Reconnecting... 1/2"}});
    let input = json!({"type": "userMessage", "id": "u9", "content": [{"type": "text", "text": "stop"}]});
    for (method, params) in [("error", retry), ("item/started", json!({"item": input}))] {
        let mut codex = Harness::in_turn();
        codex.notify("item/reasoning/summaryTextDelta", json!({"itemId": "r", "summaryIndex": 0, "delta": "I"}));
        codex.notify("item/reasoning/textDelta", json!({"itemId": "r", "contentIndex": 0, "delta": "raw"}));
        codex.notify("item/fileChange/patchUpdated", json!({"itemId": "p", "changes": []}));
        codex.notify(method, params);
        let abandoned: Vec<_> =
            codex.items()[1..].iter().map(|item| (item.2.clone(), item.3.clone())).take(4).collect();
        let failed = |text: &str| (ItemStatus::Failed, text.to_owned());
        assert_eq!(abandoned, [failed("raw"), failed("I"), failed("fileChange"), failed("")]);
        // The model writes the same patch again.
        codex.start_item(json!({"type": "fileChange", "id": "p", "changes": [], "status": "inProgress"}));
        codex.complete_item(json!({"type": "fileChange", "id": "p", "changes": [], "status": "completed"}));
        codex.complete_turn("1", "completed");
        let last: Vec<_> = codex.items().into_iter().rev().take(2).map(|item| item.2).collect();
        assert_eq!(last, [ItemStatus::Completed, ItemStatus::Completed]);
    }
}

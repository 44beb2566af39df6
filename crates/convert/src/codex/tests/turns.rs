//! Turns: messages of the user, errors, what a thread works with.

use interlingua_schema::{ItemStatus, Role};
use serde_json::{Value, json};

use super::talk::Talk;
use crate::Input;

#[test]
fn a_refused_message_was_never_said() {
    let mut talk = Talk::in_turn();
    let input = json!([{"type": "text", "text": "no"}]);
    talk.host(json!({"id": 4, "method": "turn/steer", "params": {"threadId": "t", "input": input}}));
    talk.agent(json!({"id": 4, "error": {"code": -32600, "message": "expected another turn"}}));
    talk.end_turn("1", "completed");
    assert_eq!(talk.texts(), ["hello"]);
    assert_eq!(talk.of_type("error")[0]["code"], "invalid_request");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "completed");
}

#[test]
fn a_message_into_a_running_turn_belongs_to_it_whatever_is_announced() {
    let mut talk = Talk::in_turn();
    let input = json!([{"type": "text", "text": "more"}]);
    talk.host(json!({"id": 4, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
    talk.agent(json!({"id": 4, "result": {"turn": {"id": "2"}}}));
    talk.tell("turn/started", json!({"turn": {"id": "2"}}));
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "done"}));
    talk.end_turn("1", "completed");
    assert_eq!(talk.texts(), ["hello", "done", "more"]);
    assert_eq!(talk.of_type("turn.ended").len(), 1);
}

#[test]
fn a_message_that_is_not_repeated_has_the_payload_that_it_was_sent_in() {
    let mut talk = Talk::with_raw();
    talk.host(json!({"id": 2, "method": "thread/start", "params": {}}));
    talk.agent(json!({"id": 2, "result": {"thread": {"id": "t"}}}));
    let input = json!([{"type": "text", "text": "hello"}]);
    let sent = json!({"id": 3, "method": "turn/start", "params": {"threadId": "t", "input": input}});
    talk.host(sent.clone());
    talk.agent(json!({"id": 3, "result": {"turn": {"id": "1"}}}));
    talk.tell("turn/started", json!({"turn": {"id": "1"}}));
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "hi"}));
    let events = talk.data();
    let message = events.iter().find(|event| event["type"] == "item.completed").unwrap();
    assert_eq!((&message["data"]["item"]["role"], &message["raw"]), (&json!("user"), &sent));
}

#[test]
fn what_a_retry_takes_back_is_failed() {
    let mut talk = Talk::in_turn();
    talk.begin(json!({"type": "agentMessage", "id": "m1", "text": ""}));
    talk.tell("item/agentMessage/delta", json!({"itemId": "m1", "delta": "par"}));
    talk.tell("error", json!({"willRetry": true, "error": {"message": "Reconnecting... 1/2"}}));
    talk.end(json!({"type": "agentMessage", "id": "m2", "text": "whole"}));
    talk.end_turn("1", "completed");
    let items = talk.items();
    assert_eq!((items[1].2.clone(), items[1].3.as_str()), (ItemStatus::Failed, "par"));
    assert_eq!(items[2].3, "retry Retry 1 of 2: Reconnecting...");
    assert_eq!((items[3].2.clone(), items[3].3.as_str()), (ItemStatus::Completed, "whole"));
    assert!(talk.of_type("error").is_empty());
}

#[test]
fn an_error_is_told_once_and_fails_the_turn() {
    let mut talk = Talk::in_turn();
    let error = json!({"message": "no room", "codexErrorInfo": "contextWindowExceeded"});
    talk.tell("error", json!({"willRetry": false, "error": error}));
    talk.tell("turn/completed", json!({"turn": {"id": "1", "status": "failed", "error": error}}));
    assert_eq!(talk.of_type("error").len(), 1);
    assert_eq!(talk.of_type("error")[0]["code"], "context_overflow");
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "failed");
}

#[test]
fn a_second_process_closes_what_the_first_left_open() {
    let mut talk = Talk::in_turn();
    talk.begin(json!({"type": "agentMessage", "id": "m", "text": ""}));
    talk.host(json!({"id": 20, "method": "initialize", "params": {}}));
    talk.agent(json!({"id": 20, "error": {"code": -32600, "message": "Already initialized"}}));
    assert!(talk.of_type("turn.ended").is_empty());
    talk.host(json!({"id": 1, "method": "initialize", "params": {}}));
    talk.agent(json!({"id": 1, "result": {"userAgent": "x"}}));
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "failed");
    talk.host(json!({"id": 2, "method": "thread/resume", "params": {"threadId": "t"}}));
    let old = json!({"type": "agentMessage", "id": "m", "text": "old"});
    talk.agent(json!({"id": 2, "result": {"thread": {"id": "t", "turns": [{"id": "1", "items": [old]}]}}}));
    assert_eq!(talk.of_type("session.started").len(), 1);
    assert!(!talk.texts().contains(&"old".to_owned()));
}

#[test]
fn a_prompt_that_was_sent_to_a_dying_agent_is_shown() {
    let mut talk = Talk::in_turn();
    talk.end_turn("1", "completed");
    let input = json!([{"type": "text", "text": "are you there"}]);
    talk.host(json!({"id": 4, "method": "turn/start", "params": {"threadId": "t", "input": input}}));
    talk.push(Input::Exit { code: Some(1) });
    assert_eq!(talk.texts().last().unwrap(), "are you there");
    assert_eq!(talk.of_type("turn.ended").last().unwrap()["status"], "failed");
}

#[test]
fn limits_are_told_when_they_show_something_new() {
    let mut talk = Talk::in_turn();
    let limits = |used: Value| json!({"rateLimits": {"limitId": "codex", "primary": used}});
    for used in [json!(null), json!({"usedPercent": 5}), json!({"usedPercent": 5}), json!({"usedPercent": 6})] {
        talk.tell("account/rateLimits/updated", limits(used));
    }
    assert_eq!(
        talk.texts()[1..],
        ["rate_limit Rate limit: allowed|primary 5% used", "rate_limit Rate limit: allowed|primary 6% used"]
    );
}

#[test]
fn a_review_is_a_mode_around_ordinary_messages() {
    let mut talk = Talk::in_turn();
    talk.end_turn("1", "completed");
    talk.host(json!({"id": 4, "method": "review/start", "params": {"threadId": "t"}}));
    let asked = json!({"type": "userMessage", "id": "r", "content": [{"type": "text", "text": "current changes"}]});
    talk.agent(json!({"id": 4, "result": {"turn": {"id": "r", "items": [asked]}, "reviewThreadId": "t"}}));
    let review = |kind: &str, text: &str| json!({"turnId": "r", "item": {"type": kind, "id": kind, "review": text}});
    talk.tell("item/started", review("enteredReviewMode", "current changes"));
    talk.tell("item/completed", review("enteredReviewMode", "current changes"));
    talk.tell("turn/started", json!({"turn": {"id": "other", "rootTurnId": "r"}}));
    talk.tell("item/started", review("exitedReviewMode", "all fine"));
    talk.tell("item/completed", review("exitedReviewMode", "all fine"));
    talk.end_turn("r", "completed");
    assert_eq!(
        talk.texts()[1..],
        [
            "mode_changed Mode changed from default to review",
            "mode_changed Mode changed from review to default",
            "current changes",
            "all fine"
        ]
    );
    let turns: Vec<Value> = talk.of_type("turn.started").into_iter().map(|data| data["turn_id"].clone()).collect();
    assert_eq!(turns, ["1", "r"]);
}

#[test]
fn a_review_leaves_no_empty_message() {
    for speaks in [false, true] {
        let mut talk = Talk::in_turn();
        talk.end(json!({"type": "enteredReviewMode", "id": "1", "review": "current changes"}));
        // The model's answer is JSON, which Codex announces and keeps to itself.
        talk.begin(json!({"type": "agentMessage", "id": "json", "text": ""}));
        if speaks {
            talk.tell("item/agentMessage/delta", json!({"itemId": "json", "delta": "I look"}));
            talk.end(json!({"type": "agentMessage", "id": "json", "text": "I look"}));
        }
        talk.end(json!({"type": "exitedReviewMode", "id": "1", "review": "all fine"}));
        talk.begin(json!({"type": "agentMessage", "id": "found", "text": "all fine"}));
        talk.end(json!({"type": "agentMessage", "id": "found", "text": "all fine"}));
        talk.end_turn("1", "completed");
        let said: Vec<(ItemStatus, String)> = talk
            .items()
            .into_iter()
            .filter(|item| item.1 == Some(Role::Assistant))
            .map(|item| (item.2, item.3))
            .collect();
        let mut expected = vec![(ItemStatus::Completed, "all fine".to_owned())];
        if speaks {
            expected.insert(0, (ItemStatus::Completed, "I look".to_owned()));
        }
        assert_eq!(said, expected);
        assert_eq!(talk.stats().unaccounted, 0);
    }
}

#[test]
fn a_turn_whose_end_is_not_understood_is_failed() {
    for turn in [
        json!(null),
        json!({"status": "completed"}),
        json!("completed"),
        json!({"id": "1"}),
        json!({"id": "1", "status": "paused"}),
        json!({"id": "1", "status": "inProgress"}),
    ] {
        let mut talk = Talk::in_turn();
        talk.tell("turn/completed", json!({"turn": turn}));
        let ended = talk.of_type("turn.ended");
        assert_eq!(ended.len(), 1, "{turn}");
        assert_eq!((&ended[0]["status"], &ended[0]["turn_id"]), (&json!("failed"), &json!("1")), "{turn}");
        // The thread goes on.
        talk.prompt(4, "2", "again");
        talk.end_turn("2", "completed");
        assert_eq!(talk.of_type("turn.ended")[1]["metadata"], json!({"stop_reason": "end_turn"}));
    }
}

#[test]
fn a_retry_says_which_one_it_is_and_why() {
    let mut talk = Talk::in_turn();
    let info = json!({"responseStreamDisconnected": {"httpStatusCode": 429}});
    let details = "exceeded retry limit, last status: 429 Too Many Requests";
    for error in [
        json!({"message": "Reconnecting... 3/5", "codexErrorInfo": info, "additionalDetails": details}),
        json!({"message": "Reconnecting... waiting for network"}),
        json!({"message": "Reconnecting... 5/5 (stream disconnected before completion: closed)"}),
    ] {
        talk.tell("error", json!({"willRetry": true, "error": error}));
    }
    let retries: Vec<Value> =
        talk.of_type("item.completed")[1..].iter().map(|data| data["item"]["content"][1]["json"].clone()).collect();
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
fn an_error_has_the_agents_name_for_it() {
    let mut talk = Talk::in_turn();
    let info = json!({"httpConnectionFailed": {"httpStatusCode": 401}});
    talk.tell("error", json!({"error": {"message": "no", "codexErrorInfo": info, "additionalDetails": "why"}}));
    let body = r#"{"error": {"message": "bad", "type": "invalid_request_error"}}"#;
    talk.tell("error", json!({"error": {"message": body, "codexErrorInfo": "other"}}));
    let words = "unexpected status 503 Service Unavailable: no";
    talk.tell("error", json!({"error": {"message": words, "codexErrorInfo": "other"}}));
    let details: Vec<Value> = talk.of_type("error").into_iter().map(|data| data["details"].clone()).collect();
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
fn an_answer_that_was_cut_at_the_limit_says_so() {
    let mut talk = Talk::in_turn();
    let message = "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens";
    talk.tell("error", json!({"willRetry": false, "error": {"message": message}}));
    talk.end_turn("1", "failed");
    assert_eq!(talk.of_type("turn.ended")[0]["metadata"]["stop_reason"], "max_tokens");
}

#[test]
fn a_compaction_is_one_status_from_begin_to_end() {
    let item = json!({"type": "contextCompaction", "id": "c"});
    for (asked, works) in [(true, true), (false, true), (true, false)] {
        let mut talk = Talk::in_turn();
        if asked {
            talk.end_turn("1", "completed");
            talk.host(json!({"id": 4, "method": "thread/compact/start", "params": {"threadId": "t"}}));
            talk.agent(json!({"id": 4, "result": {}}));
            talk.tell("turn/started", json!({"turn": {"id": "2"}}));
        }
        talk.begin(item.clone());
        if works {
            talk.end(item.clone());
        } else {
            talk.tell("error", json!({"willRetry": false, "error": {"message": "no room"}}));
        }
        talk.end_turn("2", if works { "completed" } else { "failed" });
        let data = talk.of_type("item.completed");
        let notes: Vec<&Value> =
            data.iter().map(|data| &data["item"]).filter(|item| item["kind"] == "status").collect();
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0]["content"][1]["json"], json!({"trigger": if asked { "manual" } else { "auto" }}));
        let (status, detail) =
            if works { ("completed", "Compacted") } else { ("failed", "Compaction failed: no room") };
        assert_eq!((&notes[0]["status"], &notes[0]["content"][0]["detail"]), (&json!(status), &json!(detail)));
    }
}

#[test]
fn permission_modes_have_our_words() {
    for (approval, sandbox, mode) in [
        ("on-request", "workspaceWrite", "default"),
        ("untrusted", "readOnly", "default"),
        ("never", "dangerFullAccess", "bypass"),
        ("never", "workspaceWrite", "never"),
    ] {
        let mut talk = Talk::new();
        talk.host(json!({"id": 2, "method": "thread/start", "params": {}}));
        talk.agent(
            json!({"id": 2, "result": {"thread": {"id": "t", "cliVersion": "0.166.0"}, "model": "m", "cwd": "/w",
            "modelProvider": "p", "approvalPolicy": approval, "sandbox": {"type": sandbox}}}),
        );
        let native = json!({"approval_policy": approval, "model_provider": "p", "sandbox": sandbox});
        let expected = json!({"agent": "codex", "agent_version": "0.166.0", "model": "m", "cwd": "/w",
            "permission_mode": mode, "native": native});
        assert_eq!(talk.of_type("session.started")[0]["metadata"], expected);
    }
}

#[test]
fn the_nearest_limit_is_told() {
    let mut talk = Talk::in_turn();
    let primary = json!({"usedPercent": 5, "windowDurationMins": 300, "resetsAt": 1_794_815_547});
    let secondary = json!({"usedPercent": 100, "windowDurationMins": 10080});
    talk.tell("account/rateLimits/updated", json!({"rateLimits": {"primary": primary}}));
    talk.tell("account/rateLimits/updated", json!({"rateLimits": {"primary": primary, "secondary": secondary}}));
    let limits: Vec<Value> =
        talk.of_type("item.completed")[1..].iter().map(|data| data["item"]["content"][1]["json"].clone()).collect();
    let resets_at = "2026-11-16T07:52:27.000Z";
    let near = json!({"status": "allowed", "window": "5h", "resets_at": resets_at});
    assert_eq!(limits, [near, json!({"status": "rejected", "window": "7d"})]);
}

#[test]
fn what_a_turn_is_started_with_is_told_once_when_it_is_new() {
    let with = |id: u64, talk: &mut Talk, told_by_itself: bool| {
        let input = json!([{"type": "text", "text": "go"}]);
        let mode = json!({"mode": "plan", "settings": {"model": "other"}});
        let params = json!({"threadId": "t", "input": input, "collaborationMode": mode});
        talk.host(json!({"id": id, "method": "turn/start", "params": params}));
        talk.agent(json!({"id": id, "result": {"turn": {"id": id.to_string()}}}));
        if told_by_itself {
            let settings = json!({"model": "other", "collaborationMode": mode});
            talk.tell("thread/settings/updated", json!({"threadSettings": settings}));
        }
        talk.tell("turn/started", json!({"turn": {"id": id.to_string()}}));
        talk.end_turn(&id.to_string(), "completed");
    };
    for told_by_itself in [false, true] {
        let mut talk = Talk::in_turn();
        talk.end_turn("1", "completed");
        with(4, &mut talk, told_by_itself);
        with(5, &mut talk, told_by_itself);
        let model = "model_changed Model changed from m to other";
        let mode = "mode_changed Mode changed from default to plan";
        assert_eq!(talk.texts(), ["hello", model, mode, "go", "go"]);
    }
}

#[test]
fn an_agent_that_exits_in_a_turn_has_died_whatever_the_code() {
    for (code, interrupt, status) in [(0, false, "failed"), (1, false, "failed"), (0, true, "interrupted")] {
        let mut talk = Talk::in_turn();
        talk.end(json!({"type": "agentMessage", "id": "m", "text": "I begin"}));
        if interrupt {
            talk.host(json!({"id": 4, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
        }
        talk.push(Input::Exit { code: Some(code) });
        assert_eq!(talk.of_type("turn.ended")[0]["status"], status);
        let errors: Vec<Value> = talk.of_type("error").into_iter().map(|data| data["code"].clone()).collect();
        assert_eq!(errors, if interrupt { vec![] } else { vec![json!("agent_error")] });
    }
}

#[test]
fn a_refused_request_says_nothing_about_the_turn() {
    let mut talk = Talk::in_turn();
    talk.host(json!({"id": 4, "method": "turn/steer", "params": {"threadId": "t", "input": []}}));
    talk.agent(json!({"id": 4, "error": {"code": -32600, "message": "no active turn"}}));
    talk.push(Input::Exit { code: Some(-9) });
    let codes: Vec<Value> = talk.of_type("error").into_iter().map(|data| data["code"].clone()).collect();
    assert_eq!(codes, ["invalid_request", "agent_error"]);
    assert_eq!(talk.of_type("turn.ended")[0]["status"], "failed");
}

#[test]
fn an_interrupt_that_is_refused_is_none() {
    for (refused, status) in [(1, "interrupted"), (2, "failed")] {
        let mut talk = Talk::in_turn();
        for id in [4, 5] {
            talk.host(json!({"id": id, "method": "turn/interrupt", "params": {"threadId": "t", "turnId": "1"}}));
        }
        for id in [4, 5].into_iter().take(refused) {
            talk.agent(json!({"id": id, "error": {"code": -32600, "message": "no"}}));
        }
        talk.tell("error", json!({"willRetry": false, "error": {"message": "boom"}}));
        talk.end_turn("1", "failed");
        assert_eq!(talk.of_type("turn.ended")[0]["status"], status);
    }
}

#[test]
fn what_comes_late_is_no_turn_to_join() {
    let mut talk = Talk::in_turn();
    talk.end_turn("1", "completed");
    talk.tell("item/reasoning/summaryTextDelta", json!({"itemId": "r", "summaryIndex": 0, "delta": "late"}));
    talk.prompt(4, "2", "again");
    talk.end(json!({"type": "agentMessage", "id": "m", "text": "yes"}));
    talk.end_turn("2", "completed");
    let turns: Vec<Value> = talk.of_type("turn.started").into_iter().map(|data| data["turn_id"].clone()).collect();
    assert_eq!(turns, ["1", "2"]);
}

#[test]
fn what_was_sent_to_a_new_process_before_it_introduced_itself_is_answered_by_it() {
    let mut talk = Talk::in_turn();
    let input = json!([{"type": "text", "text": "lost"}]);
    talk.host(json!({"id": 9, "method": "turn/steer", "params": {"threadId": "t", "input": input}}));
    talk.host(json!({"id": 1, "method": "initialize", "params": {}}));
    talk.host(json!({"id": 2, "method": "thread/start", "params": {}}));
    talk.agent(json!({"id": 1, "result": {"userAgent": "x"}}));
    talk.agent(json!({"id": 2, "result": {"thread": {"id": "t2"}, "model": "other"}}));
    assert_eq!(talk.of_type("session.started")[1]["metadata"]["model"], "other");
    assert_eq!(talk.texts(), ["hello", "lost"]);
}

#[test]
fn thoughts_and_patches_are_taken_back_too() {
    let retry = json!({"willRetry": true, "error": {"message": "Reconnecting... 1/2"}});
    let input = json!({"type": "userMessage", "id": "u9", "content": [{"type": "text", "text": "stop"}]});
    for (method, params) in [("error", retry), ("item/started", json!({"item": input}))] {
        let mut talk = Talk::in_turn();
        talk.tell("item/reasoning/summaryTextDelta", json!({"itemId": "r", "summaryIndex": 0, "delta": "I"}));
        talk.tell("item/reasoning/textDelta", json!({"itemId": "r", "contentIndex": 0, "delta": "raw"}));
        talk.tell("item/fileChange/patchUpdated", json!({"itemId": "p", "changes": []}));
        talk.tell(method, params);
        let taken_back: Vec<_> =
            talk.items()[1..].iter().map(|item| (item.2.clone(), item.3.clone())).take(4).collect();
        let failed = |text: &str| (ItemStatus::Failed, text.to_owned());
        assert_eq!(taken_back, [failed("raw"), failed("I"), failed("fileChange"), failed("")]);
        // The model writes the same patch once more.
        talk.begin(json!({"type": "fileChange", "id": "p", "changes": [], "status": "inProgress"}));
        talk.end(json!({"type": "fileChange", "id": "p", "changes": [], "status": "completed"}));
        talk.end_turn("1", "completed");
        let last: Vec<_> = talk.items().into_iter().rev().take(2).map(|item| item.2).collect();
        assert_eq!(last, [ItemStatus::Completed, ItemStatus::Completed]);
    }
}

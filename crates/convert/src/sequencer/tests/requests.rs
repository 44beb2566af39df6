use interlingua_schema::{
    ApprovalScope, CommandInput, EventData, McpInput, Permission, QuestionAnswer, QuestionOption, ToolInput, ToolKind,
    TurnMetadata,
};
use serde_json::json;

use super::harness::{Harness, permission};
use crate::{PermissionDraft, QuestionDraft, ToolCall, ToolResult, TurnEnd};

fn question(prompt: &str) -> QuestionDraft {
    QuestionDraft { prompt: prompt.into(), options: vec![QuestionOption::new("yes")], ..QuestionDraft::default() }
}

fn command(command: &str) -> ToolInput {
    ToolInput::Command(CommandInput::new(command))
}

/// The permission of the last event.
fn last_permission(harness: &Harness) -> &Permission {
    match &harness.events.last().unwrap().data {
        EventData::PermissionRequested(permission) | EventData::PermissionResolved(permission) => permission,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_approval_has_its_scope() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.permission_requested("p", PermissionDraft { kind: Some(ToolKind::Command), ..permission("rm") }));
    harness.host(|s| s.permission_approved("p", ApprovalScope::Always)).host(|s| s.permission_denied("p"));
    harness.assert_events(&["permission p Requested", "*permission p Approved"]);
    let metadata = last_permission(&harness).metadata.clone().unwrap();
    assert_eq!(metadata.scope, Some(ApprovalScope::Always));
    assert_eq!(metadata.scopes, [ApprovalScope::Once]);
    assert_eq!(metadata.tool_kind, ToolKind::Command);
}

#[test]
fn a_permission_describes_the_call_that_waits_for_it() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.tool_called("a", ToolCall::new("a", "bash").input(Some(command("make test")))));
    harness.agent(|s| s.permission_requested("p", PermissionDraft { call_id: Some("a".into()), ..permission("?") }));
    let permission = last_permission(&harness);
    assert_eq!(permission.action, "Run make test");
    let metadata = permission.metadata.as_ref().unwrap();
    assert_eq!(metadata.call_id.as_deref(), Some("a"));
    assert_eq!(metadata.tool_kind, ToolKind::Command);
    assert_eq!(metadata.input, Some(command("make test")));
}

#[test]
fn a_call_without_id_is_found_by_its_input() {
    let mut harness = Harness::with_session();
    for (id, text) in [("a", "ls"), ("b", "make"), ("c", "make")] {
        harness.agent(|s| s.tool_called(id, ToolCall::new(id, "bash").input(Some(command(text)))));
    }
    let mcp = |arguments| ToolInput::Mcp(McpInput::new("tiny", "add", arguments));
    harness.agent(|s| s.tool_called("m", ToolCall::new("m", "add").input(Some(mcp(json!({ "a": 1 }))))));
    for (key, input, expected) in [
        ("p", command("make"), Some("b")),
        ("q", command("make"), Some("c")),
        ("r", command("make"), None),
        ("s", mcp(json!({})), Some("m")),
    ] {
        harness.agent(|s| {
            s.permission_requested(key, PermissionDraft { input: Some(input), ..PermissionDraft::default() });
        });
        let metadata = last_permission(&harness).metadata.clone().unwrap();
        assert_eq!(metadata.call_id.as_deref(), expected, "{key}");
    }
}

#[test]
fn an_unknown_call_id_is_left_out() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.permission_requested("p", PermissionDraft { call_id: Some("x".into()), ..permission("rm") }));
    assert_eq!(last_permission(&harness).metadata.as_ref().unwrap().call_id, None);
    assert_eq!(last_permission(&harness).action, "rm");
}

#[test]
fn request_ids_are_unique_if_native_ids_repeat() {
    let mut harness = Harness::with_session();
    for _ in 0..2 {
        harness
            .agent(|s| s.permission_requested("0", permission("rm")))
            .agent(|s| s.permission_requested("0", permission("rm")));
        harness.host(|s| s.permission_denied("0"));
    }
    harness.agent(|s| s.questions_requested("0", vec![question("?")])).host(|s| s.questions_rejected("0", None));
    harness.assert_events(&[
        "permission 0 Requested",
        "*permission 0 Denied",
        "permission 0#2 Requested",
        "*permission 0#2 Denied",
        "question 0#3 Requested None",
        "*question 0#3 Rejected None",
    ]);
}

#[test]
fn several_questions_are_numbered_and_one_rejection_rejects_all() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.questions_requested("q", vec![question("a?"), question("b?")]));
    harness.host(|s| s.questions_answered("q", vec![QuestionAnswer::Answered("x, y".into())]));
    harness.assert_events(&[
        "question q:0 Requested None",
        "question q:1 Requested None",
        "*question q:0 Answered Some(\"x, y\")",
        "*question q:1 Rejected None",
    ]);
    harness.agent(|s| s.questions_requested("r", vec![question("a?"), question("b?")])).skip_events();
    harness.host(|s| s.questions_rejected("r", Some("no".into())));
    harness.assert_events(&["*question r:0 Rejected Some(\"no\")", "*question r:1 Rejected Some(\"no\")"]);
}

#[test]
fn requests_without_an_answer_are_denied_at_the_end_of_the_turn() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.permission_requested("p", permission("rm")));
    harness.agent(|s| s.questions_requested("q", vec![question("?")])).agent(|s| s.turn_ended(TurnEnd::new()));
    harness.host(|s| s.permission_approved("p", ApprovalScope::Once));
    harness.assert_events(&[
        "turn.started",
        "permission p Requested",
        "question q Requested None",
        "*permission p Denied",
        "*question q Rejected None",
        "turn.ended Completed",
    ]);
}

#[test]
fn a_request_is_denied_before_the_call_that_waits_for_it_is_closed() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.tool_called("c", ToolCall::new("c", "run")));
    harness.agent(|s| s.permission_requested("p", permission("rm"))).skip_events();
    harness.interrupt().agent(|s| s.turn_ended(TurnEnd::new()));
    let events: Vec<_> = harness.events.iter().map(|event| event.data.kind()).collect();
    assert_eq!(events[events.len() - 4..], ["permission.resolved", "item.started", "item.completed", "turn.ended"]);
}

#[test]
fn requests_of_a_failed_tool_are_denied() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default()));
    for id in ["c", "d"] {
        harness.agent(|s| s.tool_called(id, ToolCall::new(id, "run")));
        let ask = PermissionDraft { call_id: Some(id.to_owned()), ..permission("rm") };
        harness.agent(|s| s.permission_requested(format!("p-{id}"), ask));
    }
    harness.skip_events();
    harness.agent(|s| s.tool_finished("c", ToolResult::failed("aborted")));
    let events: Vec<_> = harness.events.iter().rev().take(3).map(|event| event.data.kind()).collect();
    assert_eq!(events, ["item.completed", "item.started", "permission.resolved"]);
    // The request of the other tool is still pending.
    harness.host(|s| s.permission_approved("p-d", ApprovalScope::Once));
    assert_eq!(harness.events.last().unwrap().data.kind(), "permission.resolved");
    harness.skip_events();
    harness.agent(|s| s.permission_denied("p-c")).assert_events(&[]);
}

#[test]
fn a_withdrawn_request_is_denied() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.permission_requested("p", permission("rm"))).agent(|s| s.request_withdrawn("p"));
    harness.assert_events(&["permission p Requested", "*permission p Denied"]);
}

#[test]
fn an_answer_without_a_request_is_ignored() {
    let mut harness = Harness::with_session();
    harness
        .host(|s| s.permission_approved("p", ApprovalScope::Once))
        .host(|s| s.questions_rejected("q", None))
        .assert_events(&[]);
}

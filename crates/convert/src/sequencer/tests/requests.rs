use interlingua_schema::{
    ApprovalScope, CommandInput, EventData, McpInput, Permission, QuestionAnswer, QuestionOption, ToolInput, ToolKind,
    TurnMetadata,
};
use serde_json::json;

use super::play::{Play, ask};
use crate::{PermissionDraft, QuestionDraft, ToolCall, ToolResult, TurnEnd};

fn question(prompt: &str) -> QuestionDraft {
    QuestionDraft { prompt: prompt.into(), options: vec![QuestionOption::new("yes")], ..QuestionDraft::default() }
}

fn command(command: &str) -> ToolInput {
    ToolInput::Command(CommandInput::new(command))
}

/// The permission that was asked for or resolved last.
fn last_permission(play: &Play) -> &Permission {
    match &play.events.last().unwrap().data {
        EventData::PermissionRequested(permission) | EventData::PermissionResolved(permission) => permission,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_approval_says_how_far_it_goes() {
    let mut play = Play::begun();
    play.agent(|s| s.permission_requested("p", PermissionDraft { kind: Some(ToolKind::Command), ..ask("rm") }));
    play.host(|s| s.permission_approved("p", ApprovalScope::Always)).host(|s| s.permission_denied("p"));
    play.shows(&["permission p Requested", "*permission p Approved"]);
    let metadata = last_permission(&play).metadata.clone().unwrap();
    assert_eq!(metadata.scope, Some(ApprovalScope::Always));
    assert_eq!(metadata.scopes, [ApprovalScope::Once]);
    assert_eq!(metadata.tool_kind, ToolKind::Command);
}

#[test]
fn a_permission_is_about_the_call_that_waits_for_it() {
    let mut play = Play::begun();
    play.agent(|s| s.tool_called("a", ToolCall::new("a", "bash").input(Some(command("make test")))));
    play.agent(|s| s.permission_requested("p", PermissionDraft { call_id: Some("a".into()), ..ask("?") }));
    let permission = last_permission(&play);
    assert_eq!(permission.action, "Run make test");
    let metadata = permission.metadata.as_ref().unwrap();
    assert_eq!(metadata.call_id.as_deref(), Some("a"));
    assert_eq!(metadata.tool_kind, ToolKind::Command);
    assert_eq!(metadata.input, Some(command("make test")));
}

#[test]
fn the_call_is_found_where_the_agent_does_not_name_it() {
    let mut play = Play::begun();
    for (id, text) in [("a", "ls"), ("b", "make"), ("c", "make")] {
        play.agent(|s| s.tool_called(id, ToolCall::new(id, "bash").input(Some(command(text)))));
    }
    let mcp = |arguments| ToolInput::Mcp(McpInput::new("tiny", "add", arguments));
    play.agent(|s| s.tool_called("m", ToolCall::new("m", "add").input(Some(mcp(json!({ "a": 1 }))))));
    for (key, input, expected) in [
        ("p", command("make"), Some("b")),
        ("q", command("make"), Some("c")),
        ("r", command("make"), None),
        ("s", mcp(json!({})), Some("m")),
    ] {
        play.agent(|s| {
            s.permission_requested(key, PermissionDraft { input: Some(input), ..PermissionDraft::default() });
        });
        let metadata = last_permission(&play).metadata.clone().unwrap();
        assert_eq!(metadata.call_id.as_deref(), expected, "{key}");
    }
}

#[test]
fn a_call_that_never_was_is_not_named() {
    let mut play = Play::begun();
    play.agent(|s| s.permission_requested("p", PermissionDraft { call_id: Some("x".into()), ..ask("rm") }));
    assert_eq!(last_permission(&play).metadata.as_ref().unwrap().call_id, None);
    assert_eq!(last_permission(&play).action, "rm");
}

#[test]
fn ids_are_unique_where_the_native_ones_repeat() {
    let mut play = Play::begun();
    for _ in 0..2 {
        play.agent(|s| s.permission_requested("0", ask("rm"))).agent(|s| s.permission_requested("0", ask("rm")));
        play.host(|s| s.permission_denied("0"));
    }
    play.agent(|s| s.questions_requested("0", vec![question("?")])).host(|s| s.questions_rejected("0", None));
    play.shows(&[
        "permission 0 Requested",
        "*permission 0 Denied",
        "permission 0#2 Requested",
        "*permission 0#2 Denied",
        "question 0#3 Requested None",
        "*question 0#3 Rejected None",
    ]);
}

#[test]
fn several_questions_are_numbered_and_one_refusal_is_for_all() {
    let mut play = Play::begun();
    play.agent(|s| s.questions_requested("q", vec![question("a?"), question("b?")]));
    play.host(|s| s.questions_answered("q", vec![QuestionAnswer::Answered("x, y".into())]));
    play.shows(&[
        "question q:0 Requested None",
        "question q:1 Requested None",
        "*question q:0 Answered Some(\"x, y\")",
        "*question q:1 Rejected None",
    ]);
    play.agent(|s| s.questions_requested("r", vec![question("a?"), question("b?")])).skip();
    play.host(|s| s.questions_rejected("r", Some("no".into())));
    play.shows(&["*question r:0 Rejected Some(\"no\")", "*question r:1 Rejected Some(\"no\")"]);
}

#[test]
fn silence_is_no_consent() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.permission_requested("p", ask("rm")));
    play.agent(|s| s.questions_requested("q", vec![question("?")])).agent(|s| s.turn_ended(TurnEnd::new()));
    play.host(|s| s.permission_approved("p", ApprovalScope::Once));
    play.shows(&[
        "turn.started",
        "permission p Requested",
        "question q Requested None",
        "*permission p Denied",
        "*question q Rejected None",
        "turn.ended Completed",
    ]);
}

#[test]
fn a_request_is_refused_before_what_waited_for_it_is_closed() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.tool_called("c", ToolCall::new("c", "run")));
    play.agent(|s| s.permission_requested("p", ask("rm"))).skip();
    play.interrupt().agent(|s| s.turn_ended(TurnEnd::new()));
    let events: Vec<_> = play.events.iter().map(|event| event.data.kind()).collect();
    assert_eq!(events[events.len() - 4..], ["permission.resolved", "item.started", "item.completed", "turn.ended"]);
}

#[test]
fn a_tool_that_failed_waits_for_no_answer() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default()));
    for id in ["c", "d"] {
        play.agent(|s| s.tool_called(id, ToolCall::new(id, "run")));
        let ask = PermissionDraft { call_id: Some(id.to_owned()), ..ask("rm") };
        play.agent(|s| s.permission_requested(format!("p-{id}"), ask));
    }
    play.skip();
    play.agent(|s| s.tool_finished("c", ToolResult::failed("aborted")));
    let events: Vec<_> = play.events.iter().rev().take(3).map(|event| event.data.kind()).collect();
    assert_eq!(events, ["item.completed", "item.started", "permission.resolved"]);
    // What was asked for the other one is still to be answered.
    play.host(|s| s.permission_approved("p-d", ApprovalScope::Once));
    assert_eq!(play.events.last().unwrap().data.kind(), "permission.resolved");
    play.skip();
    play.agent(|s| s.permission_denied("p-c")).shows(&[]);
}

#[test]
fn what_the_agent_withdraws_is_refused() {
    let mut play = Play::begun();
    play.agent(|s| s.permission_requested("p", ask("rm"))).agent(|s| s.request_withdrawn("p"));
    play.shows(&["permission p Requested", "*permission p Denied"]);
}

#[test]
fn an_answer_to_nothing_says_nothing() {
    let mut play = Play::begun();
    play.host(|s| s.permission_approved("p", ApprovalScope::Once)).host(|s| s.questions_rejected("q", None)).shows(&[]);
}

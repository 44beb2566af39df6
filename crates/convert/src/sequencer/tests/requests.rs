use interlingua_schema::{Answer, EventData};
use serde_json::json;

use super::play::Play;
use crate::{Ask, Scope, ToolCall, ToolResult, TurnEnd};

fn ask(prompt: &str) -> Ask {
    Ask { prompt: prompt.into(), options: vec!["yes".into()], metadata: None }
}

#[test]
fn an_approval_says_how_far_it_goes() {
    let mut play = Play::begun();
    play.agent(|s| s.permission_asked("p", "rm", Some(json!({ "tool": "Bash" }))));
    play.host(|s| s.permission_approved("p", Scope::Always)).host(|s| s.permission_denied("p"));
    play.shows(&["permission p Requested", "*permission p Approved"]);
    let EventData::PermissionResolved(resolved) = &play.events[2].data else { panic!("not resolved") };
    assert_eq!(resolved.metadata, Some(json!({ "tool": "Bash", "scope": "always" })));
}

#[test]
fn ids_are_unique_where_the_native_ones_repeat() {
    let mut play = Play::begun();
    for _ in 0..2 {
        play.agent(|s| s.permission_asked("0", "rm", None)).agent(|s| s.permission_asked("0", "rm", None));
        play.host(|s| s.permission_denied("0"));
    }
    play.agent(|s| s.questions_asked("0", vec![ask("?")])).host(|s| s.questions_rejected("0", None));
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
    play.agent(|s| s.questions_asked("q", vec![ask("a?"), ask("b?")]));
    play.host(|s| s.questions_answered("q", vec![Answer::Answered("x, y".into())]));
    play.shows(&[
        "question q:0 Requested None",
        "question q:1 Requested None",
        "*question q:0 Answered Some(\"x, y\")",
        "*question q:1 Rejected None",
    ]);
    play.agent(|s| s.questions_asked("r", vec![ask("a?"), ask("b?")])).skip();
    play.host(|s| s.questions_rejected("r", Some("no".into())));
    play.shows(&["*question r:0 Rejected Some(\"no\")", "*question r:1 Rejected Some(\"no\")"]);
}

#[test]
fn silence_is_no_consent() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, None)).agent(|s| s.permission_asked("p", "rm", None));
    play.agent(|s| s.questions_asked("q", vec![ask("?")])).agent(|s| s.turn_ended(TurnEnd::new()));
    play.host(|s| s.permission_approved("p", Scope::Once));
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
    play.agent(|s| s.turn_started(None, None)).agent(|s| s.tool_called("c", ToolCall::new("c", "run")));
    play.agent(|s| s.permission_asked("p", "rm", None)).skip();
    play.interrupt().agent(|s| s.turn_ended(TurnEnd::new()));
    let events: Vec<_> = play.events.iter().map(|event| event.data.kind()).collect();
    assert_eq!(events[events.len() - 4..], ["permission.resolved", "item.started", "item.completed", "turn.ended"]);
}

#[test]
fn a_tool_that_failed_waits_for_no_answer() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, None));
    for id in ["c", "d"] {
        play.agent(|s| s.tool_called(id, ToolCall::new(id, "run")));
        play.agent(|s| s.permission_asked(format!("p-{id}"), "rm", Some(json!({ "call_id": id }))));
    }
    play.skip();
    play.agent(|s| s.tool_finished("c", ToolResult::failed("aborted")));
    let events: Vec<_> = play.events.iter().rev().take(3).map(|event| event.data.kind()).collect();
    assert_eq!(events, ["item.completed", "item.started", "permission.resolved"]);
    // What was asked for the other one is still to be answered.
    play.host(|s| s.permission_approved("p-d", Scope::Once));
    assert_eq!(play.events.last().unwrap().data.kind(), "permission.resolved");
    play.skip();
    play.agent(|s| s.permission_denied("p-c")).shows(&[]);
}

#[test]
fn what_the_agent_withdraws_is_refused() {
    let mut play = Play::begun();
    play.agent(|s| s.permission_asked("p", "rm", None)).agent(|s| s.withdrawn("p"));
    play.shows(&["permission p Requested", "*permission p Denied"]);
}

#[test]
fn an_answer_to_nothing_says_nothing() {
    let mut play = Play::begun();
    play.host(|s| s.permission_approved("p", Scope::Once)).host(|s| s.questions_rejected("q", None)).shows(&[]);
}

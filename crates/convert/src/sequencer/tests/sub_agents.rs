use interlingua_schema::{SessionMetadata, TurnMetadata};

use super::harness::{Harness, permission};
use crate::{MessageDraft, MessageEnd, ToolCall, ToolResult, TurnEnd, UserMessage};

fn task() -> ToolCall {
    ToolCall::new("task", "Task")
}

#[test]
fn items_of_a_sub_agent_are_below_its_call() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Go")))
        .agent(|s| s.tool_called("task", task()));
    harness.skip_events();
    harness.agent_drafts(|drafts| {
        let mut sub = drafts.session("s").sub_agent("task");
        sub.message_finished("p", MessageDraft::prompt(), MessageEnd::text("List"));
        sub.tool_finished("c", ToolResult::ok("a").with_call(ToolCall::new("c", "ls")));
        drafts.session("s").tool_called("main", ToolCall::new("main", "ls"));
    });
    harness.assert_events(&[
        "*+3<2 message/user",
        "*~3 List",
        "=3<2 message/user List",
        "*+4<3 toolcall/assistant ls{}",
        "*=4<3 toolcall/assistant ls{}",
        "*+5<3 toolresult/tool []",
        "=5<3 toolresult/tool [a]",
        "*+6<1 toolcall/assistant ls{}",
        "=6<1 toolcall/assistant ls{}",
    ]);
}

#[test]
fn a_child_session_waits_for_its_call() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).skip_events();
    harness.agent_drafts(|drafts| {
        let mut child = drafts.session("child");
        child.child_of("s");
        child.started(SessionMetadata::default());
        child.turn_started(None, TurnMetadata::default());
        child.user_message("u", UserMessage::text("List"));
    });
    harness.agent_drafts(|drafts| drafts.session("child").spawned_by("s", "task")).assert_events(&[]);
    harness.agent(|s| s.tool_called("task", task()));
    harness.assert_events(&[
        "*+1 toolcall/assistant Task{}",
        "=1 toolcall/assistant Task{}",
        "*+2<1 message/user",
        "*~2 List",
        "=2<1 message/user List",
    ]);
    harness.agent_drafts(|drafts| drafts.session("child").message_delta("m", "Look")).skip_events();
    harness.agent_drafts(|drafts| drafts.session("child").turn_ended(TurnEnd::new()));
    harness.assert_events(&["*=3<1 message/assistant! Look"]);
    assert!(
        harness.events.iter().all(|event| { event.native_session_id.as_ref().is_some_and(|id| id.as_str() == "s") })
    );
}

#[test]
fn requests_of_a_sub_agent_are_not_held() {
    let mut harness = Harness::with_session();
    harness.agent_drafts(|drafts| {
        drafts.session("child").child_of("s");
        drafts.session("child").message_delta("m", "May I?");
        drafts.session("child").permission_requested("p", permission("rm"));
    });
    harness.assert_events(&["permission p Requested"]);
}

#[test]
fn a_child_of_a_child_is_in_the_same_session() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.tool_called("task", task()));
    harness.agent_drafts(|drafts| {
        drafts.session("child").spawned_by("s", "task");
        drafts.session("child").tool_called("task", task());
        drafts.session("grandchild").spawned_by("child", "task");
        drafts.session("grandchild").message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hi"));
    });
    harness.assert_events(&[
        "*+1 toolcall/assistant Task{}",
        "=1 toolcall/assistant Task{}",
        "*+2<1 toolcall/assistant Task{}",
        "=2<1 toolcall/assistant Task{}",
        "*+3<2 message/assistant",
        "*~3 Hi",
        "=3<2 message/assistant Hi",
    ]);
}

#[test]
fn drafts_held_for_a_missing_call_are_applied_at_the_end_of_the_turn() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).skip_events();
    harness.agent_drafts(|drafts| {
        drafts.session("s").sub_agent("lost").message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hi"));
    });
    harness.assert_events(&[]);
    harness.agent(|s| s.turn_ended(TurnEnd::new()));
    harness.assert_events(&["*+1 message/assistant", "*~1 Hi", "=1 message/assistant Hi", "turn.ended Completed"]);
}

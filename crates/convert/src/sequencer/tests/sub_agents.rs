use interlingua_schema::{SessionMetadata, TurnMetadata};

use super::play::{Play, ask};
use crate::{MessageDraft, MessageEnd, ToolCall, ToolResult, TurnEnd, UserMessage};

fn task() -> ToolCall {
    ToolCall::new("task", "Task")
}

#[test]
fn what_a_sub_agent_does_is_below_its_call() {
    let mut play = Play::begun();
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Go")))
        .agent(|s| s.tool_called("task", task()));
    play.skip();
    play.agent_drafts(|drafts| {
        let mut sub = drafts.session("s").sub_agent("task");
        sub.message_finished("p", MessageDraft::prompt(), MessageEnd::text("List"));
        sub.tool_finished("c", ToolResult::ok("a").with_call(ToolCall::new("c", "ls")));
        drafts.session("s").tool_called("main", ToolCall::new("main", "ls"));
    });
    play.shows(&[
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
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).skip();
    play.agent_drafts(|drafts| {
        let mut child = drafts.session("child");
        child.child_of("s");
        child.started(SessionMetadata::default());
        child.turn_started(None, TurnMetadata::default());
        child.user_message("u", UserMessage::text("List"));
    });
    play.agent_drafts(|drafts| drafts.session("child").spawned_by("s", "task")).shows(&[]);
    play.agent(|s| s.tool_called("task", task()));
    play.shows(&[
        "*+1 toolcall/assistant Task{}",
        "=1 toolcall/assistant Task{}",
        "*+2<1 message/user",
        "*~2 List",
        "=2<1 message/user List",
    ]);
    play.agent_drafts(|drafts| drafts.session("child").message_delta("m", "Look")).skip();
    play.agent_drafts(|drafts| drafts.session("child").turn_ended(TurnEnd::new()));
    play.shows(&["*=3<1 message/assistant! Look"]);
    assert!(play.events.iter().all(|event| { event.native_session_id.as_ref().is_some_and(|id| id.as_str() == "s") }));
}

#[test]
fn what_a_waiting_sub_agent_asks_is_not_held_back() {
    let mut play = Play::begun();
    play.agent_drafts(|drafts| {
        drafts.session("child").child_of("s");
        drafts.session("child").message_delta("m", "May I?");
        drafts.session("child").permission_requested("p", ask("rm"));
    });
    play.shows(&["permission p Requested"]);
}

#[test]
fn a_child_of_a_child_is_in_the_same_session() {
    let mut play = Play::begun();
    play.agent(|s| s.tool_called("task", task()));
    play.agent_drafts(|drafts| {
        drafts.session("child").spawned_by("s", "task");
        drafts.session("child").tool_called("task", task());
        drafts.session("grandchild").spawned_by("child", "task");
        drafts.session("grandchild").message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hi"));
    });
    play.shows(&[
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
fn what_waits_for_a_call_that_never_comes_is_said_at_the_end_of_the_turn() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).skip();
    play.agent_drafts(|drafts| {
        drafts.session("s").sub_agent("lost").message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hi"));
    });
    play.shows(&[]);
    play.agent(|s| s.turn_ended(TurnEnd::new()));
    play.shows(&["*+1 message/assistant", "*~1 Hi", "=1 message/assistant Hi", "turn.ended Completed"]);
}

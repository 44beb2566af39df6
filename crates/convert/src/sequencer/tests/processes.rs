use interlingua_schema::{EventData, TurnMetadata};

use super::play::{Play, ask};
use crate::sequencer::StreamEnd;
use crate::{MessageDraft, MessageEnd, Note, PromptDraft, QuestionDraft, SessionDrafts, ToolCall, TurnEnd};

#[test]
fn an_agent_that_dies_in_a_turn_is_an_error_and_everything_closes() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("m", "Hel"));
    play.agent(|s| s.tool_called("c", ToolCall::new("c", "ls")));
    play.agent(|s| s.note_started("n", Note::system("busy"))).agent(|s| s.permission_requested("p", ask("rm"))).skip();
    play.stderr("boom").exit(-9);
    play.shows(&[
        "*permission p Denied",
        "*=1 message/assistant! Hel",
        "*+4<1 toolresult/tool []",
        "*=4<1 toolresult/tool! []",
        "*=3 system/system! busy",
        "*error the agent was killed by signal 9",
        "*turn.ended Failed",
    ]);
    play.finish(StreamEnd::Log).shows(&["*session.ended Error Agent"]);
    let EventData::SessionEnded(ended) = &play.events.last().unwrap().data else { panic!("no end") };
    assert_eq!(ended.exit_code, Some(-9));
    assert_eq!(ended.stderr.as_ref().unwrap().head.as_deref(), Some("boom"));
}

#[test]
fn an_agent_that_leaves_in_good_order_ends_its_turn_and_the_log_the_session() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi"))).agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello"))).skip();
    play.exit(0).shows(&["*turn.ended Completed"]);
    play.finish(StreamEnd::Log).shows(&["*session.ended Completed Agent"]);
}

#[test]
fn an_agent_that_leaves_while_it_is_waited_for_has_died() {
    let leaves = |before: fn(&mut SessionDrafts<'_>)| {
        let mut play = Play::begun();
        play.agent(|s| s.turn_started(None, TurnMetadata::default()));
        play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
        play.agent(before).exit(0);
        let errors = play.events.iter().filter(|event| matches!(event.data, EventData::Error(_))).count();
        assert_eq!(errors, 1);
        play.skip();
    };
    leaves(|s| s.permission_requested("p", ask("rm")));
    leaves(|s| s.questions_requested("q", vec![QuestionDraft::default()]));
    leaves(|s| s.note_started("n", Note::system("busy")));
    leaves(|s| {
        s.turn_cut_off();
    });
}

#[test]
fn a_prompt_that_nobody_answered_failed() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi"))).exit(0);
    play.shows(&[
        "*turn.started",
        "*+1 message/user",
        "*~1 hi",
        "*=1 message/user hi",
        "*error the agent exited with code 0",
        "*turn.ended Failed",
    ]);
}

#[test]
fn an_exit_after_an_interrupt_is_no_error() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt().skip();
    play.exit(1).shows(&["*turn.ended Interrupted"]);
}

#[test]
fn a_log_that_stops_leaves_its_session_open() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("m", "Hel")).skip();
    play.finish(StreamEnd::Log).shows(&[]);
}

#[test]
fn a_prompt_that_was_sent_last_is_shown_all_the_same() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi"))).finish(StreamEnd::Log);
    play.shows(&["*turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi"]);
}

#[test]
fn our_own_api_terminates() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("m", "Hel")).skip();
    play.finish(StreamEnd::Terminated);
    play.shows(&["*=1 message/assistant! Hel", "*turn.ended Interrupted", "*session.ended Terminated Daemon"]);
    play.agent(|s| s.message_delta("m", "lo")).exit(0).finish(StreamEnd::Log).shows(&[]);
}

#[test]
fn a_new_process_closes_what_the_old_one_left_and_may_use_its_ids() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("item_0", "Hel")).skip();
    play.agent_drafts(crate::Drafts::process_restarted);
    play.shows(&[
        "*=1 message/assistant! Hel",
        "*error the agent exited; its exit code is not known",
        "*turn.ended Failed",
    ]);
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("item_0", "Again"));
    play.agent(|s| s.message_finished("item_0", MessageDraft::assistant(), MessageEnd::as_streamed()));
    play.agent(|s| s.turn_ended(TurnEnd::new()));
    play.shows(&[
        "turn.started",
        "*+2 message/assistant",
        "~2 Again",
        "=2 message/assistant Again",
        "turn.ended Completed",
    ]);
}

#[test]
fn a_session_goes_on_in_the_next_process() {
    let mut play = Play::begun();
    play.exit(1).shows(&[]);
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.turn_ended(TurnEnd::new()));
    play.shows(&["turn.started", "turn.ended Completed"]);
}

#[test]
fn what_a_dead_process_wrote_is_evidence_and_not_the_cause() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.stderr("\u{1b}[2mWARN\u{1b}[0m no system bwrap").exit(1).finish(StreamEnd::Log);
    let error = play.events.iter().find_map(|event| match &event.data {
        EventData::Error(error) => Some(error.clone()),
        _ => None,
    });
    let error = error.unwrap();
    assert_eq!(error.message, "the agent exited with code 1");
    assert!(error.details.unwrap().stderr.unwrap().head.unwrap().contains("bwrap"));
}

use interlingua_schema::{EventData, TurnMetadata};

use super::harness::{Harness, permission};
use crate::sequencer::StreamEnd;
use crate::{MessageDraft, MessageEnd, Note, PromptDraft, QuestionDraft, SessionDrafts, ToolCall, TurnEnd};

#[test]
fn an_agent_that_dies_in_a_turn_is_an_error_and_closes_everything() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("m", "Hel"));
    harness.agent(|s| s.tool_called("c", ToolCall::new("c", "ls")));
    harness
        .agent(|s| s.note_started("n", Note::system("busy")))
        .agent(|s| s.permission_requested("p", permission("rm")))
        .skip_events();
    harness.stderr("boom").exit(-9);
    harness.assert_events(&[
        "*permission p Denied",
        "*=1 message/assistant! Hel",
        "*+4<1 toolresult/tool []",
        "*=4<1 toolresult/tool! []",
        "*=3 system/system! busy",
        "*error the agent was killed by signal 9",
        "*turn.ended Failed",
    ]);
    harness.finish(StreamEnd::Log).assert_events(&["*session.ended Error Agent"]);
    let EventData::SessionEnded(ended) = &harness.events.last().unwrap().data else { panic!("no end") };
    assert_eq!(ended.exit_code, Some(-9));
    assert_eq!(ended.stderr.as_ref().unwrap().head.as_deref(), Some("boom"));
}

#[test]
fn a_clean_exit_completes_the_turn_and_the_end_of_the_log_the_session() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi"))).agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello"))).skip_events();
    harness.exit(0).assert_events(&["*turn.ended Completed"]);
    harness.finish(StreamEnd::Log).assert_events(&["*session.ended Completed Agent"]);
}

#[test]
fn an_exit_with_unfinished_work_is_an_error() {
    let exits_with_error = |before: fn(&mut SessionDrafts<'_>)| {
        let mut harness = Harness::with_session();
        harness.agent(|s| s.turn_started(None, TurnMetadata::default()));
        harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
        harness.agent(before).exit(0);
        let errors = harness.events.iter().filter(|event| matches!(event.data, EventData::Error(_))).count();
        assert_eq!(errors, 1);
        harness.skip_events();
    };
    exits_with_error(|s| s.permission_requested("p", permission("rm")));
    exits_with_error(|s| s.questions_requested("q", vec![QuestionDraft::default()]));
    exits_with_error(|s| s.note_started("n", Note::system("busy")));
    exits_with_error(|s| {
        s.turn_cut_off();
    });
}

#[test]
fn a_prompt_without_an_answer_fails_its_turn() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi"))).exit(0);
    harness.assert_events(&[
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
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt().skip_events();
    harness.exit(1).assert_events(&["*turn.ended Interrupted"]);
}

#[test]
fn a_log_that_stops_leaves_its_session_open() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.message_delta("m", "Hel"))
        .skip_events();
    harness.finish(StreamEnd::Log).assert_events(&[]);
}

#[test]
fn a_prompt_at_the_end_of_a_log_is_shown() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi"))).finish(StreamEnd::Log);
    harness.assert_events(&["*turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi"]);
}

#[test]
fn termination_by_the_api_ends_turn_and_session() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.message_delta("m", "Hel"))
        .skip_events();
    harness.finish(StreamEnd::Terminated);
    harness.assert_events(&[
        "*=1 message/assistant! Hel",
        "*turn.ended Interrupted",
        "*session.ended Terminated Daemon",
    ]);
    harness.agent(|s| s.message_delta("m", "lo")).exit(0).finish(StreamEnd::Log).assert_events(&[]);
}

#[test]
fn a_new_process_closes_open_items_of_the_old_one_and_may_reuse_its_ids() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.message_delta("item_0", "Hel"))
        .skip_events();
    harness.agent_drafts(crate::Drafts::process_restarted);
    harness.assert_events(&[
        "*=1 message/assistant! Hel",
        "*error the agent exited; its exit code is not known",
        "*turn.ended Failed",
    ]);
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("item_0", "Again"));
    harness.agent(|s| s.message_finished("item_0", MessageDraft::assistant(), MessageEnd::as_streamed()));
    harness.agent(|s| s.turn_ended(TurnEnd::new()));
    harness.assert_events(&[
        "turn.started",
        "*+2 message/assistant",
        "~2 Again",
        "=2 message/assistant Again",
        "turn.ended Completed",
    ]);
}

#[test]
fn a_session_continues_in_the_next_process() {
    let mut harness = Harness::with_session();
    harness.exit(1).assert_events(&[]);
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.turn_ended(TurnEnd::new()));
    harness.assert_events(&["turn.started", "turn.ended Completed"]);
}

#[test]
fn stderr_of_a_dead_process_is_a_detail_and_not_the_error_message() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.stderr("\u{1b}[2mWARN\u{1b}[0m no system bwrap").exit(1).finish(StreamEnd::Log);
    let error = harness.events.iter().find_map(|event| match &event.data {
        EventData::Error(error) => Some(error.clone()),
        _ => None,
    });
    let error = error.unwrap();
    assert_eq!(error.message, "the agent exited with code 1");
    assert!(error.details.unwrap().stderr.unwrap().head.unwrap().contains("bwrap"));
}

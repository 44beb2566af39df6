use interlingua_schema::{SessionMetadata, TurnMetadata};

use super::harness::Harness;
use crate::sequencer::StreamEnd;
use crate::{MessageDraft, MessageEnd, PromptDraft};

#[test]
fn a_session_starts_once_and_implicitly_if_necessary() {
    let mut harness = Harness::new();
    harness
        .agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("")))
        .agent(|s| s.started(SessionMetadata::default()));
    harness.assert_events(&["*session.started", "*+1 message/assistant", "=1 message/assistant "]);
}

#[test]
fn drafts_before_the_first_session_wait_for_it() {
    let mut harness = Harness::new();
    harness.agent_drafts(|drafts| drafts.current_session().prompt_sent(PromptDraft::text("hi"))).assert_events(&[]);
    harness.agent(|s| s.started(SessionMetadata::default())).agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.assert_events(&["session.started", "turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi"]);
}

#[test]
fn a_log_without_a_session_gets_one_without_a_native_id() {
    let mut harness = Harness::new();
    harness
        .agent_drafts(|drafts| drafts.current_session().unparsed("test", "what", None))
        .exit(1)
        .finish(StreamEnd::Log);
    harness.assert_events(&["*session.started", "*agent.unparsed", "*session.ended Error Agent"]);
    assert!(harness.events.iter().all(|event| event.native_session_id.is_none()));
}

#[test]
fn drafts_without_a_native_id_go_to_the_session_that_started_last() {
    let mut harness = Harness::new();
    harness.agent_drafts(|drafts| {
        drafts.session("a").started(SessionMetadata::default());
        drafts.session("b").started(SessionMetadata::default());
        drafts.session("a").turn_started(None, TurnMetadata::default());
        drafts.current_session().unparsed("test", "what", None);
    });
    let session_id = |index: usize| harness.events[index].session_id.as_str();
    assert_eq!([session_id(0), session_id(1), session_id(2), session_id(3)], ["ses_a", "ses_b", "ses_a", "ses_b"]);
    harness.assert_events(&["session.started", "session.started", "turn.started", "*agent.unparsed"]);
}

#[test]
fn held_drafts_do_not_turn_time_back() {
    let mut harness = Harness::new();
    harness.agent_drafts(|drafts| drafts.current_session().unparsed("test", "what", None));
    harness.agent(|s| s.started(SessionMetadata::default())).assert_events(&["session.started", "*agent.unparsed"]);
    assert_eq!(harness.events[0].time, harness.events[1].time);
}

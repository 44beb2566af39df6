use interlingua_schema::{SessionMetadata, TurnMetadata};

use super::play::Play;
use crate::sequencer::StreamEnd;
use crate::{MessageDraft, MessageEnd, PromptDraft};

#[test]
fn a_session_starts_once_and_by_itself_if_need_be() {
    let mut play = Play::new();
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("")))
        .agent(|s| s.started(SessionMetadata::default()));
    play.shows(&["*session.started", "*+1 message/assistant", "=1 message/assistant "]);
}

#[test]
fn what_comes_before_the_first_session_waits_for_it() {
    let mut play = Play::new();
    play.agent_drafts(|drafts| drafts.current_session().prompt_sent(PromptDraft::text("hi"))).shows(&[]);
    play.agent(|s| s.started(SessionMetadata::default())).agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.shows(&["session.started", "turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi"]);
}

#[test]
fn a_log_without_a_session_is_one_without_a_name() {
    let mut play = Play::new();
    play.agent_drafts(|drafts| drafts.current_session().unparsed("test", "what", None)).exit(1).finish(StreamEnd::Log);
    play.shows(&["*session.started", "*agent.unparsed", "*session.ended Error Agent"]);
    assert!(play.events.iter().all(|event| event.native_session_id.is_none()));
}

#[test]
fn native_sessions_are_sessions_and_the_last_begun_gets_what_names_none() {
    let mut play = Play::new();
    play.agent_drafts(|drafts| {
        drafts.session("a").started(SessionMetadata::default());
        drafts.session("b").started(SessionMetadata::default());
        drafts.session("a").turn_started(None, TurnMetadata::default());
        drafts.current_session().unparsed("test", "what", None);
    });
    let of = |index: usize| play.events[index].session_id.as_str();
    assert_eq!([of(0), of(1), of(2), of(3)], ["ses_a", "ses_b", "ses_a", "ses_b"]);
    play.shows(&["session.started", "session.started", "turn.started", "*agent.unparsed"]);
}

#[test]
fn time_does_not_go_back_for_what_waited() {
    let mut play = Play::new();
    play.agent_drafts(|drafts| drafts.current_session().unparsed("test", "what", None));
    play.agent(|s| s.started(SessionMetadata::default())).shows(&["session.started", "*agent.unparsed"]);
    assert_eq!(play.events[0].time, play.events[1].time);
}

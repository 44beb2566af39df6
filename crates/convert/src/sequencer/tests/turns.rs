use interlingua_schema::{ErrorCode, EventData, StopReason, TurnMetadata, TurnStatus, Usage};

use super::play::Play;
use crate::{Failure, MessageDraft, MessageEnd, Note, PromptDraft, StreamEnd, TurnEnd, UserMessage};

#[test]
fn a_prompt_is_shown_when_the_agent_begins_its_turn() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi"))).shows(&[]);
    play.agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.shows(&["turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi"]);
    play.agent(|s| s.turn_ended(TurnEnd::new())).shows(&["turn.ended Completed"]);
}

#[test]
fn a_prompt_is_shown_before_anything_the_agent_says() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()));
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    play.shows(&[
        "*turn.started",
        "*+1 message/user",
        "*~1 hi",
        "*=1 message/user hi",
        "*+2 message/assistant",
        "*~2 Hello",
        "=2 message/assistant Hello",
    ]);
    play.agent(|s| s.user_message("u", UserMessage::text("hi"))).shows(&[]);
    play.agent(|s| s.turn_started(Some("t".into()), TurnMetadata::default())).shows(&[]);
}

#[test]
fn the_agents_own_repetition_is_preferred() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()))
        .agent(|s| s.turn_started(Some("t".into()), TurnMetadata::default()));
    play.agent(|s| s.user_message("u", UserMessage::text("hi").native_id("n")));
    play.agent(|s| s.user_message("u", UserMessage::text("hi").native_id("n")));
    play.shows(&["turn.started", "*+1 message/user", "*~1 hi", "=1 message/user hi"]);
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello"))).skip();
    play.agent(|s| s.turn_ended(TurnEnd::new())).shows(&["turn.ended Completed"]);
}

#[test]
fn a_queued_prompt_waits_for_the_turn_that_takes_it_up() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("one")))
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .skip();
    play.host(|s| s.prompt_sent(PromptDraft::text("two")));
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("1")));
    play.agent(|s| s.turn_ended(TurnEnd::new())).skip();
    play.agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.shows(&["turn.started", "*+3 message/user", "*~3 two", "*=3 message/user two"]);
}

#[test]
fn a_steered_prompt_joins_the_running_turn() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("one"))).agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("1"))).skip();
    play.host(|s| s.prompt_sent(PromptDraft::text("no, two").id("p"))).agent(|s| s.prompt_accepted(Some("p".into())));
    play.shows(&["*+3 message/user", "*~3 no, two", "*=3 message/user no, two"]);
    play.host(|s| s.prompt_sent(PromptDraft::text("three").expect_echo()));
    play.agent(|s| s.user_message("u", UserMessage::text("three")));
    play.shows(&["*+4 message/user", "*~4 three", "=4 message/user three"]);
}

#[test]
fn a_user_message_that_begins_a_turn_ends_the_one_before() {
    let mut play = Play::begun();
    play.agent(|s| s.user_message("1", UserMessage::text("one").starts_turn()));
    play.shows(&["*turn.started", "*+1 message/user", "*~1 one", "=1 message/user one"]);
    play.agent(|s| s.message_delta("m", "Hel")).skip();
    play.agent(|s| s.user_message("2", UserMessage::text("two").starts_turn()));
    play.shows(&[
        "*=2 message/assistant! Hel",
        "*turn.ended Completed",
        "*turn.started",
        "*+3 message/user",
        "*~3 two",
        "=3 message/user two",
    ]);
}

#[test]
fn turns_alternate() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_ended(TurnEnd::new())).shows(&[]);
    play.agent(|s| s.turn_started(Some("a".into()), TurnMetadata::default()))
        .agent(|s| s.turn_started(Some("a".into()), TurnMetadata::default()));
    play.shows(&["turn.started"]);
    play.agent(|s| s.turn_started(Some("b".into()), TurnMetadata::default()))
        .shows(&["*turn.ended Completed", "turn.started"]);
    play.agent(|s| s.turn_ended(TurnEnd::new())).agent(|s| s.turn_ended(TurnEnd::new()));
    play.shows(&["turn.ended Completed"]);
}

#[test]
fn a_late_end_does_not_end_the_next_turn() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()))
        .agent(|s| s.turn_ended(TurnEnd::new()))
        .shows(&[]);
}

#[test]
fn an_agent_that_only_ends_a_turn_had_one() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi")))
        .agent(|s| s.turn_ended(TurnEnd::with_status(TurnStatus::Failed)));
    play.shows(&["*turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi", "turn.ended Failed"]);
}

#[test]
fn an_interrupt_the_host_asked_for_is_no_failure() {
    for status in [None, Some(TurnStatus::Failed)] {
        let mut play = Play::begun();
        play.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt();
        play.agent(|s| {
            s.turn_ended(TurnEnd { status, ..TurnEnd::new() });
        });
        play.shows(&["turn.started", "turn.ended Interrupted"]);
    }
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt();
    play.agent(|s| s.turn_ended(TurnEnd::with_status(TurnStatus::Completed)));
    play.shows(&["turn.started", "turn.ended Completed"]);
}

#[test]
fn an_error_fails_its_turn_unless_the_agent_says_otherwise() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()));
    play.agent(|s| s.failed(Failure::new(ErrorCode::Auth, "no key")));
    play.agent(|s| s.turn_ended(TurnEnd::new()));
    play.shows(&[
        "*turn.started",
        "*+1 message/user",
        "*~1 hi",
        "*=1 message/user hi",
        "error no key",
        "turn.ended Failed",
    ]);
}

#[test]
fn a_message_into_a_turn_of_the_agents_own_is_a_new_turn() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.message_delta("m", "Background")).skip();
    play.agent(|s| s.user_message("u", UserMessage::text("hi")));
    play.shows(&[
        "*=1 message/assistant! Background",
        "*turn.ended Completed",
        "*turn.started",
        "*+2 message/user",
        "*~2 hi",
        "=2 message/user hi",
    ]);
}

#[test]
fn a_status_between_turns_begins_none() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi")));
    play.agent(|s| s.note(Note::system("ready"))).shows(&["*+1 system/system", "=1 system/system ready"]);
}

#[test]
fn a_sub_agents_use_counts_in_the_turn() {
    let used = |input_tokens| Usage::new(input_tokens, 0);
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.agent_drafts(|drafts| {
        drafts.session("child").child_of("s");
        drafts.session("child").turn_ended(TurnEnd::new().usage(used(5)));
    });
    play.agent(|s| s.turn_ended(TurnEnd::new().usage(used(10))));
    play.shows(&["turn.started", "turn.ended Completed"]);
    let interlingua_schema::EventData::TurnEnded(ended) = &play.events[2].data else { panic!("no end") };
    assert_eq!(ended.usage.as_ref().unwrap().input_tokens, 15);
}

#[test]
fn what_messages_used_adds_up_to_the_turn_however_it_ends() {
    let used = |tokens| Usage::new(0, tokens);
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi"))).agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.agent(|s| s.add_usage(used(1))).agent(|s| s.add_usage(used(2))).exit(-9);
    let ended = play.events.iter().find_map(|event| match &event.data {
        interlingua_schema::EventData::TurnEnded(ended) => ended.usage.clone(),
        _ => None,
    });
    assert_eq!(ended, Some(used(3)));
}

#[test]
fn a_failure_beside_the_turn_does_not_fail_it_and_shows_no_prompt() {
    let aside = || Failure::new(ErrorCode::InvalidRequest, "refused").outside_turn();
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi"))).agent(|s| s.failed(aside())).shows(&["error refused"]);
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).skip();
    play.agent(|s| s.failed(aside())).shows(&["error refused"]);
    play.agent(|s| s.turn_ended(TurnEnd::new())).shows(&["turn.ended Completed"]);
}

#[test]
fn a_status_that_ends_after_we_closed_it_is_told_anew() {
    let hook = || Note::system("hook");
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default())).agent(|s| s.note_started("h", hook())).skip();
    play.agent(|s| s.turn_ended(TurnEnd::new())).shows(&["*=1 system/system! hook", "turn.ended Completed"]);
    play.agent(|s| s.note_finished("h", hook(), false)).shows(&["*+2 system/system", "=2 system/system hook"]);
    play.agent(|s| s.note_finished("h", hook(), false)).shows(&[]);
}

#[test]
fn a_prompt_that_was_refused_is_not_shown() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("no").id("p1").expect_echo())).shows(&[]);
    play.agent(|s| s.prompt_rejected("p1")).shows(&[]);
    play.finish(StreamEnd::Log).shows(&[]);
}

#[test]
fn a_turn_has_one_id_and_a_duration_whatever_the_agent_says() {
    let mut play = Play::begun();
    play.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()));
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    // The agent names the turn after it began.
    play.agent(|s| s.turn_started(Some("native".into()), TurnMetadata::default()));
    play.agent(|s| s.turn_ended(TurnEnd::new().stop_reason(Some(StopReason::EndTurn))));
    let EventData::TurnEnded(ended) = &play.events.last().unwrap().data else { panic!() };
    assert_eq!((ended.turn_id.as_str(), ended.duration_ms), ("turn_001", 2));
    assert_eq!(ended.metadata.as_ref().unwrap().stop_reason, Some(StopReason::EndTurn));
    play.skip().shows(&[]);
}

#[test]
fn a_turn_whose_payload_was_damaged_does_not_count_as_completed() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default()));
    play.agent(|s| s.partially_unparsed("toy", "status is missing", None)).exit(0);
    let EventData::TurnEnded(ended) = &play.events.last().unwrap().data else { panic!() };
    assert_eq!(ended.status, TurnStatus::Failed);
}

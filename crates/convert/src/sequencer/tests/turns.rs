use interlingua_schema::{ErrorCode, EventData, StopReason, TurnMetadata, TurnStatus, Usage};

use super::harness::Harness;
use crate::{Failure, MessageDraft, MessageEnd, Note, PromptDraft, StreamEnd, TurnEnd, UserMessage};

#[test]
fn a_prompt_is_shown_when_the_agent_starts_its_turn() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi"))).assert_events(&[]);
    harness.agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.assert_events(&["turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi"]);
    harness.agent(|s| s.turn_ended(TurnEnd::new())).assert_events(&["turn.ended Completed"]);
}

#[test]
fn a_prompt_is_shown_before_any_output_of_the_agent() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()));
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    harness.assert_events(&[
        "*turn.started",
        "*+1 message/user",
        "*~1 hi",
        "*=1 message/user hi",
        "*+2 message/assistant",
        "*~2 Hello",
        "=2 message/assistant Hello",
    ]);
    harness.agent(|s| s.user_message("u", UserMessage::text("hi"))).assert_events(&[]);
    harness.agent(|s| s.turn_started(Some("t".into()), TurnMetadata::default())).assert_events(&[]);
}

#[test]
fn the_agents_echo_replaces_the_prompt() {
    let mut harness = Harness::with_session();
    harness
        .host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()))
        .agent(|s| s.turn_started(Some("t".into()), TurnMetadata::default()));
    harness.agent(|s| s.user_message("u", UserMessage::text("hi").native_id("n")));
    harness.agent(|s| s.user_message("u", UserMessage::text("hi").native_id("n")));
    harness.assert_events(&["turn.started", "*+1 message/user", "*~1 hi", "=1 message/user hi"]);
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello"))).skip_events();
    harness.agent(|s| s.turn_ended(TurnEnd::new())).assert_events(&["turn.ended Completed"]);
}

#[test]
fn a_queued_prompt_waits_for_its_turn() {
    let mut harness = Harness::with_session();
    harness
        .host(|s| s.prompt_sent(PromptDraft::text("one")))
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .skip_events();
    harness.host(|s| s.prompt_sent(PromptDraft::text("two")));
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("1")));
    harness.agent(|s| s.turn_ended(TurnEnd::new())).skip_events();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.assert_events(&["turn.started", "*+3 message/user", "*~3 two", "*=3 message/user two"]);
}

#[test]
fn a_steered_prompt_joins_the_running_turn() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("one"))).agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("1"))).skip_events();
    harness
        .host(|s| s.prompt_sent(PromptDraft::text("no, two").id("p")))
        .agent(|s| s.prompt_accepted(Some("p".into())));
    harness.assert_events(&["*+3 message/user", "*~3 no, two", "*=3 message/user no, two"]);
    harness.host(|s| s.prompt_sent(PromptDraft::text("three").expect_echo()));
    harness.agent(|s| s.user_message("u", UserMessage::text("three")));
    harness.assert_events(&["*+4 message/user", "*~4 three", "=4 message/user three"]);
}

#[test]
fn a_user_message_that_starts_a_turn_ends_the_previous_turn() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.user_message("1", UserMessage::text("one").starts_turn()));
    harness.assert_events(&["*turn.started", "*+1 message/user", "*~1 one", "=1 message/user one"]);
    harness.agent(|s| s.message_delta("m", "Hel")).skip_events();
    harness.agent(|s| s.user_message("2", UserMessage::text("two").starts_turn()));
    harness.assert_events(&[
        "*=2 message/assistant! Hel",
        "*turn.ended Completed",
        "*turn.started",
        "*+3 message/user",
        "*~3 two",
        "=3 message/user two",
    ]);
}

#[test]
fn turns_do_not_overlap() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_ended(TurnEnd::new())).assert_events(&[]);
    harness
        .agent(|s| s.turn_started(Some("a".into()), TurnMetadata::default()))
        .agent(|s| s.turn_started(Some("a".into()), TurnMetadata::default()));
    harness.assert_events(&["turn.started"]);
    harness
        .agent(|s| s.turn_started(Some("b".into()), TurnMetadata::default()))
        .assert_events(&["*turn.ended Completed", "turn.started"]);
    harness.agent(|s| s.turn_ended(TurnEnd::new())).agent(|s| s.turn_ended(TurnEnd::new()));
    harness.assert_events(&["turn.ended Completed"]);
}

#[test]
fn a_late_end_does_not_end_the_next_turn() {
    let mut harness = Harness::with_session();
    harness
        .host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()))
        .agent(|s| s.turn_ended(TurnEnd::new()))
        .assert_events(&[]);
}

#[test]
fn an_end_without_a_start_adds_the_turn() {
    let mut harness = Harness::with_session();
    harness
        .host(|s| s.prompt_sent(PromptDraft::text("hi")))
        .agent(|s| s.turn_ended(TurnEnd::with_status(TurnStatus::Failed)));
    harness.assert_events(&["*turn.started", "*+1 message/user", "*~1 hi", "*=1 message/user hi", "turn.ended Failed"]);
}

#[test]
fn a_failed_end_after_an_interrupt_request_is_interrupted() {
    for status in [None, Some(TurnStatus::Failed)] {
        let mut harness = Harness::with_session();
        harness.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt();
        harness.agent(|s| {
            s.turn_ended(TurnEnd { status, ..TurnEnd::new() });
        });
        harness.assert_events(&["turn.started", "turn.ended Interrupted"]);
    }
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).interrupt();
    harness.agent(|s| s.turn_ended(TurnEnd::with_status(TurnStatus::Completed)));
    harness.assert_events(&["turn.started", "turn.ended Completed"]);
}

#[test]
fn an_error_fails_its_turn_unless_the_agent_says_otherwise() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()));
    harness.agent(|s| s.failed(Failure::new(ErrorCode::Auth, "no key")));
    harness.agent(|s| s.turn_ended(TurnEnd::new()));
    harness.assert_events(&[
        "*turn.started",
        "*+1 message/user",
        "*~1 hi",
        "*=1 message/user hi",
        "error no key",
        "turn.ended Failed",
    ]);
}

#[test]
fn a_user_message_in_a_turn_of_the_agent_starts_a_new_turn() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.message_delta("m", "Background"))
        .skip_events();
    harness.agent(|s| s.user_message("u", UserMessage::text("hi")));
    harness.assert_events(&[
        "*=1 message/assistant! Background",
        "*turn.ended Completed",
        "*turn.started",
        "*+2 message/user",
        "*~2 hi",
        "=2 message/user hi",
    ]);
}

#[test]
fn a_status_between_turns_starts_no_turn() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi")));
    harness.agent(|s| s.note(Note::system("ready"))).assert_events(&["*+1 system/system", "=1 system/system ready"]);
}

#[test]
fn usage_of_a_sub_agent_counts_in_the_turn() {
    let used = |input_tokens| Usage::new(input_tokens, 0);
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.agent_drafts(|drafts| {
        drafts.session("child").child_of("s");
        drafts.session("child").turn_ended(TurnEnd::new().usage(used(5)));
    });
    harness.agent(|s| s.turn_ended(TurnEnd::new().usage(used(10))));
    harness.assert_events(&["turn.started", "turn.ended Completed"]);
    let interlingua_schema::EventData::TurnEnded(ended) = &harness.events[2].data else { panic!("no end") };
    assert_eq!(ended.usage.as_ref().unwrap().input_tokens, 15);
}

#[test]
fn usage_of_messages_adds_up_even_if_the_agent_dies() {
    let used = |tokens| Usage::new(0, tokens);
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi"))).agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.agent(|s| s.add_usage(used(1))).agent(|s| s.add_usage(used(2))).exit(-9);
    let ended = harness.events.iter().find_map(|event| match &event.data {
        interlingua_schema::EventData::TurnEnded(ended) => ended.usage.clone(),
        _ => None,
    });
    assert_eq!(ended, Some(used(3)));
}

#[test]
fn a_failure_outside_the_turn_does_not_fail_it_and_shows_no_prompt() {
    let failure = || Failure::new(ErrorCode::InvalidRequest, "refused").outside_turn();
    let mut harness = Harness::with_session();
    harness
        .host(|s| s.prompt_sent(PromptDraft::text("hi")))
        .agent(|s| s.failed(failure()))
        .assert_events(&["error refused"]);
    harness.agent(|s| s.turn_started(None, TurnMetadata::default())).skip_events();
    harness.agent(|s| s.failed(failure())).assert_events(&["error refused"]);
    harness.agent(|s| s.turn_ended(TurnEnd::new())).assert_events(&["turn.ended Completed"]);
}

#[test]
fn a_status_that_ends_after_it_was_closed_is_a_new_item() {
    let hook = || Note::system("hook");
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.note_started("h", hook()))
        .skip_events();
    harness.agent(|s| s.turn_ended(TurnEnd::new())).assert_events(&["*=1 system/system! hook", "turn.ended Completed"]);
    harness
        .agent(|s| s.note_finished("h", hook(), false))
        .assert_events(&["*+2 system/system", "=2 system/system hook"]);
    harness.agent(|s| s.note_finished("h", hook(), false)).assert_events(&[]);
}

#[test]
fn a_rejected_prompt_is_not_shown() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("no").id("p1").expect_echo())).assert_events(&[]);
    harness.agent(|s| s.prompt_rejected("p1")).assert_events(&[]);
    harness.finish(StreamEnd::Log).assert_events(&[]);
}

#[test]
fn a_turn_keeps_its_id_and_has_a_duration() {
    let mut harness = Harness::with_session();
    harness.host(|s| s.prompt_sent(PromptDraft::text("hi").expect_echo()));
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    // The agent reports its id of the turn after the turn has started.
    harness.agent(|s| s.turn_started(Some("native".into()), TurnMetadata::default()));
    harness.agent(|s| s.turn_ended(TurnEnd::new().stop_reason(Some(StopReason::EndTurn))));
    let EventData::TurnEnded(ended) = &harness.events.last().unwrap().data else { panic!() };
    assert_eq!((ended.turn_id.as_str(), ended.duration_ms), ("turn_001", 2));
    assert_eq!(ended.metadata.as_ref().unwrap().stop_reason, Some(StopReason::EndTurn));
    harness.skip_events().assert_events(&[]);
}

#[test]
fn a_turn_with_a_damaged_payload_does_not_count_as_completed() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.turn_started(None, TurnMetadata::default()));
    harness.agent(|s| s.partially_unparsed("toy", "status is missing", None)).exit(0);
    let EventData::TurnEnded(ended) = &harness.events.last().unwrap().data else { panic!() };
    assert_eq!(ended.status, TurnStatus::Failed);
}

use interlingua_schema::{ContentPart, EventData, TurnMetadata, Visibility};

use super::harness::Harness;
use crate::{MessageDraft, MessageEnd, TurnEnd, UserMessage};

fn assistant_message(text: &str) -> (MessageDraft, MessageEnd) {
    (MessageDraft::assistant(), MessageEnd::text(text))
}

#[test]
fn a_message_that_does_not_stream_gets_start_and_delta() {
    Harness::with_session()
        .agent(|s| s.message_finished("m", assistant_message("Hi").0, assistant_message("Hi").1))
        .assert_events(&["*+1 message/assistant", "*~1 Hi", "=1 message/assistant Hi"]);
}

#[test]
fn streamed_text_is_not_repeated_and_missing_text_is_added() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.message_started("m", MessageDraft::assistant())).agent(|s| s.message_delta("m", "Hel"));
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    harness.assert_events(&["+1 message/assistant", "~1 Hel", "*~1 lo", "=1 message/assistant Hello"]);
    harness
        .agent(|s| s.message_delta("n", "Hello"))
        .agent(|s| s.message_finished("n", MessageDraft::assistant(), MessageEnd::as_streamed()));
    harness.assert_events(&["*+2 message/assistant", "~2 Hello", "=2 message/assistant Hello"]);
}

#[test]
fn a_final_text_that_contradicts_the_stream_is_a_new_item() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.message_delta("m", "Bye"))
        .agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    harness.assert_events(&[
        "*+1 message/assistant",
        "~1 Bye",
        "*=1 message/assistant! Bye",
        "*+2 message/assistant",
        "*~2 Hello",
        "=2 message/assistant Hello",
    ]);
}

#[test]
fn an_abandoned_message_fails_with_its_streamed_text() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.message_delta("m", "Hel")).agent(|s| s.message_abandoned("m"));
    harness.assert_events(&["*+1 message/assistant", "~1 Hel", "=1 message/assistant! Hel"]);
}

#[test]
fn a_second_end_and_late_deltas_are_ignored() {
    let mut harness = Harness::with_session();
    harness.agent(|s| s.message_finished("m", assistant_message("Hi").0, assistant_message("Hi").1)).skip_events();
    harness
        .agent(|s| s.message_started("m", MessageDraft::assistant()))
        .agent(|s| s.message_delta("m", "more"))
        .agent(|s| s.message_finished("m", assistant_message("Hi").0, assistant_message("Hi").1))
        .assert_events(&[]);
}

#[test]
fn a_second_end_with_another_text_is_another_message() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.message_delta("m", "Hi"))
        .agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::as_streamed()))
        .skip_events();
    harness.agent(|s| s.message_finished("m", assistant_message("Hi").0, assistant_message("Hi").1)).assert_events(&[]);
    harness
        .agent(|s| s.message_finished("m", assistant_message("Hello").0, assistant_message("Hello").1))
        .assert_events(&["*+2 message/assistant", "*~2 Hello", "=2 message/assistant Hello"]);
}

#[test]
fn redacted_reasoning_is_an_empty_part_without_delta() {
    let redacted = MessageDraft::reasoning(Visibility::Private);
    Harness::with_session()
        .agent(|s| s.message_finished("m", redacted, MessageEnd::text("")))
        .assert_events(&["*+1 message/assistant ()", "=1 message/assistant ()"]);
}

#[test]
fn parts_follow_the_text() {
    let image = ContentPart::Image { path: "cat.png".into(), mime: None };
    let end = MessageEnd::text("Look").with_part(image.clone());
    let mut harness = Harness::with_session();
    harness.agent(|s| s.message_delta("m", "Look")).agent(|s| s.message_finished("m", MessageDraft::assistant(), end));
    harness.assert_events(&["*+1 message/assistant", "~1 Look", "=1 message/assistant Look <cat.png>"]);
    harness.agent(|s| s.user_message("u", UserMessage::new(vec![image])));
    harness.assert_events(&["*turn.started", "*+2 message/user", "=2 message/user <cat.png>"]);
}

#[test]
fn a_message_finished_after_its_turn_is_shown_only_if_it_has_more_text() {
    let mut harness = Harness::with_session();
    harness
        .agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.message_delta("m", "Hel"))
        .agent(|s| s.message_delta("n", "Bye"));
    harness.agent(|s| s.turn_ended(TurnEnd::new())).skip_events();
    harness.agent(|s| s.message_finished("n", MessageDraft::assistant(), MessageEnd::text("Bye"))).assert_events(&[]);
    harness.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    harness.assert_events(&["*+3 message/assistant", "*~3 Hello", "=3 message/assistant Hello"]);
}

#[test]
fn reasoning_is_marked_before_its_first_delta() {
    let mut harness = Harness::with_session();
    let thought = || MessageDraft::reasoning(Visibility::Private);
    harness.agent(|s| s.message_started("streamed", thought())).agent(|s| s.message_delta("streamed", "Hm"));
    harness.agent(|s| s.message_finished("whole", thought(), MessageEnd::text("Hm")));
    harness.agent(|s| s.message_started("text", MessageDraft::assistant()));
    let starts: Vec<_> = harness
        .events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemStarted(data) => Some(data.item.content.clone()),
            _ => None,
        })
        .collect();
    let reasoning = vec![ContentPart::reasoning("", Visibility::Private)];
    assert_eq!(starts, [reasoning.clone(), reasoning, Vec::new()]);
}

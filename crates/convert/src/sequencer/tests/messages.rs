use interlingua_schema::{ContentPart, EventData, TurnMetadata, Visibility};

use super::play::Play;
use crate::{MessageDraft, MessageEnd, TurnEnd, UserMessage};

fn say(text: &str) -> (MessageDraft, MessageEnd) {
    (MessageDraft::assistant(), MessageEnd::text(text))
}

#[test]
fn a_message_that_does_not_stream_gets_start_and_delta() {
    Play::begun().agent(|s| s.message_finished("m", say("Hi").0, say("Hi").1)).shows(&[
        "*+1 message/assistant",
        "*~1 Hi",
        "=1 message/assistant Hi",
    ]);
}

#[test]
fn what_was_streamed_is_not_said_again_and_what_is_missing_is_added() {
    let mut play = Play::begun();
    play.agent(|s| s.message_started("m", MessageDraft::assistant())).agent(|s| s.message_delta("m", "Hel"));
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    play.shows(&["+1 message/assistant", "~1 Hel", "*~1 lo", "=1 message/assistant Hello"]);
    play.agent(|s| s.message_delta("n", "Hello"))
        .agent(|s| s.message_finished("n", MessageDraft::assistant(), MessageEnd::as_streamed()));
    play.shows(&["*+2 message/assistant", "~2 Hello", "=2 message/assistant Hello"]);
}

#[test]
fn a_final_text_that_contradicts_is_a_new_item() {
    let mut play = Play::begun();
    play.agent(|s| s.message_delta("m", "Bye"))
        .agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    play.shows(&[
        "*+1 message/assistant",
        "~1 Bye",
        "*=1 message/assistant! Bye",
        "*+2 message/assistant",
        "*~2 Hello",
        "=2 message/assistant Hello",
    ]);
}

#[test]
fn an_abandoned_message_fails_with_what_it_said() {
    let mut play = Play::begun();
    play.agent(|s| s.message_delta("m", "Hel")).agent(|s| s.message_abandoned("m"));
    play.shows(&["*+1 message/assistant", "~1 Hel", "=1 message/assistant! Hel"]);
}

#[test]
fn a_second_end_and_late_deltas_say_nothing() {
    let mut play = Play::begun();
    play.agent(|s| s.message_finished("m", say("Hi").0, say("Hi").1)).skip();
    play.agent(|s| s.message_started("m", MessageDraft::assistant()))
        .agent(|s| s.message_delta("m", "more"))
        .agent(|s| s.message_finished("m", say("Hi").0, say("Hi").1))
        .shows(&[]);
}

#[test]
fn a_second_end_that_says_something_else_is_another_message() {
    let mut play = Play::begun();
    play.agent(|s| s.message_delta("m", "Hi"))
        .agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::as_streamed()))
        .skip();
    play.agent(|s| s.message_finished("m", say("Hi").0, say("Hi").1)).shows(&[]);
    play.agent(|s| s.message_finished("m", say("Hello").0, say("Hello").1)).shows(&[
        "*+2 message/assistant",
        "*~2 Hello",
        "=2 message/assistant Hello",
    ]);
}

#[test]
fn redacted_reasoning_is_an_empty_part_without_delta() {
    let redacted = MessageDraft::reasoning(Visibility::Private);
    Play::begun()
        .agent(|s| s.message_finished("m", redacted, MessageEnd::text("")))
        .shows(&["*+1 message/assistant ()", "=1 message/assistant ()"]);
}

#[test]
fn parts_follow_the_text() {
    let image = ContentPart::Image { path: "cat.png".into(), mime: None };
    let end = MessageEnd::text("Look").with_part(image.clone());
    let mut play = Play::begun();
    play.agent(|s| s.message_delta("m", "Look")).agent(|s| s.message_finished("m", MessageDraft::assistant(), end));
    play.shows(&["*+1 message/assistant", "~1 Look", "=1 message/assistant Look <cat.png>"]);
    play.agent(|s| s.user_message("u", UserMessage::new(vec![image])));
    play.shows(&["*turn.started", "*+2 message/user", "=2 message/user <cat.png>"]);
}

#[test]
fn a_message_finished_after_its_turn_is_said_only_if_it_says_more() {
    let mut play = Play::begun();
    play.agent(|s| s.turn_started(None, TurnMetadata::default()))
        .agent(|s| s.message_delta("m", "Hel"))
        .agent(|s| s.message_delta("n", "Bye"));
    play.agent(|s| s.turn_ended(TurnEnd::new())).skip();
    play.agent(|s| s.message_finished("n", MessageDraft::assistant(), MessageEnd::text("Bye"))).shows(&[]);
    play.agent(|s| s.message_finished("m", MessageDraft::assistant(), MessageEnd::text("Hello")));
    play.shows(&["*+3 message/assistant", "*~3 Hello", "=3 message/assistant Hello"]);
}

#[test]
fn reasoning_is_known_as_such_before_its_first_delta() {
    let mut play = Play::begun();
    let thought = || MessageDraft::reasoning(Visibility::Private);
    play.agent(|s| s.message_started("streamed", thought())).agent(|s| s.message_delta("streamed", "Hm"));
    play.agent(|s| s.message_finished("whole", thought(), MessageEnd::text("Hm")));
    play.agent(|s| s.message_started("text", MessageDraft::assistant()));
    let starts: Vec<_> = play
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

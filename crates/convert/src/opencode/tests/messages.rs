//! What is said: text, reasoning, history, and what makes no sense.

use interlingua_native::Union as _;
use interlingua_native::opencode::Event;
use interlingua_schema::{ContentPart, ItemKind, ItemStatus, Role, Visibility};
use serde_json::{Value, json};

use super::play::{CREATED, Play, said};
use crate::losses::count_unparsed;
use crate::opencode::SYNC;

#[test]
fn every_variant_of_the_schema_is_accounted_for() {
    for (tag, _) in Event::TAGS {
        let mut play = Play::begun("1.18.33");
        play.say(tag, json!({}));
        play.say(tag, json!({ "sessionID": "ses_1" }));
        play.end();
        let tally = play.stream.stats();
        assert_eq!(tally.unaccounted, 0, "{tag}");
        let unknown = tally.first_unparsed.as_deref().is_some_and(|why| why.contains("does not know"));
        assert!(!unknown, "{tag} is missing from the table");
    }
}

#[test]
fn reasoning_and_text_stream_under_the_same_field() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    for (id, kind) in [("prt_r", "reasoning"), ("prt_x", "text")] {
        play.part("ses_1", "msg_2", json!({ "id": id, "type": kind, "text": "", "time": { "start": 1 } }));
        for delta in ["a ", "b "] {
            let properties =
                json!({ "sessionID": "ses_1", "messageID": "msg_2", "partID": id, "field": "text", "delta": delta });
            play.say("message.part.delta", properties);
        }
        let time = json!({ "start": 1, "end": 2 });
        play.part("ses_1", "msg_2", json!({ "id": id, "type": kind, "text": "a b ", "time": time }));
    }
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    let items = play.completed();
    assert_eq!(said(&items, Role::User), ["hi"]);
    assert_eq!(items[1].content, [ContentPart::reasoning("a b ", Visibility::Public)]);
    assert_eq!(items[2].content, [ContentPart::text("a b ")]);
    let deltas = play.events.iter().filter(|event| event.data.kind() == "item.delta" && !event.origin.is_synthetic());
    assert_eq!(deltas.count(), 4);
}

#[test]
fn in_1_1_the_words_ride_on_the_part_and_lose_their_white_space() {
    let mut play = Play::begun("1.1.34");
    let say = |play: &mut Play, part: Value, delta: Option<&str>| {
        let mut properties = json!({ "part": part });
        if let Some(delta) = delta {
            properties["delta"] = delta.into();
        }
        play.receive(&json!({ "type": "message.part.updated", "properties": properties }).to_string());
    };
    let part = |text: &str, end: bool| {
        let time = if end { json!({ "start": 1, "end": 2 }) } else { json!({ "start": 1 }) };
        json!({ "id": "prt_1", "sessionID": "ses_1", "messageID": "msg_2", "type": "text", "text": text, "time": time })
    };
    play.prompt_sent("hi").answer("ses_1", "msg_2", "msg_hi", &json!({}));
    say(&mut play, part("one ", false), Some("one "));
    say(&mut play, part("one two \n", false), Some("two \n"));
    say(&mut play, part("one two", true), None);
    play.done("ses_1", "msg_2", "stop").idle("ses_1");
    let items = play.completed();
    assert_eq!(said(&items, Role::Assistant), ["one two"]);
    assert!(items.iter().all(|item| item.status == ItemStatus::Completed));
    let deltas = play.events.iter().filter(|event| event.data.kind() == "item.delta" && !event.origin.is_synthetic());
    assert_eq!(deltas.count(), 2);
}

#[test]
fn what_a_cut_stream_left_is_failed() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({}));
    play.part("ses_1", "msg_2", json!({ "id": "prt_2", "type": "text", "text": "half", "time": { "start": 1 } }));
    let status = json!({ "type": "retry", "attempt": 1, "message": "cut", "next": 5 });
    play.say("session.status", json!({ "sessionID": "ses_1", "status": status }));
    play.text("ses_1", "msg_2", "prt_3", "half and half").done("ses_1", "msg_2", "stop").idle("ses_1");
    let items = play.completed();
    let statuses: Vec<(ItemKind, ItemStatus)> =
        items.iter().map(|item| (item.kind.clone(), item.status.clone())).collect();
    assert_eq!(statuses[1], (ItemKind::Message, ItemStatus::Failed));
    assert_eq!(statuses[2], (ItemKind::Status, ItemStatus::Completed));
    assert_eq!(statuses[3], (ItemKind::Message, ItemStatus::Completed));
}

#[test]
fn a_fork_replays_nothing() {
    let mut play = Play::begun("1.18.33");
    let info =
        json!({ "id": "msg_o", "role": "assistant", "time": { "created": CREATED - 5, "completed": CREATED - 4 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    play.text("ses_1", "msg_o", "prt_o", "old").tool(
        "msg_o",
        "bash",
        json!({ "status": "completed", "output": "old" }),
    );
    assert_eq!(play.kinds(), ["session.started"]);
}

#[test]
fn what_opencode_adds_is_not_the_users() {
    let mut play = Play::begun("1.18.33");
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).done("ses_1", "msg_2", "stop");
    let info = json!({ "id": "msg_s", "role": "user", "time": { "created": CREATED + 1 } });
    play.say("message.updated", json!({ "sessionID": "ses_1", "info": info }));
    play.part("ses_1", "msg_s", json!({ "id": "prt_s", "type": "text", "text": "Continue", "synthetic": true }));
    play.busy("ses_1");
    let items = play.completed();
    assert_eq!(said(&items, Role::User), ["a"]);
    assert_eq!((items[1].kind.clone(), &items[1].content), (ItemKind::System, &vec![ContentPart::text("Continue")]));
}

#[test]
fn wrapped_events_are_read_and_their_duplicates_dropped() {
    let mut play = Play::new();
    let event = json!({ "id": "evt_1", "type": "session.created", "properties": { "info": { "id": "ses_1" } } });
    let sync = json!({ "type": "sync", "syncEvent": { "type": "session.created.1", "data": {} } });
    play.receive(&json!({ "directory": "/w", "payload": event }).to_string());
    play.receive(&json!({ "directory": "/w", "payload": sync }).to_string());
    assert_eq!(play.kinds(), ["session.started"]);
    assert_eq!(play.stream.stats().dropped[SYNC], 1);
}

#[test]
fn garbage_is_unparsed_and_the_stream_goes_on() {
    let mut play = Play::begun("1.18.33");
    for line in [
        "",
        "{",
        "[]",
        "7",
        r#"{"type":"no.such"}"#,
        r#"{"type":"message.updated","properties":5}"#,
        r#"{"payload":3}"#,
    ] {
        play.receive(line);
    }
    play.prompt_sent("a").answer("ses_1", "msg_2", "msg_a", &json!({})).text("ses_1", "msg_2", "prt_2", "b");
    assert_eq!(said(&play.completed(), Role::Assistant), ["b"]);
    // That the properties are none is said by the place as well.
    assert_eq!(count_unparsed(play.stream.stats()), 8);
}

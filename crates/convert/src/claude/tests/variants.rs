use interlingua_native::Union as _;
use interlingua_native::claude::{ContentBlock, ControlRequestInner, StdoutMessage};
use interlingua_schema::{ContentPart, EventData};
use serde_json::{Value, json};

use super::{ONE_SHOT, Played, assistant, init, play, recv};
use crate::losses::count_unparsed;

/// Every type of line that the schema knows is used or dropped by name: a new one is found here.
#[test]
fn every_variant_has_its_place() {
    for (tag, _) in StdoutMessage::TAGS {
        let (kind, subtype) = tag.split_once('/').unwrap_or((tag, ""));
        let mut line = json!({ "type": kind, "session_id": "s" });
        if !subtype.is_empty() {
            line["subtype"] = json!(subtype);
        }
        if kind == "control_request" {
            line["request_id"] = json!("r");
            line["request"] = json!({ "subtype": "can_use_tool", "tool_name": "Bash" });
        }
        let played = play(&ONE_SHOT, &[init(), recv(line)]);
        assert_has_its_place(tag, &played);
    }
}

/// What is made up here lacks parts, and that is said; but the converter knows what it is.
#[track_caller]
fn assert_has_its_place(tag: &str, played: &Played) {
    let reasons = played.tally.unparsed_reasons.keys();
    let mut unknown = reasons.filter(|reason| {
        let error = &reason.error;
        error.starts_with("unknown") || error.contains("unknown tag") || error.contains("does not know")
    });
    assert_eq!(unknown.next(), None, "{tag}");
}

#[test]
fn every_request_and_every_block_has_its_place() {
    for (tag, _) in ControlRequestInner::TAGS {
        let line = json!({ "type": "control_request", "request_id": "r", "request": { "subtype": tag } });
        assert_has_its_place(tag, &play(&ONE_SHOT, &[init(), recv(line)]));
    }
    for (tag, _) in ContentBlock::TAGS {
        let block: Value = json!({ "type": tag, "id": "x", "tool_use_id": "x", "name": "x" });
        assert_has_its_place(tag, &play(&ONE_SHOT, &[init(), assistant("m", block)]));
    }
}

#[test]
fn what_the_schema_does_not_know_is_unparsed() {
    let lines = [
        json!({ "type": "system", "subtype": "brand_new", "session_id": "s" }),
        json!({ "type": "control_request", "request_id": "r", "request": { "subtype": "brand_new" } }),
        json!({ "type": "assistant", "session_id": "s", "message": { "id": "m", "content": [{ "type": "brand_new" }] } }),
        json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": [{ "type": "brand_new" }] } }),
        json!({ "type": "stream_event", "session_id": "s", "event": { "type": "brand_new" } }),
    ];
    for line in lines {
        let played = play(&ONE_SHOT, &[init(), recv(line.clone())]);
        assert_eq!(count_unparsed(&played.tally), 1, "{line}");
    }
}

#[test]
fn content_that_is_a_plain_string_is_a_text_block() {
    let message = json!({ "id": "m", "role": "assistant", "content": "Hello." });
    let line = json!({ "type": "assistant", "session_id": "s", "message": message });
    let played = play(&ONE_SHOT, &[init(), recv(line)]);
    assert_eq!(count_unparsed(&played.tally), 0, "{:?}", played.tally.unparsed_reasons);
    let is_said = played.events.iter().any(|event| match &event.data {
        EventData::ItemCompleted(completed) => completed.item.content == [ContentPart::text("Hello.")],
        _ => false,
    });
    assert!(is_said, "{:?}", played.events);
}

#[test]
fn a_part_that_does_not_fit_is_named_and_the_rest_is_shown() {
    let content = json!([{ "type": "text", "text": "Hello." }, 5]);
    let line = json!({ "type": "assistant", "session_id": "s", "message": { "id": "m", "content": content } });
    let played = play(&ONE_SHOT, &[init(), recv(line)]);
    let reasons: Vec<&str> = played.tally.unparsed_reasons.keys().map(|reason| reason.error.as_str()).collect();
    assert_eq!(reasons[..1], ["at message.content.1: expected an object, found a number"]);
    assert!(played.events.iter().any(|event| matches!(event.data, EventData::ItemCompleted(_))));
}

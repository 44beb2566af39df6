use interlingua_native::Union as _;
use interlingua_native::claude::{ContentBlock, ControlRequestInner, StdoutMessage};
use interlingua_schema::{ContentPart, EventData};
use serde_json::{Value, json};

use super::{Converted, ONE_SHOT, assistant, convert, init, received};
use crate::losses::count_unparsed;

/// Every type of line in the schema is converted or dropped by name. A new type fails here.
#[test]
fn every_message_type_is_handled() {
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
        let converted = convert(&ONE_SHOT, &[init(), received(line)]);
        assert_is_handled(tag, &converted);
    }
}

/// The lines of these tests lack fields, which is reported; but no type may be unknown to the converter.
#[track_caller]
fn assert_is_handled(tag: &str, converted: &Converted) {
    let reasons = converted.stats.unparsed_reasons.keys();
    let mut unknown = reasons.filter(|reason| {
        let error = &reason.error;
        error.starts_with("unknown") || error.contains("unknown tag") || error.contains("does not know")
    });
    assert_eq!(unknown.next(), None, "{tag}");
}

#[test]
fn every_control_request_and_content_block_is_handled() {
    for (tag, _) in ControlRequestInner::TAGS {
        let line = json!({ "type": "control_request", "request_id": "r", "request": { "subtype": tag } });
        assert_is_handled(tag, &convert(&ONE_SHOT, &[init(), received(line)]));
    }
    for (tag, _) in ContentBlock::TAGS {
        let block: Value = json!({ "type": tag, "id": "x", "tool_use_id": "x", "name": "x" });
        assert_is_handled(tag, &convert(&ONE_SHOT, &[init(), assistant("m", block)]));
    }
}

#[test]
fn types_that_are_not_in_the_schema_are_unparsed() {
    let lines = [
        json!({ "type": "system", "subtype": "brand_new", "session_id": "s" }),
        json!({ "type": "control_request", "request_id": "r", "request": { "subtype": "brand_new" } }),
        json!({ "type": "assistant", "session_id": "s", "message": { "id": "m", "content": [{ "type": "brand_new" }] } }),
        json!({ "type": "user", "session_id": "s", "message": { "role": "user", "content": [{ "type": "brand_new" }] } }),
        json!({ "type": "stream_event", "session_id": "s", "event": { "type": "brand_new" } }),
    ];
    for line in lines {
        let converted = convert(&ONE_SHOT, &[init(), received(line.clone())]);
        assert_eq!(count_unparsed(&converted.stats), 1, "{line}");
    }
}

#[test]
fn content_that_is_a_plain_string_is_a_text_block() {
    let message = json!({ "id": "m", "role": "assistant", "content": "Hello." });
    let line = json!({ "type": "assistant", "session_id": "s", "message": message });
    let converted = convert(&ONE_SHOT, &[init(), received(line)]);
    assert_eq!(count_unparsed(&converted.stats), 0, "{:?}", converted.stats.unparsed_reasons);
    let is_shown = converted.events.iter().any(|event| match &event.data {
        EventData::ItemCompleted(completed) => completed.item.content == [ContentPart::text("Hello.")],
        _ => false,
    });
    assert!(is_shown, "{:?}", converted.events);
}

#[test]
fn a_part_that_does_not_fit_is_reported_and_the_rest_is_shown() {
    let content = json!([{ "type": "text", "text": "Hello." }, 5]);
    let line = json!({ "type": "assistant", "session_id": "s", "message": { "id": "m", "content": content } });
    let converted = convert(&ONE_SHOT, &[init(), received(line)]);
    let reasons: Vec<&str> = converted.stats.unparsed_reasons.keys().map(|reason| reason.error.as_str()).collect();
    assert_eq!(reasons[..1], ["at message.content.1: expected an object, found a number"]);
    assert!(converted.events.iter().any(|event| matches!(event.data, EventData::ItemCompleted(_))));
}

use interlingua_native::Union as _;
use interlingua_native::claude::{ContentBlock, ControlRequestInner, StdoutMessage};
use serde_json::{Value, json};

use super::{ONE_SHOT, assistant, init, play, recv};

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
        assert_eq!(played.tally.unparsed, 0, "{tag}: {:?}", played.tally.first_unparsed);
    }
}

#[test]
fn every_request_and_every_block_has_its_place() {
    for (tag, _) in ControlRequestInner::TAGS {
        let line = json!({ "type": "control_request", "request_id": "r", "request": { "subtype": tag } });
        assert_eq!(play(&ONE_SHOT, &[init(), recv(line)]).tally.unparsed, 0, "{tag}");
    }
    for (tag, _) in ContentBlock::TAGS {
        let block: Value = json!({ "type": tag, "id": "x", "tool_use_id": "x", "name": "x" });
        assert_eq!(play(&ONE_SHOT, &[init(), assistant("m", block)]).tally.unparsed, 0, "{tag}");
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
        assert_eq!(play(&ONE_SHOT, &[init(), recv(line.clone())]).tally.unparsed, 1, "{line}");
    }
}

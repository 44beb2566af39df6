//! Additions of a later release are kept.

use serde_json::{Value, json};

use crate::compiled::{decode, decode_leniently, encode, unknown};
use interlingua_native_runtime::Union;

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn an_unknown_tag_keeps_the_whole_payload() {
    use crate::compiled::ref_union::Event;
    let text = r#"{"at": 1.50, "type": "paused", "by": {"type": "started", "deep": [1, {"é": "\u00e9"}]}}"#;
    let decoded = decode_leniently::<Event>(text);
    let Event::Unknown { tag, raw } = &decoded.value else { panic!("{decoded:?}") };
    assert_eq!(tag, "paused");
    assert_eq!(raw.to_value(), value(text));
    assert_eq!(encode(&decoded.value), value(text));
    assert_eq!(unknown(&decoded), [".: unknown tag `paused` of Event"]);
    assert_eq!(decoded.losses.tag, "paused");
    assert_eq!(decoded.losses.repairs, []);
}

#[test]
fn an_unknown_second_tag_is_reported_with_the_first() {
    use crate::compiled::two_key_tags::Line;
    for text in [
        r#"{"type":"system","subtype":"hook","tools":3}"#,
        r#"{"subtype":"hook","tools":3,"type":"system"}"#,
        r#"{"type":"system","tools":3,"subtype":"hook"}"#,
    ] {
        let decoded = decode_leniently::<Line>(text);
        let Line::Unknown { tag, raw } = &decoded.value else { panic!("{decoded:?}") };
        assert_eq!(tag, "system/hook");
        assert_eq!(raw.to_value(), value(text));
        assert_eq!(unknown(&decoded), [".: unknown tag `system/hook` of Line"]);
        assert_eq!(decoded.losses.tag, "system/hook");
    }
}

#[test]
fn a_missing_second_tag_is_an_unknown_tag() {
    use crate::compiled::two_key_tags::Line;
    let decoded = decode_leniently::<Line>(r#"{"type":"system","tools":[]}"#);
    let Line::Unknown { tag, raw } = decoded.value else { panic!("{decoded:?}") };
    assert_eq!(tag, "system");
    assert_eq!(raw.to_value(), json!({ "type": "system", "tools": [] }));
}

#[test]
fn an_unknown_method_keeps_its_params_and_siblings() {
    use crate::compiled::adjacent::{Request, RequestEnvelope, RequestId};
    for text in [
        r#"{"id":"a","method":"turn/steer","params":{"x":[1]}}"#,
        r#"{"params":{"x":[1]},"method":"turn/steer","id":"a"}"#,
        r#"{"trace":{"y":2},"method":"turn/steer","id":"a","params":null,"jsonrpc":"2.0"}"#,
        r#"{"method":"turn/steer","id":"a"}"#,
    ] {
        let decoded = decode_leniently::<RequestEnvelope>(text);
        assert_eq!(unknown(&decoded), [".: unknown tag `turn/steer` of Request"]);
        assert_eq!(decoded.value.id, RequestId::Text("a".to_owned()));
        let Request::Unknown { tag, raw } = &decoded.value.message else { panic!("{decoded:?}") };
        assert_eq!((tag.as_str(), raw.get()), ("turn/steer", text));
        assert_eq!(encode(&decoded.value), value(text));
        assert_eq!(encode(&decoded.value.message), value(text));
    }
}

#[test]
fn an_unknown_tag_inside_a_list_is_one_unknown_element() {
    use crate::compiled::any_of::{Message, MessageContentItem};
    let text = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"video","url":"b"}]}"#;
    let decoded = decode_leniently::<Message>(text);
    let variants: Vec<&str> = decoded.value.content.iter().flatten().map(MessageContentItem::variant).collect();
    assert_eq!(variants, ["Text", "Unknown"]);
    assert_eq!(unknown(&decoded), ["content.1: unknown tag `video` of MessageContentItem"]);
    assert_eq!(encode(&decoded.value), value(text));
}

#[test]
fn an_unknown_enum_value_keeps_its_text() {
    use crate::compiled::open_enum::{Value, Vote, VoteMode};
    let decoded = decode_leniently::<Vote>(r#"{"value":"later","mode":"Read-Only"}"#);
    assert_eq!(
        unknown(&decoded),
        ["value: unknown value `later` of Value", "mode: unknown value `Read-Only` of VoteMode"]
    );
    let vote = decoded.value;
    assert_eq!(vote.value, Some(Value::Unknown("later".to_owned())));
    assert_eq!(vote.mode, Some(VoteMode::Unknown("Read-Only".to_owned())));
    assert_eq!(encode(&vote), json!({ "value": "later", "mode": "Read-Only" }));
}

#[test]
fn an_unknown_json_kind_is_kept() {
    use crate::compiled::kinds::{Content, Message};
    for content in [json!(5), json!(true), json!(-1.5)] {
        let decoded = decode_leniently::<Message>(&json!({ "content": content }).to_string());
        let losses = unknown(&decoded);
        assert!(losses[0].starts_with("content: expected Content, found a "), "{losses:?}");
        let message = decoded.value;
        let Some(Content::Unknown(raw)) = &message.content else { panic!("{message:?}") };
        assert_eq!(raw.to_value(), content);
        assert_eq!(encode(&message), json!({ "content": content }));
    }
}

#[test]
fn unknown_fields_are_skipped() {
    use crate::compiled::ids::Turn;
    let turn = decode::<Turn>(r#"{"new":{"a":[{}]},"id":"t","items":[{"type":"message","id":"m","new":1}]}"#);
    assert_eq!(encode(&turn), json!({ "id": "t", "items": [{ "type": "message", "id": "m" }] }));
}

/// Before the unknown parts are white space, escapes, an unknown key, and a list element that is removed.
#[test]
fn unknown_parts_are_named_by_their_original_path() {
    use crate::compiled::ids::Turn;
    let text = r#"{ "new": [{"status": "odd"}], "id": "t\"", "items": [ 5,
        {"id": "c", "type": "command", "status": "od\u0064"}, {"type": "wait", "id": "w"} ] }"#;
    let decoded = decode_leniently::<Turn>(text);
    let expected = ["items.1.status: unknown value `odd` of CommandItemStatus", "items.2: unknown tag `wait` of Item"];
    assert_eq!(unknown(&decoded), expected);
    assert_eq!(crate::compiled::removed(&decoded), ["items.0"]);
}

#[test]
fn a_very_long_unknown_tag_is_truncated() {
    use crate::compiled::ref_union::Event;
    let decoded = decode_leniently::<Event>(&json!({ "type": "é".repeat(70_000) }).to_string());
    assert_eq!(unknown(&decoded), [format!(".: unknown tag `{}…` of Event", "é".repeat(80))]);
}

#[test]
fn no_value_is_unknown_if_the_schema_allows_any_string() {
    use crate::compiled::open_enum::{Vote, VoteModel};
    let vote = decode::<Vote>(r#"{"model":"medium"}"#);
    assert_eq!(vote.model, Some(VoteModel::Unknown("medium".to_owned())));
    assert_eq!(decode::<Vote>(r#"{"model":"small"}"#).model, Some(VoteModel::Small));
}

//! Repairs: a part that does not fit is removed together with the nearest optional part around it, and nothing else.

use serde_json::json;

use crate::compiled::{decode_leniently, encode, removed};
use interlingua_native_runtime::{DecodeError, Native as _};

#[test]
fn a_list_element_without_its_id_is_removed() {
    use crate::compiled::ids::Turn;
    let decoded = decode_leniently::<Turn>(
        r#"{"id":"t","title":"x","items":[{"type":"message","id":"1"},{"type":"command","exitCode":0},{"type":"message","id":"3"}]}"#,
    );
    assert_eq!(removed(&decoded), ["items.1"]);
    assert_eq!(decoded.losses.repairs[0].reason, "CommandItem lacks `id`");
    let expected = json!({
        "id": "t", "title": "x", "items": [{ "type": "message", "id": "1" }, { "type": "message", "id": "3" }],
    });
    assert_eq!(encode(&decoded.value), expected);
}

#[test]
fn the_tag_of_a_removed_part_may_come_last() {
    use crate::compiled::ids::Turn;
    let decoded = decode_leniently::<Turn>(r#"{"items":[{"exitCode":0,"type":"command"}],"id":"t"}"#);
    assert_eq!(removed(&decoded), ["items.0"]);
    assert_eq!(encode(&decoded.value), json!({ "id": "t", "items": [] }));
}

#[test]
fn removed_parts_are_named_by_their_original_path() {
    use crate::compiled::ids::Turn;
    let decoded = decode_leniently::<Turn>(
        r#"{"id":"t","items":[{"type":"command"},{"type":"message","id":"2"},{"type":"command"},5]}"#,
    );
    assert_eq!(removed(&decoded), ["items.0", "items.2", "items.3"]);
    assert_eq!(encode(&decoded.value), json!({ "id": "t", "items": [{ "type": "message", "id": "2" }] }));
}

#[test]
fn a_missing_id_removes_the_optional_part_around_it() {
    use crate::compiled::adjacent::NotificationEnvelope;
    let decoded =
        decode_leniently::<NotificationEnvelope>(r#"{"emittedAtMs":1,"method":"turn/started","params":{"turn":{}}}"#);
    assert_eq!(removed(&decoded), ["params.turn"]);
    assert_eq!(encode(&decoded.value), json!({ "emittedAtMs": 1, "method": "turn/started", "params": {} }));
    let decoded = decode_leniently::<crate::compiled::maps::Settings>(r#"{"servers":{"a":{"port":1},"b":{"id":"x"}}}"#);
    assert_eq!(removed(&decoded), ["servers.a"]);
    assert_eq!(encode(&decoded.value), json!({ "servers": { "b": { "id": "x" } } }));
}

#[test]
fn a_wrong_type_removes_its_field() {
    use crate::compiled::ids::Turn;
    let cases = [
        (r#"{"id":"t","title":5}"#, "title", json!({ "id": "t" })),
        (r#"{"id":"t","items":{}}"#, "items", json!({ "id": "t" })),
        (r#"{"id":"t","items":[7]}"#, "items.0", json!({ "id": "t", "items": [] })),
        (r#"{"id":"t","first":"x"}"#, "first", json!({ "id": "t" })),
        (r#"{"id":"t","first":{"type":9}}"#, "first.type", json!({ "id": "t" })),
        (r#"{"id":"t","first":{"id":"x"}}"#, "first", json!({ "id": "t" })),
        (
            r#"{"id":"t","items":[{"type":"command","id":"c","exitCode":"one","status":false}]}"#,
            "items.0.exitCode items.0.status",
            json!({ "id": "t", "items": [{ "type": "command", "id": "c" }] }),
        ),
    ];
    for (text, path, expected) in cases {
        let decoded = decode_leniently::<Turn>(text);
        assert_eq!(removed(&decoded).join(" "), path, "{text}");
        assert_eq!(encode(&decoded.value), expected, "{text}");
    }
}

#[test]
fn a_wrong_type_in_params_removes_its_field() {
    use crate::compiled::adjacent::RequestEnvelope;
    for text in [
        r#"{"id":1,"method":"turn/start","params":{"threadId":[],"input":[{"text":"no id"},{"id":"a"}]}}"#,
        r#"{"params":{"input":[{"text":"no id"},{"id":"a"}],"threadId":[]},"method":"turn/start","id":1}"#,
    ] {
        let decoded = decode_leniently::<RequestEnvelope>(text);
        let mut paths = removed(&decoded);
        paths.sort_unstable();
        assert_eq!(paths, ["params.input.0", "params.threadId"]);
        let expected = json!({ "id": 1, "method": "turn/start", "params": { "input": [{ "id": "a" }] } });
        assert_eq!(encode(&decoded.value), expected);
    }
}

#[test]
fn a_payload_without_its_own_id_is_an_error_with_the_path() {
    use crate::compiled::ids::Turn;
    let error = Turn::decode(r#"{"title":"x"}"#).unwrap_err();
    assert!(matches!(&error, DecodeError::Mismatch { path, reason, .. } if path == "." && reason.contains("`id`")));
    let error =
        crate::compiled::adjacent::RequestEnvelope::decode(r#"{"method":"turn/start","params":{}}"#).unwrap_err();
    assert!(error.to_string().contains("`turn/start` does not fit its type"), "{error}");
    let error = crate::compiled::two_key_tags::Line::decode(r#"{"subtype":"init"}"#).unwrap_err();
    assert!(error.to_string().contains("lacks `type`"), "{error}");
}

#[test]
fn a_text_that_is_not_json_is_an_error() {
    use crate::compiled::ref_union::Event;
    for text in ["", "{", "plain text", r#"{"type":"started"} {}"#, r#"{"type":"started","at":1"#, "\u{0}"] {
        assert!(matches!(Event::decode(text), Err(DecodeError::NotJson { .. })), "{text:?}");
    }
    for text in ["null", "5", "[]", r#""started""#, "{}"] {
        assert!(matches!(Event::decode(text), Err(DecodeError::Mismatch { .. })), "{text}");
    }
}

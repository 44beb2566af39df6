//! An object without a needed field is removed, and the loss names the field.

use serde_json::json;

use crate::compiled::needed::{Event, EventContent, ListedEvent};
use crate::compiled::{decode, decode_leniently, encode, removed, round_trip};
use interlingua_native_runtime::{DecodeError, Losses, MissingFields, Native as _, Repair};

fn repair(path: &str, reason: &str) -> Repair {
    Repair { path: path.to_owned(), reason: reason.to_owned() }
}

#[test]
fn a_list_element_without_a_needed_field_is_removed() {
    for item in [r#"{"id":"b"}"#, r#"{"id":"b","status":null}"#] {
        let decoded = decode_leniently::<Event>(&format!(
            r#"{{"type":"listed","content":[],"items":[{{"id":"a","status":"done","size":1}},{item}]}}"#
        ));
        assert_eq!(decoded.losses.repairs, [repair("items.1", "Item lacks `status`")]);
        assert_eq!(decoded.losses.tag, "listed");
        let expected =
            json!({ "type": "listed", "content": [], "items": [{ "id": "a", "status": "done", "size": 1 }] });
        assert_eq!(encode(&decoded.value), expected);
    }
}

#[test]
fn a_payload_without_a_needed_part_is_an_error_with_the_cause() {
    let cases = [
        (r#"{"type":"completed"}"#, ".", "CompletedEvent lacks `item`"),
        (r#"{"type":"completed","item":null}"#, ".", "CompletedEvent lacks `item`"),
        (r#"{"type":"completed","item":{"id":"a"}}"#, "item", "Item lacks `status`"),
        (r#"{"item":{"id":"a","status":5},"type":"completed"}"#, "item.status", "expected a string, found a number"),
        (r#"{"type":"completed","item":{"id":5,"status":"done"}}"#, "item.id", "expected a string, found a number"),
        (
            r#"{"type":"completed","item":{"id":"a","status":"done","code":"x"}}"#,
            "item.code",
            "expected a whole number, found a string",
        ),
        (r#"{"type":"completed","item":[]}"#, "item", "expected an object, found a list"),
    ];
    for (text, path, reason) in cases {
        let expected =
            DecodeError::Mismatch { tag: "completed".to_owned(), path: path.to_owned(), reason: reason.to_owned() };
        assert_eq!(Event::decode(text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn a_needed_field_that_the_schema_leaves_optional_may_be_missing_or_null() {
    decode::<Event>(r#"{"type":"completed","item":{"id":"a","status":"done","size":1}}"#);
    decode::<Event>(
        r#"{"type":"completed","item":{"id":"a","status":"done","size":1,"code":null,"detail":null},"note":null}"#,
    );
}

#[test]
fn a_wrong_type_removes_only_a_field_that_is_not_needed() {
    let decoded =
        decode_leniently::<Event>(r#"{"type":"completed","item":{"id":"a","status":"done","size":1,"detail":7}}"#);
    assert_eq!(removed(&decoded), ["item.detail"]);
}

#[test]
fn a_list_with_a_short_form_may_be_a_string() {
    let event = round_trip::<Event>(r#"{"type":"listed","items":[],"content":"words"}"#);
    let Event::Listed(ListedEvent { content: Some(EventContent::Text(text)), .. }) = event else { panic!("{event:?}") };
    assert_eq!(text, "words");
    round_trip::<Event>(r#"{"type":"listed","items":[],"content":[{"id":"a","status":"done","size":1}]}"#);
}

#[test]
fn losses_are_repairs_missing_fields_and_unknown_parts() {
    let decoded = decode_leniently::<Event>(
        r#"{"type":"listed","content":true,"items":[{"id":"a"},{"id":"b","status":"later"},{"id":"c","status":"x","size":1}]}"#,
    );
    let losses: Vec<(&str, &str)> = decoded.losses.iter().collect();
    let expected = [
        ("items.0", "Item lacks `status`"),
        ("items.1", "Item lacks `size`"),
        ("content", "expected EventContent, found a boolean"),
        ("items.1.status", "unknown value `later` of ItemStatus"),
        ("items.2.status", "unknown value `x` of ItemStatus"),
    ];
    assert_eq!(losses, expected);
    assert_eq!(decoded.losses.len(), 5);
    assert!(Losses::default().is_empty());
}

#[test]
fn a_missing_expected_field_is_reported_and_its_object_is_kept() {
    for text in [r#"{"content":"x","type":"listed"}"#, r#"{"type":"listed","items":null,"content":"x"}"#] {
        let decoded = decode_leniently::<Event>(text);
        let missing = MissingFields { path: ".".to_owned(), reason: "ListedEvent lacks `items`".to_owned() };
        assert_eq!(decoded.losses.missing, [missing], "{text}");
        assert_eq!(encode(&decoded.value), json!({ "type": "listed", "content": "x" }));
    }
}

//! Duplicate keys: the last one counts, for fields and for tags.

use crate::compiled::{decode, decode_leniently, encode, unknown};
use interlingua_native_runtime::Union as _;

#[test]
fn the_last_field_wins() {
    use crate::compiled::ref_union::Event;
    let expected = decode::<Event>(r#"{"type":"finished","result":"b"}"#);
    for text in [
        r#"{"type":"finished","result":"a","result":"b"}"#,
        r#"{"result":"a","type":"finished","result":"b"}"#,
        r#"{"result":"a","result":"b","type":"finished"}"#,
        r#"{"result":5,"result":"b","type":"finished"}"#,
    ] {
        assert_eq!(decode::<Event>(text), expected, "{text}");
    }
    let null_last = decode::<Event>(r#"{"type":"finished","result":"a","result":null}"#);
    assert_eq!(null_last, decode::<Event>(r#"{"type":"finished"}"#));
}

#[test]
fn the_last_required_field_wins() {
    use crate::compiled::ids::Turn;
    assert_eq!(decode::<Turn>(r#"{"id":"a","id":"b"}"#).id, "b");
}

#[test]
fn the_last_tag_wins() {
    use crate::compiled::ref_union::Event;
    for text in [
        r#"{"type":"started","type":"finished"}"#,
        r#"{"type":"started","at":1,"result":"x","type":"finished"}"#,
        r#"{"result":"x","type":"started","type":"finished"}"#,
        r#"{"type":"paused","type":"finished"}"#,
        r#"{"type":"paused","result":"x","type":"finished"}"#,
    ] {
        assert_eq!(decode::<Event>(text).variant(), "Finished", "{text}");
    }
    let decoded = decode_leniently::<Event>(r#"{"type":"finished","type":"paused"}"#);
    assert_eq!(unknown(&decoded), [".: unknown tag `paused` of Event"]);
}

#[test]
fn the_last_second_tag_wins() {
    use crate::compiled::two_key_tags::Line;
    let expected = decode::<Line>(r#"{"type":"system","subtype":"status"}"#);
    for text in [
        r#"{"type":"system","subtype":"init","subtype":"status"}"#,
        r#"{"subtype":"init","type":"system","subtype":"status"}"#,
        r#"{"subtype":"init","subtype":"status","type":"system"}"#,
        r#"{"type":"result","type":"system","subtype":"status"}"#,
        r#"{"type":"result","subtype":"status","type":"system"}"#,
        r#"{"type":"system","subtype":"later","subtype":"status"}"#,
    ] {
        assert_eq!(decode::<Line>(text), expected, "{text}");
    }
}

#[test]
fn the_last_of_several_tags_of_a_variant_wins() {
    use crate::compiled::several_tags::Step;
    for text in [r#"{"type":"step.opened","type":"note"}"#, r#"{"type":"step.opened","at":1,"type":"note"}"#] {
        assert_eq!(decode::<Step>(text).variant(), "Note", "{text}");
    }
    let closed = decode::<Step>(r#"{"type":"step.opened","type":"step.closed"}"#);
    assert_eq!(encode(&closed), serde_json::json!({ "type": "step.closed" }));
}

#[test]
fn the_last_method_and_the_last_params_win() {
    use crate::compiled::adjacent::RequestEnvelope;
    let expected = decode::<RequestEnvelope>(r#"{"id":2,"method":"turn/interrupt","params":{"turnId":"b"}}"#);
    for text in [
        r#"{"id":1,"id":2,"method":"turn/start","method":"turn/interrupt","params":{"turnId":"b"}}"#,
        r#"{"id":2,"method":"turn/start","params":{"turnId":"b"},"method":"turn/interrupt"}"#,
        r#"{"id":2,"method":"turn/interrupt","params":{"turnId":"a"},"params":{"turnId":"b"}}"#,
        r#"{"id":2,"params":{"turnId":"a"},"method":"turn/interrupt","params":{"turnId":"b"}}"#,
        r#"{"id":2,"params":{"turnId":"a"},"params":{"turnId":"b"},"method":"turn/interrupt"}"#,
    ] {
        assert_eq!(decode::<RequestEnvelope>(text), expected, "{text}");
    }
}

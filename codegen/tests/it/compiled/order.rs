//! Keys may have any order.

use crate::compiled::decode;
use interlingua_native_runtime::Union as _;

#[test]
fn the_tag_may_come_last() {
    use crate::compiled::ids::Item;
    let first = decode::<crate::compiled::ids::Turn>(r#"{"id":"t","first":{"type":"command","id":"c","exitCode":1}}"#);
    let last = decode::<crate::compiled::ids::Turn>(r#"{"first":{"exitCode":1,"id":"c","type":"command"},"id":"t"}"#);
    assert_eq!(first, last);
    assert!(matches!(first.first, Some(Item::Command(command)) if command.exit_code == Some(1)));
}

#[test]
fn nested_values_may_come_before_the_tag() {
    use crate::compiled::ref_union::Event;
    let first = decode::<Event>(r#"{"type":"started","at":1,"parts":[{"text":"{\"type\":\"x\"}"},{"bytes":2}]}"#);
    let last = decode::<Event>(r#"{"parts":[{"text":"{\"type\":\"x\"}"},{"bytes":2}],"type":"started","at":1}"#);
    assert_eq!(first, last);
    let nested = decode::<crate::compiled::recursive::Tree>(
        r#"{"filter":{"inner":{"inner":[{"text":"x","op":"is"}],"op":"all"},"op":"not"}}"#,
    );
    assert_eq!(nested.filter.unwrap().variant(), "Not");
}

#[test]
fn both_tags_may_come_late_and_in_any_order() {
    use crate::compiled::two_key_tags::Line;
    let expected = decode::<Line>(r#"{"type":"system","subtype":"init","tools":["a"]}"#);
    for text in [
        r#"{"subtype":"init","type":"system","tools":["a"]}"#,
        r#"{"tools":["a"],"subtype":"init","type":"system"}"#,
        r#"{"type":"system","tools":["a"],"subtype":"init"}"#,
        r#"{"tools":["a"],"type":"system","subtype":"init"}"#,
    ] {
        assert_eq!(decode::<Line>(text), expected, "{text}");
    }
}

#[test]
fn params_may_come_before_the_method() {
    use crate::compiled::adjacent::RequestEnvelope;
    let first = decode::<RequestEnvelope>(r#"{"id":1,"method":"turn/start","params":{"threadId":"t"}}"#);
    for text in [
        r#"{"params":{"threadId":"t"},"id":1,"method":"turn/start"}"#,
        r#"{"method":"turn/start","params":{"threadId":"t"},"id":1}"#,
    ] {
        assert_eq!(decode::<RequestEnvelope>(text), first, "{text}");
    }
}

#[test]
fn a_tag_written_with_escapes_is_the_same_tag() {
    use crate::compiled::ref_union::Event;
    assert_eq!(decode::<Event>(r#"{"\u0074ype":"fin\u0069shed"}"#).variant(), "Finished");
}

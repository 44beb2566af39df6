//! Numbers, lone surrogates and deep nesting in the fields of generated types.

use serde_json::{Value, json};

use crate::compiled::{decode_leniently, encode};

#[test]
fn numbers_keep_their_value() {
    use crate::compiled::ref_union::Event;
    let cost = |text: &str| {
        let event = decode_leniently::<Event>(&format!(r#"{{"type":"finished","cost":{text}}}"#));
        encode(&event.value)["cost"].clone()
    };
    for text in ["0", "-1", "18446744073709551615", "-9223372036854775808", "0.1", "1e3", "-0.0", "123456789.123456789"]
    {
        assert_eq!(cost(text), serde_json::from_str::<Value>(text).unwrap(), "{text}");
    }
}

#[test]
fn a_lone_surrogate_costs_no_more_than_its_field() {
    use crate::compiled::ref_union::Event;
    // JavaScript writes a lone surrogate as an escape, for example if a text is cut after a number of UTF-16 units.
    let decoded = decode_leniently::<Event>(r#"{"type":"finished","result":"cut \ud83d","new":"\ud83d","cost":1}"#);
    assert_eq!(encode(&decoded.value)["type"], json!("finished"));
    assert_eq!(encode(&decoded.value)["cost"], json!(1));
}

#[test]
fn an_unknown_field_may_be_nested_to_any_depth() {
    use crate::compiled::ids::Turn;
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let turn = crate::compiled::decode::<Turn>(&format!(r#"{{"new":{deep},"id":"t"}}"#));
    assert_eq!(turn.id, "t");
}

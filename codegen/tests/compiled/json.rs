//! Numbers, broken characters and deep nesting in the fields of generated types.

use serde_json::{Value, json};

use crate::{decode_leniently, written};

#[test]
fn numbers_keep_their_value() {
    use crate::ref_union::Event;
    let cost = |text: &str| {
        let event = decode_leniently::<Event>(&format!(r#"{{"type":"finished","cost":{text}}}"#));
        written(&event.value)["cost"].clone()
    };
    for text in ["0", "-1", "18446744073709551615", "-9223372036854775808", "0.1", "1e3", "-0.0", "123456789.123456789"]
    {
        assert_eq!(cost(text), serde_json::from_str::<Value>(text).unwrap(), "{text}");
    }
}

#[test]
fn half_a_character_costs_no_more_than_its_field() {
    use crate::ref_union::Event;
    // JavaScript writes half of a surrogate pair as an escape, as when a text is cut after so many units.
    let decoded = decode_leniently::<Event>(r#"{"type":"finished","result":"cut \ud83d","new":"\ud83d","cost":1}"#);
    assert_eq!(written(&decoded.value)["type"], json!("finished"));
    assert_eq!(written(&decoded.value)["cost"], json!(1));
}

#[test]
fn what_is_passed_over_may_nest_as_deep_as_it_likes() {
    use crate::ids::Turn;
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let turn = crate::decode::<Turn>(&format!(r#"{{"new":{deep},"id":"t"}}"#));
    assert_eq!(turn.id, "t");
}

//! What is JSON and what is not: the same as for `serde_json`.

use serde_json::{Value, json};

use crate::runtime::{Json, Native};
use crate::{decode_leniently, written};

#[test]
fn the_reader_is_as_strict_as_serde_json() {
    #[rustfmt::skip]
    let texts = [
        "null", " true ", "false", "0", "-0", "-0.5e+3", "1E9", "\"\"", "\"a\\u00e9\\n\"", "[]", "[1, 2]", "{}",
        "{\"a\": {\"b\": []}}", "\t\r\n1", "\"\u{e9}\u{1f600}\u{7f}\"", "\"12345678\\\"90\"", "", " ", "tru", "truee",
        "nul", "01", "-", "-a", "1.", ".5", "1e", "1e+", "+1", "NaN", "'a'", "\"", "\"a", "\"\\", "\"\\x\"",
        "\"\\u12\"", "\"\\\u{e9}\"", "\"a\tb\"", "\"1234567\u{1}\"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{",
        "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{,}",
        "[1]]", "{} {}", "1 2", "\u{feff}1", "\u{a0}1", "[\"\\q\"]", "{\"\\q\":1}",
    ];
    for text in texts {
        let expected = serde_json::from_str::<Value>(text);
        let found = <Json as Native>::decode(text);
        assert_eq!(found.is_ok(), expected.is_ok(), "{text:?}: {found:?}");
        if let (Ok(found), Ok(expected)) = (found, expected) {
            assert_eq!(found.value.to_value(), expected, "{text:?}");
        }
    }
}

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

//! What is JSON and what is not: the same as for `serde_json`.

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Number, Value, json};

use crate::runtime::{Json, Native, Reader};
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

#[test]
fn what_is_passed_over_may_nest_as_deep_as_it_likes() {
    use crate::ids::Turn;
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let turn = crate::decode::<Turn>(&format!(r#"{{"new":{deep},"id":"t"}}"#));
    assert_eq!(turn.id, "t");
}

/// Reads the whole text as one value that nobody wants.
fn is_read(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip().and_then(|()| reader.end()).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_reader_takes_what_serde_json_takes(text in r#"[\[\]{}",:0-2eE+\-. \\u/ntrfalsb\x09\x01é]{0,16}"#) {
        prop_assert_eq!(is_read(&text), serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{:?}", text);
    }

    #[test]
    fn the_reader_takes_strings_as_serde_json_does(inner in r#"([a-zé😀 "\x00-\x1f]|\\["\\/bfnrtx]|\\u[0-9a-fA-Fg]{4}|\\ud83d\\ude00){0,12}"#) {
        let text = format!("\"{inner}\"");
        let mut reader = Reader::new(&text);
        let found = reader.owned().and_then(|string| reader.end().map(|()| string)).ok();
        prop_assert_eq!(found, serde_json::from_str::<String>(&text).ok(), "{}", text);
    }

    #[test]
    fn the_reader_takes_numbers_as_serde_json_does(text in r" ?-?(0|[0-9]{0,3}|[0-9]{16,21})([.eE][0-9]{0,2})?") {
        fn read<'a, T>(text: &'a str, read: impl Fn(&mut Reader<'a>) -> crate::runtime::Read<T>) -> Option<T> {
            let mut reader = Reader::new(text);
            read(&mut reader).and_then(|number| reader.end().map(|()| number)).ok()
        }
        prop_assert_eq!(read(&text, Reader::integer), serde_json::from_str::<i64>(&text).ok(), "{}", text);
        prop_assert_eq!(read(&text, Reader::unsigned), serde_json::from_str::<u64>(&text).ok(), "{}", text);
        prop_assert_eq!(read(&text, Reader::number), serde_json::from_str::<Number>(&text).ok(), "{}", text);
    }

    #[test]
    fn any_string_comes_back(string in any::<String>()) {
        let text = serde_json::to_string(&string).unwrap();
        prop_assert_eq!(Reader::new(&text).owned().ok(), Some(string));
    }
}

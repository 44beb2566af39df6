use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

use super::Reader;
use crate::error::ReadResult;
use crate::{Json, Native};

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
fn a_skipped_value_may_be_nested_deeper_than_a_typed_one() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(is_skipped(&deep));
    assert!(!is_skipped(&deep[1..]));
}

/// Whether the whole text is skipped as one value.
fn is_skipped(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip().and_then(|()| reader.finish()).is_ok()
}

/// Reads the whole text as one value.
fn read<'a, T>(text: &'a str, read: impl Fn(&mut Reader<'a>) -> ReadResult<T>) -> Option<T> {
    let mut reader = Reader::new(text);
    read(&mut reader).and_then(|value| reader.finish().map(|()| value)).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn the_reader_accepts_what_serde_json_accepts(text in r#"[\[\]{}",:0-2eE+\-. \\u/ntrfalsb\x09\x01é]{0,16}"#) {
        prop_assert_eq!(is_skipped(&text), serde_json::from_str::<IgnoredAny>(&text).is_ok(), "{:?}", text);
    }

    #[test]
    fn the_reader_reads_strings_as_serde_json_does(inner in r#"([a-zé😀 "\x00-\x1f]|\\["\\/bfnrtx]|\\u[0-9a-fA-Fg]{4}|\\ud83d\\ude00){0,12}"#) {
        let text = format!("\"{inner}\"");
        prop_assert_eq!(read(&text, Reader::read_owned), serde_json::from_str::<String>(&text).ok(), "{}", text);
    }

    #[test]
    fn the_reader_reads_numbers_as_serde_json_does(text in r" ?-?(0|[0-9]{0,3}|[0-9]{16,21})([.eE][0-9]{0,2})?") {
        prop_assert_eq!(read(&text, Reader::read_i64), serde_json::from_str::<i64>(&text).ok(), "{}", text);
        prop_assert_eq!(read(&text, Reader::read_u64), serde_json::from_str::<u64>(&text).ok(), "{}", text);
        prop_assert_eq!(read(&text, Reader::read_number), serde_json::from_str::<Number>(&text).ok(), "{}", text);
    }

    #[test]
    fn any_string_round_trips(string in any::<String>()) {
        let text = serde_json::to_string(&string).unwrap();
        prop_assert_eq!(Reader::new(&text).read_owned().ok(), Some(string));
    }
}

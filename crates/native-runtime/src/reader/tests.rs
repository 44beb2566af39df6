use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::Index;
use serde::de::IgnoredAny;
use serde_json::{Number, Value};

use super::Reader;
use crate::error::{ReadError, ReadResult};
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

/// Reads any value, with every method that generated code uses.
fn read_tree(reader: &mut Reader<'_>) -> ReadResult<Value> {
    match reader.peek() {
        b'{' => {
            let mut map = serde_json::Map::new();
            let (mut as_text, mut as_bytes) = (reader.enter_object()?, reader.clone().enter_object()?);
            loop {
                let mut copy = reader.clone();
                let key = as_text.next_key(reader)?;
                let bytes = as_bytes.next_key_bytes(&mut copy)?;
                assert_eq!(key.as_deref().map(str::as_bytes), bytes.as_deref());
                assert_eq!(reader.offset(), copy.offset());
                let Some(key) = key else { return Ok(Value::Object(map)) };
                map.insert(key.into_owned(), read_tree(reader)?);
            }
        }
        b'[' => {
            let mut list = Vec::new();
            let mut elements = reader.enter_list()?;
            while elements.advance(reader)? {
                list.push(read_tree(reader)?);
            }
            Ok(Value::Array(list))
        }
        b'"' | b'n' => {
            let mut text = Some("old".to_owned());
            reader.read_optional_into(&mut text)?;
            Ok(text.into())
        }
        b't' | b'f' => reader.read_bool().map(Value::Bool),
        0 => Err(ReadError::syntax()),
        _ => reader.read_number().map(Value::Number),
    }
}

/// Strings with and without escapes, of every length around the size of a chunk.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z_]{0,40}", 2 => r"[ -~]{0,40}", 1 => r#"([a-z]{0,20}["\\\n\té😀]){0,4}"#, 1 => any::<String>()]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..10_u64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0..20_u32, any::<u64>()).prop_map(|(digits, number)| (number % 10_u64.pow(digits)).into()),
        (-1e9..1e9).prop_map(Value::from),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(any_text(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Fails if the reader and `serde_json` differ on a text.
fn compare_with_serde_json(text: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(read(text, read_tree), serde_json::from_str::<Value>(text).ok(), "{:?}", text);
    prop_assert_eq!(is_skipped(text), serde_json::from_str::<IgnoredAny>(text).is_ok(), "{:?}", text);
    Ok(())
}

/// The boundary between two characters that `index` selects.
fn boundary(text: &str, index: Index) -> usize {
    let mut at = index.index(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_value_is_read_at_every_offset_and_cut_anywhere(value in any_value(), is_pretty: bool, shift in 0..17_usize, cut: Index) {
        let json = if is_pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let text = format!("{}{json}", " ".repeat(shift));
        compare_with_serde_json(&text)?;
        compare_with_serde_json(&text[..boundary(&text, cut)])?;
        // A reader stops at the end of its value, whatever comes then.
        let mut reader = Reader::new(&text);
        prop_assert_eq!(reader.read_raw().ok(), Some(json.as_str()));
    }

    #[test]
    fn a_damaged_text_is_read_as_serde_json_reads_it(
        value in any_value(),
        damage in vec((any::<Index>(), r#"[\[\]{}",:0-9eE+\-. \\u/ntrfalsb\x09\x01é]{0,3}"#, 0..4_usize), 1..4),
    ) {
        let mut text = value.to_string();
        for (index, inserted, removed) in damage {
            let at = boundary(&text, index);
            let end = text[at..].char_indices().nth(removed).map_or(text.len(), |(length, _)| at + length);
            text.replace_range(at..end, &inserted);
        }
        compare_with_serde_json(&text)?;
    }

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

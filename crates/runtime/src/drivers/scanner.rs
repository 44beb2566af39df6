//! Reads single fields of a JSON text without parsing the rest.
//!
//! A driver whose process serves several sessions has to know which session a line belongs to, and nothing else: the
//! session's converter parses the line. So the scanner reads the requested fields and skips the others, which mostly
//! means searching for the end of a string. It does not validate what it skips.

use std::borrow::Cow;

use memchr::memchr2;

/// A cursor in a JSON text. Text that is not JSON, or ends too early, ends the scan.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    json: &'a str,
    at: usize,
    /// Whether the cursor is before the value of a field that was not read.
    is_before_value: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(json: &'a str) -> Self {
        Self { json, at: 0, is_before_value: false }
    }

    /// Enters the object at the cursor. [`next_key`](Self::next_key) then returns its keys. False if there is no
    /// object.
    pub(super) fn enter_object(&mut self) -> bool {
        self.enter(b'{')
    }

    /// The next key of the current object, as written in the text. The cursor is then at its value. `None` at the end
    /// of the object, which is then left.
    pub(super) fn next_key(&mut self) -> Option<&'a str> {
        if self.skip_separator(b'}') {
            return None;
        }
        let key = self.quoted_string()?;
        if self.peek()? != b':' {
            return self.fail();
        }
        self.at += 1;
        self.is_before_value = true;
        Some(key)
    }

    /// The string at the cursor; `None` if it is another value.
    pub(super) fn string(&mut self) -> Option<Cow<'a, str>> {
        if self.peek()? != b'"' {
            return None;
        }
        self.is_before_value = false;
        let start = self.at;
        let string = self.quoted_string()?;
        if string.contains('\\') { self.json.get(start..self.at).and_then(decode_string) } else { Some(string.into()) }
    }

    /// The string at this path below the cursor; `None` if it is another value.
    pub(super) fn string_at(&mut self, path: &[&str]) -> Option<Cow<'a, str>> {
        let Some((first, rest)) = path.split_first() else { return self.string() };
        let mut found = None;
        if self.enter_object() {
            while let Some(key) = self.next_key() {
                if key == *first {
                    found = self.string_at(rest);
                }
            }
        }
        found
    }

    /// The strings of the array at the cursor; empty if it is another value.
    pub(super) fn strings(&mut self) -> Vec<Cow<'a, str>> {
        let mut strings = Vec::new();
        if self.enter(b'[') {
            while !self.skip_separator(b']') {
                self.is_before_value = true;
                strings.extend(self.string());
            }
        }
        strings
    }

    /// The value at the cursor as written in the text; `None` for `null`.
    pub(super) fn raw(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.skip_value();
        self.json.get(start..self.at).filter(|value| *value != "null")
    }

    /// Leaves the current object.
    pub(super) fn leave_object(&mut self) {
        while self.next_key().is_some() {}
    }

    fn enter(&mut self, bracket: u8) -> bool {
        let is_present = self.peek() == Some(bracket);
        if is_present {
            self.is_before_value = false;
            self.at += 1;
        }
        is_present
    }

    /// Skips the value that was not read and the comma after it. True at the end of the object or array.
    fn skip_separator(&mut self, bracket: u8) -> bool {
        if self.is_before_value {
            self.skip_value();
        }
        if self.peek() == Some(b',') {
            self.at += 1;
        }
        match self.peek() {
            Some(byte) if byte == bracket => {
                self.at += 1;
                true
            }
            Some(_) => false,
            None => true,
        }
    }

    /// The next byte that is not whitespace.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.json.as_bytes().get(self.at..)?;
        let space = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
        self.at += space;
        rest.get(space).copied()
    }

    /// The content of the quoted string at the cursor, with its escapes.
    fn quoted_string(&mut self) -> Option<&'a str> {
        if self.peek()? != b'"' {
            return self.fail();
        }
        let start = self.at + 1;
        self.skip_string()?;
        self.json.get(start..self.at - 1)
    }

    fn skip_value(&mut self) {
        self.is_before_value = false;
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' if self.skip_string().is_none() => return,
                b'"' => {}
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => {
                    self.at += 1;
                    continue;
                }
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.json.as_bytes().get(self.at..)?;
            let Some(found) = memchr2(b'"', b'\\', rest) else { return self.fail() };
            if rest[found] == b'"' {
                self.at += found + 1;
                return Some(());
            }
            self.at += found + 2;
        }
    }

    /// Skips a number, `true`, `false`, `null`, or invalid text in their place.
    fn skip_scalar(&mut self) {
        let rest = self.json.as_bytes().get(self.at..).unwrap_or_default();
        let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b'"') || byte.is_ascii_whitespace();
        // At least one byte, so that the scan ends for any text.
        self.at += rest.iter().position(is_end).unwrap_or(rest.len()).max(1);
    }

    /// Ends the scan.
    fn fail<T>(&mut self) -> Option<T> {
        self.at = self.json.len();
        None
    }
}

/// Decodes a quoted string with escapes.
fn decode_string(quoted: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str::<String>(quoted).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn fields_are_read_in_any_position_and_the_others_are_skipped() {
        let mut json =
            Scanner::new(r#" {"a" : [1, {"b":"}\""}], "b":"x\"y", "c":{"d":"e","f":-1.5}, "g":null,"h":["i",2,"j"]} "#);
        assert!(json.enter_object());
        assert_eq!((json.next_key(), json.next_key(), json.string().as_deref()), (Some("a"), Some("b"), Some("x\"y")));
        assert_eq!((json.next_key(), json.enter_object()), (Some("c"), true));
        assert_eq!((json.next_key(), json.string().as_deref()), (Some("d"), Some("e")));
        json.leave_object();
        assert_eq!((json.next_key(), json.string(), json.raw()), (Some("g"), None, None));
        assert_eq!((json.next_key(), json.strings().join(" ")), (Some("h"), "i j".to_owned()));
        assert_eq!(json.next_key(), None);
    }

    #[test]
    fn fields_before_the_end_of_a_truncated_text_are_read() {
        let mut json = Scanner::new(r#"{"id":7,"result":{"thread":"t","text":"abc"#);
        assert!(json.enter_object());
        assert_eq!((json.next_key(), json.raw()), (Some("id"), Some("7")));
        assert_eq!((json.next_key(), json.enter_object()), (Some("result"), true));
        assert_eq!((json.next_key(), json.string().as_deref()), (Some("thread"), Some("t")));
        assert_eq!((json.next_key(), json.string(), json.next_key()), (Some("text"), None, None));
        assert_eq!(json.next_key(), None);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]*", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn raw_values_are_what_a_parser_reads(values in prop::collection::btree_map("[a-z]+", any_json(), 0..5)) {
            let json = serde_json::to_string(&values).unwrap();
            let mut scanner = Scanner::new(&json);
            prop_assert!(scanner.enter_object());
            for (key, value) in &values {
                prop_assert_eq!(scanner.next_key(), Some(key.as_str()));
                let raw = scanner.raw().unwrap_or("null");
                prop_assert_eq!(&serde_json::from_str::<Value>(raw).unwrap(), value);
            }
            prop_assert_eq!(scanner.next_key(), None);
        }

        #[test]
        fn the_scan_of_any_text_ends(text in r#"[\[\]{}",:a1\\ é]*"#) {
            let mut scanner = Scanner::new(&text);
            if scanner.enter_object() {
                while scanner.next_key().is_some() {
                    drop(scanner.strings());
                }
            }
        }
    }
}

//! Reading and writing single fields of JSON objects.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hash};

use foldhash::fast::FixedState;
use interlingua_schema::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A field of a record that is not parsed yet. `None` if it is missing or null.
pub(crate) type Field<'a> = Option<&'a RawValue>;

/// The text of a field; `None` if it is not a text.
pub(crate) fn text(field: Field<'_>) -> Option<Cow<'_, str>> {
    let json = field?.get();
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.as_bytes().contains(&b'\\') {
        serde_json::from_str(json).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Whether a field is `true`.
pub(crate) fn flag(field: Field<'_>) -> bool {
    field.is_some_and(|field| field.get() == "true")
}

/// The whole number in a field; `None` if it is something else or negative.
pub(crate) fn number(field: Field<'_>) -> Option<u64> {
    let json = field?.get();
    json.parse().ok().or_else(|| {
        // Counts are sometimes written as `12.0`.
        let number: f64 = json.parse().ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        (number >= 0.0 && number.is_finite()).then_some(number as u64)
    })
}

/// The time in a field, as RFC 3339 text or as milliseconds.
pub(crate) fn time(field: Field<'_>) -> Option<Timestamp> {
    match text(field) {
        Some(text) => text.parse().ok(),
        None => number(field).and_then(|millis| i64::try_from(millis).ok()).map(Timestamp::from_millis),
    }
}

/// The time of a line, which all formats have in the same field.
pub(crate) fn line_time(line: &str) -> Option<Timestamp> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct TimedLine<'a> {
        #[serde(borrow)]
        timestamp: Field<'a>,
    }
    let line: TimedLine<'_> = serde_json::from_str(line).ok()?;
    time(line.timestamp)
}

/// Decodes a field; the default value if it is missing or has another shape.
pub(crate) fn decode<'a, T: Deserialize<'a> + Default>(field: Field<'a>) -> T {
    field.and_then(|field| serde_json::from_str(field.get()).ok()).unwrap_or_default()
}

/// Hash of a text, for recognizing it again without keeping it.
pub(crate) fn hash(value: impl Hash) -> u64 {
    FixedState::default().hash_one(value)
}

/// JSON without white space between its tokens.
pub(crate) fn minify(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = rest.find('"') {
        compact.extend(rest[..quote].chars().filter(|char| !char.is_ascii_whitespace()));
        let end = string_end(&rest[quote..]);
        compact.push_str(&rest[quote..quote + end]);
        rest = &rest[quote + end..];
    }
    compact.extend(rest.chars().filter(|char| !char.is_ascii_whitespace()));
    compact
}

/// Length of the string that a text starts with, with its quotes.
fn string_end(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return index + 1,
            _ => {}
        }
    }
    text.len()
}

/// Writes a JSON object field by field.
pub(crate) struct ObjectWriter(String);

impl ObjectWriter {
    /// An object whose text has about this length.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut text = String::with_capacity(bytes);
        text.push('{');
        Self(text)
    }

    /// Adds a field whose value is JSON already.
    pub(crate) fn json(&mut self, key: &str, value: &str) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push('"');
        self.0.push_str(key);
        self.0.push_str("\":");
        self.0.push_str(value);
        self
    }

    /// Adds a field whose value is JSON already, if there is one.
    pub(crate) fn raw(&mut self, key: &str, value: Field<'_>) -> &mut Self {
        if let Some(value) = value {
            self.json(key, value.get());
        }
        self
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, key: &str, value: &str) -> &mut Self {
        // A string is always written.
        let value = serde_json::to_string(value).unwrap_or_default();
        self.json(key, &value)
    }

    /// Adds a text, if there is one.
    pub(crate) fn optional_text(&mut self, key: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value {
            self.text(key, value);
        }
        self
    }

    /// Adds a number, if there is one.
    pub(crate) fn number(&mut self, key: &str, value: Option<u64>) -> &mut Self {
        if let Some(value) = value {
            self.json(key, &value.to_string());
        }
        self
    }

    /// Ends the object.
    pub(crate) fn finish(&mut self) -> String {
        let mut text = std::mem::take(&mut self.0);
        text.push('}');
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_removed_only_between_tokens() {
        assert_eq!(minify("{\n  \"a b\": [1, \"x \\\" y\"]\n}"), r#"{"a b":[1,"x \" y"]}"#);
        assert_eq!(minify("{ \"open"), "{\"open");
    }

    #[test]
    fn a_field_of_another_type_counts_as_missing() {
        let field = |json: &'static str| serde_json::from_str::<Field<'_>>(json).unwrap();
        assert_eq!(text(field("\"a\\n\"")).as_deref(), Some("a\n"));
        assert_eq!((text(field("1")), number(field("1.0")), number(field("-1"))), (None, Some(1), None));
        assert_eq!(time(field("1000")), Some(Timestamp::from_millis(1000)));
    }
}

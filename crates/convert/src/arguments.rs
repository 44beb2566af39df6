//! Arguments of tool calls as JSON text.

use interlingua_native::Json;
use serde::de::IgnoredAny;

/// Arguments of a tool call, which may still be incomplete.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    text: String,
    /// Whether the text is known to be JSON and need not be checked.
    is_json: bool,
}

impl Arguments {
    /// Appends streamed text.
    pub(crate) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
        self.is_json = false;
    }

    /// Converts to JSON text by the rules of [`json_arguments`].
    pub(crate) fn into_json(self) -> String {
        if self.is_json && self.text != "null" { self.text } else { json_arguments(self.text) }
    }
}

impl Default for Arguments {
    fn default() -> Self {
        Self { text: "{}".to_owned(), is_json: true }
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self { text, is_json: false }
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&Json> for Arguments {
    fn from(json: &Json) -> Self {
        Self { text: json.get().to_owned(), is_json: true }
    }
}

/// Converts arguments to the JSON text that the universal schema requires. JSON text stays as it is, empty text and
/// `null` become `{}`, and text that is not JSON, such as truncated arguments, becomes a JSON string.
#[must_use]
pub fn json_arguments(text: String) -> String {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return "{}".to_owned();
    }
    if serde_json::from_str::<IgnoredAny>(trimmed).is_ok() {
        return if trimmed.len() == text.len() { text } else { trimmed.to_owned() };
    }
    serde_json::Value::String(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_json() {
        for (text, json) in [
            (r#"{"a" : 1}"#, r#"{"a" : 1}"#),
            (" [1] \n", "[1]"),
            ("", "{}"),
            ("null", "{}"),
            (r#"{"a": "#, r#""{\"a\": ""#),
        ] {
            assert_eq!(Arguments::from(text).into_json(), json);
        }
        assert_eq!(Arguments::default().into_json(), "{}");
    }

    #[test]
    fn json_values_are_kept_as_they_are() {
        for (value, json) in [(r#"{"a" : 1}"#, r#"{"a" : 1}"#), ("null", "{}")] {
            let value = Json::from_text(value.to_owned()).unwrap();
            assert_eq!(Arguments::from(&value).into_json(), json);
        }
    }

    #[test]
    fn text_appended_to_a_json_value_is_checked_again() {
        let mut arguments = Arguments::from(&Json::from_text("{}".to_owned()).unwrap());
        arguments.push_str("{");
        assert_eq!(arguments.into_json(), r#""{}{""#);
    }
}

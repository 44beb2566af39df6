//! A tool call's arguments as JSON text.

use serde::de::IgnoredAny;

/// Arguments as the universal schema wants them: JSON text stays as it is, nothing (or `null`) is `{}`, and text that
/// is not JSON, such as arguments that were cut off, becomes a JSON string.
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
            assert_eq!(json_arguments(text.to_owned()), json);
        }
    }
}

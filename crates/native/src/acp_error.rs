//! The message of a JSON-RPC error of an ACP agent.

use serde_json::Value;

use crate::acp::Error;

/// Keys of the data under which agents put the text of an error.
const TEXT_KEYS: [&str; 4] = ["details", "detail", "message", "error"];

impl Error {
    /// The message with the text that some agents put into the data. Empty if there is neither.
    #[must_use]
    pub fn text(&self) -> String {
        let message = self.message.as_deref().unwrap_or_default();
        let data = self.data.as_ref().map(crate::Json::to_value);
        match data.as_ref().and_then(data_text).filter(|detail| !message.contains(*detail)) {
            None => message.to_owned(),
            Some(detail) if message.is_empty() => detail.to_owned(),
            Some(detail) => format!("{message}: {detail}"),
        }
    }
}

fn data_text(data: &Value) -> Option<&str> {
    match data {
        Value::String(text) => Some(text),
        Value::Object(fields) => {
            let found = TEXT_KEYS.iter().find_map(|key| fields.get(*key))?;
            if found.is_object() { data_text(found) } else { found.as_str() }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_error_is_in_its_message_and_its_data() {
        for (json, text) in [
            (
                r#"{"code":-32603,"message":"Internal error","data":{"details":"fetch failed"}}"#,
                "Internal error: fetch failed",
            ),
            (r#"{"code":-32603,"message":"fetch failed","data":{"details":"fetch failed"}}"#, "fetch failed"),
            (r#"{"code":-32603,"message":"no","data":{"error":{"message":"deep"}}}"#, "no: deep"),
            (r#"{"code":-1,"data":"only data"}"#, "only data"),
            (r#"{"code":-1,"message":"no","data":{"sessionId":"x"}}"#, "no"),
            (r#"{"code":-1}"#, ""),
        ] {
            assert_eq!(serde_json::from_str::<Error>(json).unwrap().text(), text, "{json}");
        }
    }
}

//! A form that a tool wants the user to fill in, and the words of the user.

use serde_json::{Map, Value, json};

/// The form filled in with the user's words. A form with one field takes them as they are, any other takes a JSON
/// object. `None` if they do not fit.
pub fn fill_in(schema: Option<&Value>, words: &[String]) -> Option<Value> {
    let fields: Option<&Map<String, Value>> = schema.and_then(|schema| schema["properties"].as_object());
    let fields: Vec<(&String, &Value)> = fields.into_iter().flatten().collect();
    match fields.as_slice() {
        [] => Some(json!({})),
        [(name, field)] => value(field, words).map(|value| json!({name.as_str(): value})),
        _ => serde_json::from_str::<Value>(&words.join(", ")).ok().filter(Value::is_object),
    }
}

/// Words as a value of the type that a field wants.
fn value(field: &Value, words: &[String]) -> Option<Value> {
    let text = words.join(", ");
    match field["type"].as_str() {
        Some("boolean" | "number" | "integer" | "object") => serde_json::from_str(text.trim()).ok(),
        Some("array") => Some(words.into()),
        _ => Some(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(properties: &Value, words: &[&str]) -> Option<Value> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        fill_in(Some(&json!({"type": "object", "properties": properties})), &words)
    }

    #[test]
    fn a_form_is_filled_in_with_values_of_its_types() {
        assert_eq!(says(&json!({"name": {"type": "string"}}), &["kiwi"]), Some(json!({"name": "kiwi"})));
        assert_eq!(says(&json!({"age": {"type": "integer"}}), &["7"]), Some(json!({"age": 7})));
        assert_eq!(says(&json!({"age": {"type": "integer"}}), &["seven"]), None);
        assert_eq!(says(&json!({"all": {"type": "array"}}), &["a", "b"]), Some(json!({"all": ["a", "b"]})));
        assert_eq!(says(&json!({"a": {}, "b": {}}), &[r#"{"a":1,"b":2}"#]), Some(json!({"a": 1, "b": 2})));
        assert_eq!(says(&json!({"a": {}, "b": {}}), &["both"]), None);
        assert_eq!(says(&json!({}), &[]), Some(json!({})));
    }
}

//! Forms that a tool asks the user to fill in.

use serde_json::{Map, Value, json};

/// Fills in a form with the user's answer. A form with one field takes the answer as its value, any other form takes a
/// JSON object. `None` if the answer does not match the form.
pub fn fill_in(schema: Option<&Value>, answer: &[String]) -> Option<Value> {
    let fields: Option<&Map<String, Value>> = schema.and_then(|schema| schema["properties"].as_object());
    let fields: Vec<(&String, &Value)> = fields.into_iter().flatten().collect();
    match fields.as_slice() {
        [] => Some(json!({})),
        [(name, field)] => field_value(field, answer).map(|value| json!({name.as_str(): value})),
        _ => serde_json::from_str::<Value>(&answer.join(", ")).ok().filter(Value::is_object),
    }
}

/// Converts an answer to the type of a field.
fn field_value(field: &Value, answer: &[String]) -> Option<Value> {
    let text = answer.join(", ");
    match field["type"].as_str() {
        Some("boolean" | "number" | "integer" | "object") => serde_json::from_str(text.trim()).ok(),
        Some("array") => Some(answer.into()),
        _ => Some(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(properties: &Value, answer: &[&str]) -> Option<Value> {
        let answer: Vec<String> = answer.iter().map(|text| (*text).to_owned()).collect();
        fill_in(Some(&json!({"type": "object", "properties": properties})), &answer)
    }

    #[test]
    fn a_form_is_filled_in_with_values_of_its_types() {
        assert_eq!(fill(&json!({"name": {"type": "string"}}), &["kiwi"]), Some(json!({"name": "kiwi"})));
        assert_eq!(fill(&json!({"age": {"type": "integer"}}), &["7"]), Some(json!({"age": 7})));
        assert_eq!(fill(&json!({"age": {"type": "integer"}}), &["seven"]), None);
        assert_eq!(fill(&json!({"all": {"type": "array"}}), &["a", "b"]), Some(json!({"all": ["a", "b"]})));
        assert_eq!(fill(&json!({"a": {}, "b": {}}), &[r#"{"a":1,"b":2}"#]), Some(json!({"a": 1, "b": 2})));
        assert_eq!(fill(&json!({"a": {}, "b": {}}), &["both"]), None);
        assert_eq!(fill(&json!({}), &[]), Some(json!({})));
    }
}

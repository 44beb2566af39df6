//! The fields of a payload that the types do not know: what is there before decoding and gone after encoding again.

use serde_json::Value;

/// A field that was not carried through.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownField {
    /// Where it stands, with `[]` for the elements of a list: `message.content[].citations`.
    pub path: String,
    /// Its value in this payload.
    pub example: Value,
}

/// What `sent` has and `kept` has not. Explicit nulls do not count.
#[must_use]
pub fn missing_fields(sent: &Value, kept: &Value) -> Vec<UnknownField> {
    let mut found = Vec::new();
    compare(sent, kept, String::new(), &mut found);
    found
}

fn compare(sent: &Value, kept: &Value, path: String, found: &mut Vec<UnknownField>) {
    match (sent, kept) {
        (Value::Object(sent), Value::Object(kept)) => {
            for (key, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match kept.get(key) {
                    Some(kept) => compare(value, kept, path, found),
                    None => found.push(UnknownField { path, example: value.clone() }),
                }
            }
        }
        (Value::Array(sent), Value::Array(kept)) if sent.len() == kept.len() => {
            for (sent, kept) in sent.iter().zip(kept) {
                compare(sent, kept, format!("{path}[]"), found);
            }
        }
        (sent, kept) if sent != kept => found.push(UnknownField { path, example: sent.clone() }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::missing_fields;

    #[test]
    fn a_field_that_is_gone_is_named_with_its_path() {
        let sent = json!({"type": "a", "list": [{"known": 1, "new": 2}], "gone": null});
        let kept = json!({"type": "a", "list": [{"known": 1}]});
        let found = missing_fields(&sent, &kept);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), &found[0].example), ("list[].new", &json!(2)));
    }
}

//! Unknown fields of a payload: present before decoding, missing after encoding it again.

use serde_json::Value;

/// A field that is lost by decoding and encoding.
#[derive(Debug, Clone, PartialEq)]
pub struct UnknownField {
    /// Path with `[]` for list elements, e.g. `message.content[].citations`.
    pub path: String,
    /// Value in this payload.
    pub example: Value,
}

/// Differences between a payload and the result of decoding and encoding it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldDifferences {
    /// Missing fields. Explicit nulls do not count.
    pub missing: Vec<UnknownField>,
    /// Paths of values that changed or were added.
    pub changed: Vec<String>,
}

/// Compares a payload with the result of decoding and encoding it.
#[must_use]
pub fn compare_fields(original: &Value, encoded: &Value) -> FieldDifferences {
    let mut differences = FieldDifferences::default();
    compare(original, encoded, String::new(), &mut differences);
    differences
}

fn compare(original: &Value, encoded: &Value, path: String, differences: &mut FieldDifferences) {
    match (original, encoded) {
        (Value::Object(original), Value::Object(encoded)) => {
            let child_path = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            for (key, value) in original.iter().filter(|(_, value)| !value.is_null()) {
                match encoded.get(key) {
                    Some(encoded) => compare(value, encoded, child_path(key), differences),
                    None => differences.missing.push(UnknownField { path: child_path(key), example: value.clone() }),
                }
            }
            let added =
                encoded.iter().filter(|(key, value)| !value.is_null() && original.get(*key).is_none_or(Value::is_null));
            differences.changed.extend(added.map(|(key, _)| child_path(key)));
        }
        (Value::Array(original), Value::Array(encoded)) if original.len() == encoded.len() => {
            for (original, encoded) in original.iter().zip(encoded) {
                compare(original, encoded, format!("{path}[]"), differences);
            }
        }
        (original, encoded) if original != encoded => differences.changed.push(path),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::compare_fields;

    #[test]
    fn a_missing_field_is_reported_with_its_path() {
        let original = json!({"type": "a", "list": [{"known": 1, "new": 2}], "gone": null});
        let encoded = json!({"type": "a", "list": [{"known": 1}]});
        let missing = compare_fields(&original, &encoded).missing;
        assert_eq!(missing.len(), 1);
        assert_eq!((missing[0].path.as_str(), &missing[0].example), ("list[].new", &json!(2)));
    }

    #[test]
    fn a_different_value_is_reported_as_changed() {
        let found = compare_fields(&json!({"a": [1, 2], "b": "x"}), &json!({"a": [1], "b": "y", "c": 0}));
        assert_eq!(found.changed, ["a", "b", "c"]);
        assert!(found.missing.is_empty());
    }
}

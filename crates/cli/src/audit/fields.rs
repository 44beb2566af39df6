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

/// What decoding and encoding again did to a payload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Differences {
    /// What is gone. Explicit nulls do not count.
    pub missing: Vec<UnknownField>,
    /// Where something else stands than before.
    pub changed: Vec<String>,
}

/// Compares what was `sent` with what was `kept` of it.
#[must_use]
pub fn differences(sent: &Value, kept: &Value) -> Differences {
    let mut found = Differences::default();
    compare(sent, kept, String::new(), &mut found);
    found
}

fn compare(sent: &Value, kept: &Value, path: String, found: &mut Differences) {
    match (sent, kept) {
        (Value::Object(sent), Value::Object(kept)) => {
            let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            for (key, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                match kept.get(key) {
                    Some(kept) => compare(value, kept, below(key), found),
                    None => found.missing.push(UnknownField { path: below(key), example: value.clone() }),
                }
            }
            let made_up =
                kept.iter().filter(|(key, value)| !value.is_null() && sent.get(*key).is_none_or(Value::is_null));
            found.changed.extend(made_up.map(|(key, _)| below(key)));
        }
        (Value::Array(sent), Value::Array(kept)) if sent.len() == kept.len() => {
            for (sent, kept) in sent.iter().zip(kept) {
                compare(sent, kept, format!("{path}[]"), found);
            }
        }
        (sent, kept) if sent != kept => found.changed.push(path),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differences;

    #[test]
    fn a_field_that_is_gone_is_named_with_its_path() {
        let sent = json!({"type": "a", "list": [{"known": 1, "new": 2}], "gone": null});
        let kept = json!({"type": "a", "list": [{"known": 1}]});
        let found = differences(&sent, &kept).missing;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), &found[0].example), ("list[].new", &json!(2)));
    }

    #[test]
    fn a_value_that_is_another_is_changed() {
        let found = differences(&json!({"a": [1, 2], "b": "x"}), &json!({"a": [1], "b": "y", "c": 0}));
        assert_eq!(found.changed, ["a", "b", "c"]);
        assert!(found.missing.is_empty());
    }
}

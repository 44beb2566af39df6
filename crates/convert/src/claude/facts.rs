//! JSON objects of what is known.

use serde_json::Value;

/// The object without the entries of which nothing is known.
pub(super) fn facts(mut value: Value) -> Value {
    if let Value::Object(entries) = &mut value {
        entries.retain(|_, value| !value.is_null());
    }
    value
}

/// The object, unless nothing is known.
pub(super) fn known(value: Value) -> Option<Value> {
    let value = facts(value);
    value.as_object().is_some_and(|entries| !entries.is_empty()).then_some(value)
}

//! JSON objects of what is known.

use serde_json::Value;

/// The object without the entries of which nothing is known.
pub(super) fn facts(mut value: Value) -> Value {
    if let Value::Object(entries) = &mut value {
        entries.retain(|_, value| !value.is_null());
    }
    value
}

//! L16 and L17: required keys that have a default value in the Rust types, so that only the JSON text shows whether they
//! are missing.

use serde_json::Value;

use super::Rule;
use crate::event::EventType;

/// The violations of an event whose data lacks required keys.
pub(super) fn find_missing(kind: &str, data: &str) -> Vec<(Rule, String)> {
    let parse = || serde_json::from_str::<Value>(data).unwrap_or_default();
    if kind == EventType::TurnEnded.as_str() && parse().get("duration_ms").is_none() {
        vec![(Rule::L16, "turn.ended has no duration_ms".to_owned())]
    } else if kind == EventType::PermissionRequested.as_str() {
        find_missing_in_permission(&parse())
    } else {
        Vec::new()
    }
}

/// Missing metadata and missing `scopes` are found in the decoded event instead.
fn find_missing_in_permission(data: &Value) -> Vec<(Rule, String)> {
    let Some(metadata) = data.get("metadata").and_then(Value::as_object) else { return Vec::new() };
    let permission = data.get("permission_id").and_then(Value::as_str).unwrap_or_default();
    let mut missing = Vec::new();
    if !metadata.contains_key("call_id") {
        missing.push("call_id");
    }
    if !metadata.get("tool_kind").is_some_and(Value::is_string) {
        missing.push("tool_kind");
    }
    missing
        .into_iter()
        .map(|key| (Rule::L17, format!("the metadata of permission {permission} has no {key}")))
        .collect()
}

//! Lenient decoding of metadata, so that streams of version 1.0 can be read.
//!
//! In version 1.0, metadata had each agent's own keys. Keys that this version does not know are kept under `native`. A
//! value that does not fit at all is kept there as a whole, so that the event around it can still be read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    ErrorDetails, NativeMetadata, PermissionMetadata, QuestionMetadata, SessionMetadata, ToolKind, TurnEndMetadata,
    TurnMetadata,
};

/// Decodes metadata. `native_only` builds metadata that has only the given value, under `native`; `native` returns that
/// field.
fn deserialize<'de, T, N, D>(
    deserializer: D,
    native_only: impl FnOnce(Value) -> T,
    native: impl FnOnce(&mut T) -> &mut Option<N>,
) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned + Serialize,
    N: DeserializeOwned,
    D: Deserializer<'de>,
{
    let Some(value) = Option::<Value>::deserialize(deserializer)? else { return Ok(None) };
    // Serde would read an array as the fields in order.
    let Value::Object(members) = value else { return Ok(Some(native_only(value))) };
    let Ok(mut metadata) = T::deserialize(&members) else { return Ok(Some(native_only(Value::Object(members)))) };
    let unknown = unknown_members(members, &metadata);
    let native = native(&mut metadata);
    if native.is_none() && !unknown.is_empty() {
        *native = serde_json::from_value(Value::Object(unknown)).ok();
    }
    Ok(Some(metadata))
}

/// The members that are not fields of `metadata`: they would not be written again.
fn unknown_members(mut members: Map<String, Value>, metadata: &impl Serialize) -> Map<String, Value> {
    let known = serde_json::to_value(metadata).unwrap_or_default();
    members.retain(|key, value| !value.is_null() && known.get(key).is_none());
    members
}

fn native_metadata(value: Value) -> Option<NativeMetadata> {
    serde_json::from_value(value).ok()
}

pub(crate) fn deserialize_session_metadata<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Box<SessionMetadata>>, D::Error> {
    let native_only = |value| SessionMetadata { native: native_metadata(value), ..SessionMetadata::default() };
    Ok(deserialize(from, native_only, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn deserialize_turn_metadata<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Box<TurnMetadata>>, D::Error> {
    let native_only = |value| TurnMetadata { native: native_metadata(value), ..TurnMetadata::default() };
    Ok(deserialize(from, native_only, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn deserialize_turn_end_metadata<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<TurnEndMetadata>, D::Error> {
    let native_only = |value| TurnEndMetadata { native: native_metadata(value), ..TurnEndMetadata::default() };
    deserialize(from, native_only, |metadata| &mut metadata.native)
}

pub(crate) fn deserialize_permission_metadata<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Box<PermissionMetadata>>, D::Error> {
    let native_only =
        |value| PermissionMetadata { native: Some(value), ..PermissionMetadata::new(ToolKind::Other, Vec::new()) };
    Ok(deserialize(from, native_only, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn deserialize_question_metadata<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Box<QuestionMetadata>>, D::Error> {
    let native_only = |value| QuestionMetadata { native: Some(value), ..QuestionMetadata::default() };
    Ok(deserialize(from, native_only, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn deserialize_error_details<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Box<ErrorDetails>>, D::Error> {
    let native_only = |value| ErrorDetails { native: Some(value), ..ErrorDetails::default() };
    Ok(deserialize(from, native_only, |metadata| &mut metadata.native)?.map(Box::new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{ErrorEvent, Permission, Question, SessionStarted, TurnEnded, TurnStarted};

    use super::*;

    /// Decodes `base` with `metadata` under `key`, and returns the value of `key` as it is written again.
    #[track_caller]
    fn rewritten<T: DeserializeOwned + Serialize>(base: &Value, key: &str, metadata: Value) -> Value {
        let mut data = base.clone();
        data[key] = metadata;
        let read: T = serde_json::from_value(data).unwrap();
        serde_json::to_value(&read).unwrap()[key].take()
    }

    /// Asserts that metadata of every kind becomes `expected`. Permissions and questions have further keys in any case.
    #[track_caller]
    fn assert_all_become(metadata: &Value, expected: &Value) {
        let question =
            json!({ "question_id": "q", "prompt": "?", "options": [], "response": null, "status": "requested" });
        let permission = json!({ "permission_id": "p", "action": "a", "status": "requested" });
        let error = json!({ "message": "m", "code": null });
        let with = |further: Value| {
            let mut expected = expected.clone();
            if let Value::Object(expected) = &mut expected {
                for (key, value) in further.as_object().cloned().unwrap() {
                    expected.entry(key).or_insert(value);
                }
            }
            expected
        };
        let without_more_keys = with(json!({}));
        assert_eq!(rewritten::<SessionStarted>(&json!({}), "metadata", metadata.clone()), without_more_keys);
        assert_eq!(rewritten::<TurnStarted>(&json!({}), "metadata", metadata.clone()), without_more_keys);
        assert_eq!(
            rewritten::<TurnEnded>(&json!({ "status": "failed" }), "metadata", metadata.clone()),
            without_more_keys
        );
        assert_eq!(rewritten::<ErrorEvent>(&error, "details", metadata.clone()), without_more_keys);
        assert_eq!(
            rewritten::<Permission>(&permission, "metadata", metadata.clone()),
            with(json!({ "call_id": null, "tool_kind": "other", "input": null, "scopes": [], "native": null }))
        );
        assert_eq!(
            rewritten::<Question>(&question, "metadata", metadata.clone()),
            with(json!({ "options": [], "multi_select": false, "free_text": false, "secret": false }))
        );
    }

    #[test]
    fn null_stays_null() {
        assert_all_become(&Value::Null, &Value::Null);
    }

    #[test]
    fn unknown_keys_are_kept_under_native() {
        assert_all_become(&json!({}), &json!({}));
        let sent = json!({ "claude_version": "2", "list": ["x"], "nested": { "a": 1.5 }, "nothing": null });
        let kept = json!({ "claude_version": "2", "list": ["x"], "nested": { "a": 1.5 } });
        assert_all_become(&sent, &json!({ "native": kept }));
    }

    #[test]
    fn known_keys_stay_where_they_are() {
        let metadata = json!({ "model": "m", "cwd": "/w", "tools": ["Bash"], "apiKeySource": "none" });
        assert_eq!(
            rewritten::<SessionStarted>(&json!({}), "metadata", metadata),
            json!({ "model": "m", "cwd": "/w", "tools": ["Bash"], "native": { "apiKeySource": "none" } })
        );
    }

    #[test]
    fn metadata_that_does_not_fit_is_kept_as_a_whole() {
        let metadata = json!({ "model": { "id": "m" }, "cwd": "/w" });
        assert_eq!(
            rewritten::<SessionStarted>(&json!({}), "metadata", metadata.clone()),
            json!({ "native": metadata.clone() })
        );
        assert_eq!(rewritten::<TurnStarted>(&json!({}), "metadata", metadata.clone()), json!({ "native": metadata }));
        let details = json!({ "status": "failed" });
        assert_eq!(
            rewritten::<ErrorEvent>(&json!({ "message": "m", "code": null }), "details", details.clone()),
            json!({ "native": details })
        );
    }

    #[test]
    fn an_event_with_metadata_that_is_not_an_object_can_be_read() {
        for metadata in [json!("words"), json!(["amp", "1.0"]), json!(7)] {
            assert_eq!(rewritten::<SessionStarted>(&json!({}), "metadata", metadata.clone()), json!({}));
            assert_eq!(
                rewritten::<ErrorEvent>(&json!({ "message": "m", "code": null }), "details", metadata.clone()),
                json!({ "native": metadata })
            );
        }
    }
}

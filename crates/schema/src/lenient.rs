//! Reading metadata that does not have the keys of this version.
//!
//! Streams of version 1.0 have metadata in the agents' own words. Keys that this version does not know are kept under
//! `native`, and so is a value that does not fit at all, so that the event around it can still be read.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    ErrorDetails, NativeMetadata, PermissionMetadata, QuestionMetadata, SessionMetadata, ToolKind, TurnEndMetadata,
    TurnMetadata,
};

/// Reads metadata. `keep` makes metadata that has only this value under `native`; `native` is the place for it.
fn read<'de, T, N, D>(
    deserializer: D,
    keep: impl FnOnce(Value) -> T,
    native: impl FnOnce(&mut T) -> &mut Option<N>,
) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned + Serialize,
    N: DeserializeOwned,
    D: Deserializer<'de>,
{
    let Some(value) = Option::<Value>::deserialize(deserializer)? else { return Ok(None) };
    // An array would be read as the fields in order.
    let Value::Object(members) = value else { return Ok(Some(keep(value))) };
    let Ok(mut metadata) = T::deserialize(&members) else { return Ok(Some(keep(Value::Object(members)))) };
    let unknown = unknown_members(members, &metadata);
    let native = native(&mut metadata);
    if native.is_none() && !unknown.is_empty() {
        *native = serde_json::from_value(Value::Object(unknown)).ok();
    }
    Ok(Some(metadata))
}

/// What was read and would not be written again.
fn unknown_members(mut members: Map<String, Value>, metadata: &impl Serialize) -> Map<String, Value> {
    let known = serde_json::to_value(metadata).unwrap_or_default();
    members.retain(|key, value| !value.is_null() && known.get(key).is_none());
    members
}

fn facts(value: Value) -> Option<NativeMetadata> {
    serde_json::from_value(value).ok()
}

pub(crate) fn session<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<SessionMetadata>>, D::Error> {
    let keep = |value| SessionMetadata { native: facts(value), ..SessionMetadata::default() };
    Ok(read(from, keep, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn turn<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<TurnMetadata>>, D::Error> {
    let keep = |value| TurnMetadata { native: facts(value), ..TurnMetadata::default() };
    Ok(read(from, keep, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn turn_end<'de, D: Deserializer<'de>>(from: D) -> Result<Option<TurnEndMetadata>, D::Error> {
    let keep = |value| TurnEndMetadata { native: facts(value), ..TurnEndMetadata::default() };
    read(from, keep, |metadata| &mut metadata.native)
}

pub(crate) fn permission<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<PermissionMetadata>>, D::Error> {
    let keep =
        |value| PermissionMetadata { native: Some(value), ..PermissionMetadata::new(ToolKind::Other, Vec::new()) };
    Ok(read(from, keep, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn question<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<QuestionMetadata>>, D::Error> {
    let keep = |value| QuestionMetadata { native: Some(value), ..QuestionMetadata::default() };
    Ok(read(from, keep, |metadata| &mut metadata.native)?.map(Box::new))
}

pub(crate) fn error<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<ErrorDetails>>, D::Error> {
    let keep = |value| ErrorDetails { native: Some(value), ..ErrorDetails::default() };
    Ok(read(from, keep, |metadata| &mut metadata.native)?.map(Box::new))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{ErrorEvent, Permission, Question, SessionStarted, TurnEnded, TurnStarted};

    use super::*;

    /// Reads `base` with this `metadata` (or `details`), and returns that as it is written again.
    #[track_caller]
    fn rewritten<T: DeserializeOwned + Serialize>(base: &Value, key: &str, metadata: Value) -> Value {
        let mut data = base.clone();
        data[key] = metadata;
        let read: T = serde_json::from_value(data).unwrap();
        serde_json::to_value(&read).unwrap()[key].take()
    }

    /// Expects all kinds of metadata to become the same, apart from the keys that permissions and questions always have.
    #[track_caller]
    fn all_become(metadata: &Value, expected: &Value) {
        let question =
            json!({ "question_id": "q", "prompt": "?", "options": [], "response": null, "status": "requested" });
        let permission = json!({ "permission_id": "p", "action": "a", "status": "requested" });
        let error = json!({ "message": "m", "code": null });
        let with = |always: Value| {
            let mut expected = expected.clone();
            if let Value::Object(expected) = &mut expected {
                for (key, value) in always.as_object().cloned().unwrap() {
                    expected.entry(key).or_insert(value);
                }
            }
            expected
        };
        let nothing = with(json!({}));
        assert_eq!(rewritten::<SessionStarted>(&json!({}), "metadata", metadata.clone()), nothing);
        assert_eq!(rewritten::<TurnStarted>(&json!({}), "metadata", metadata.clone()), nothing);
        assert_eq!(rewritten::<TurnEnded>(&json!({ "status": "failed" }), "metadata", metadata.clone()), nothing);
        assert_eq!(rewritten::<ErrorEvent>(&error, "details", metadata.clone()), nothing);
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
    fn null_is_no_metadata() {
        all_become(&Value::Null, &Value::Null);
    }

    #[test]
    fn keys_of_the_agent_are_kept_under_native() {
        all_become(&json!({}), &json!({}));
        let said = json!({ "claude_version": "2", "list": ["x"], "nested": { "a": 1.5 }, "nothing": null });
        let kept = json!({ "claude_version": "2", "list": ["x"], "nested": { "a": 1.5 } });
        all_become(&said, &json!({ "native": kept }));
    }

    #[test]
    fn keys_of_this_version_stay_where_they_are() {
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
    fn metadata_that_is_no_object_does_not_keep_the_event_from_being_read() {
        for metadata in [json!("words"), json!(["amp", "1.0"]), json!(7)] {
            assert_eq!(rewritten::<SessionStarted>(&json!({}), "metadata", metadata.clone()), json!({}));
            assert_eq!(
                rewritten::<ErrorEvent>(&json!({ "message": "m", "code": null }), "details", metadata.clone()),
                json!({ "native": metadata })
            );
        }
    }
}

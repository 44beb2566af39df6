//! The vendors' schemas as they were pulled: without our corrections, and as strict as declared.

use interlingua_agent_schemas::find;
use jsonschema::Validator;
use serde_json::Value;

/// A validator for a part of an agent's schema, named by a JSON pointer such as `/definitions/ThreadStartParams`.
pub(crate) fn validator(agent: &str, pointer: &str) -> Validator {
    let text = find(agent).and_then(|schemas| schemas.file("schema.json")).expect("the agent has no schema");
    let mut document: Value = serde_json::from_str(text).unwrap();
    assert!(document.pointer(pointer).is_some(), "{agent} has no schema at {pointer}");
    // References inside the part are relative to the whole document, so the part is validated as a reference in it.
    document["$ref"] = format!("#{}", pointer.replace('{', "%7B").replace('}', "%7D")).into();
    jsonschema::validator_for(&document).unwrap_or_else(|error| panic!("{agent} {pointer}: {error}"))
}

/// Panics with all errors if a value is invalid.
#[track_caller]
pub(crate) fn assert_valid(validator: &Validator, value: &Value) {
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{value}\n{}", errors.join("\n"));
}

#[test]
fn an_invalid_value_is_detected() {
    let params = validator("codex", "/definitions/TurnInterruptParams");
    assert_valid(&params, &serde_json::json!({"threadId": "t", "turnId": "u"}));
    assert!(!params.is_valid(&serde_json::json!({"threadId": "t"})));
    assert!(!params.is_valid(&serde_json::json!({"threadId": "t", "turnId": 1})));
}

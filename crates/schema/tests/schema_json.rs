//! The JSON Schema matches what is written.

/// Keys that are always written are required; keys that may be omitted are not.
#[test]
fn required_keys_are_those_that_are_always_written() {
    let schema = serde_json::to_value(interlingua_schema::json_schema()).unwrap();
    let expected: [(&str, &[&str]); 12] = [
        ("SessionMetadata", &[]),
        ("TurnStarted", &["turn_id", "phase"]),
        ("TurnEnded", &["turn_id", "phase", "status", "duration_ms"]),
        ("Permission", &["permission_id", "action", "status", "metadata"]),
        ("PermissionMetadata", &["call_id", "tool_kind", "input", "scopes", "native"]),
        ("QuestionMetadata", &["options", "multi_select", "free_text", "secret"]),
        ("ErrorEvent", &["message", "code", "details"]),
        ("ErrorDetails", &[]),
        ("CommandInput", &["command"]),
        ("WebInput", &[]),
        ("Retry", &["attempt", "reason"]),
        ("PlanStep", &["content", "status"]),
    ];
    for (name, keys) in expected {
        let required = schema["$defs"][name]["required"].as_array().cloned().unwrap_or_default();
        assert_eq!(required, keys, "{name}");
    }
    let metadata = &schema["$defs"]["PermissionMetadata"]["properties"];
    for key in ["call_id", "tool_kind", "input", "reason", "scopes", "scope", "by", "native"] {
        assert!(metadata.get(key).is_some(), "PermissionMetadata has no {key}");
    }
    assert_eq!(schema["$defs"]["ToolInput"]["anyOf"].as_array().map(Vec::len), Some(9));
    assert_eq!(schema["$defs"]["StatusData"]["anyOf"].as_array().map(Vec::len), Some(7));
}

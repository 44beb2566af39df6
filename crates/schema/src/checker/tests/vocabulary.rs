//! L15 to L18: titles, inputs and metadata that are the same for all agents.

use super::*;
use crate::{ContentPart, EventData, Item, ItemKind, ItemOutcome, Origin, Timestamp, ToolInput, ToolKind, WebInput};

/// A session with one tool call that completes with `fields`.
fn completed_call(fields: &Value) -> Stream {
    Stream::new().start("c", &call_with(None, &json!({}))).complete("c", &call_with(None, fields))
}

#[test]
fn l15_a_completed_call_has_a_one_line_title() {
    let missing = &["L15 seq 3: the title of tool call c is missing or empty"];
    completed_call(&json!({})).assert_violations(missing);
    completed_call(&json!({ "title": "" })).assert_violations(missing);
    completed_call(&json!({ "title": " " })).assert_violations(missing);
    let control = &["L15 seq 3: the title of tool call c has control characters or line separators"];
    completed_call(&json!({ "title": "Run a\nb" })).assert_violations(control);
    completed_call(&json!({ "title": "Run \u{1b}[1m" })).assert_violations(control);
    completed_call(&json!({ "title": "Run a\u{2028}b" })).assert_violations(control);
    completed_call(&json!({ "title": "ü".repeat(120) })).assert_violations(&[]);
    completed_call(&json!({ "title": "ü".repeat(121) }))
        .assert_violations(&["L15 seq 3: the title of tool call c has 121 characters, more than 120"]);
    Stream::new()
        .start("c", &call(None))
        .complete("c", &json!({ "kind": "tool_call", "status": "failed" }))
        .assert_violations(&["L15 seq 3: tool call c has no tool_call part"]);
}

#[test]
fn l15_an_input_has_the_keys_of_its_kind() {
    let call = |kind: &str, input: Value| completed_call(&json!({ "title": "T", "tool_kind": kind, "input": input }));
    for (kind, good, bad) in [
        ("command", json!({ "command": "ls" }), json!({ "cwd": "/w" })),
        ("file_read", json!({ "path": "a" }), json!({ "offset": 1 })),
        ("file_change", json!({ "changes": [{ "path": "a" }] }), json!({ "changes": [{ "diff": "" }] })),
        ("search", json!({ "query": "q" }), json!({ "in": "names" })),
        ("mcp", json!({ "server": "s", "tool": "t", "arguments": {} }), json!({ "server": "s", "tool": "t" })),
        ("sub_agent", json!({ "prompt": "p" }), json!({ "agent": "a" })),
        (
            "plan",
            json!({ "steps": [{ "content": "c", "status": "pending" }] }),
            json!({ "steps": [{ "content": "c" }] }),
        ),
        ("question", json!({ "questions": [{ "prompt": "?", "options": [] }] }), json!({ "questions": ["?"] })),
        ("web", json!({ "query": "q" }), json!("q")),
    ] {
        call(kind, good).assert_violations(&[]);
        let expected =
            format!("L15 seq 3: the input of tool call c does not have the keys of its tool_kind \"{kind}\"");
        call(kind, bad).assert_violations(&[&expected]);
        completed_call(&json!({ "title": "T", "tool_kind": kind })).assert_violations(&[]);
    }
    call("web", json!({ "url": "u" })).assert_violations(&[]);
    call("web", json!({})).assert_violations(&["L15 seq 3: the input of tool call c has neither url nor query"]);
    call("other", json!({ "command": "ls" }))
        .assert_violations(&["L15 seq 3: the input of tool call c is present although the tool_kind is \"other\""]);
    completed_call(&json!({ "title": "T", "input": { "command": "ls" } }))
        .assert_violations(&["L15 seq 3: the input of tool call c is present although the call has no tool_kind"]);
    call("kind of version 2", json!({ "x": 1 })).assert_violations(&[]);
}

#[test]
fn l15_the_input_is_checked_in_events_that_were_not_read_from_json() {
    let mut checker = Checker::new();
    let mut item = Item::new("c", ItemKind::ToolCall);
    item.content.push(ContentPart::ToolCall {
        name: "ls".into(),
        arguments: "{}".into(),
        call_id: "c".into(),
        tool_kind: Some(ToolKind::Search),
        title: Some("T".into()),
        input: Some(Box::new(ToolInput::Web(WebInput::search("q")))),
    });
    let completed = EventData::item_completed(item, ItemOutcome::Completed);
    let event = UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "s", Origin::AGENT, completed);
    assert!(checker.push(&event).iter().any(|violation| violation.rule == Rule::L15));
}

#[test]
fn l16_a_turn_has_one_id_and_a_duration() {
    let ended = |turn_id: &str| json!({ "turn_id": turn_id, "status": "completed", "duration_ms": 0 });
    Stream::new().start_turn().event("turn.ended", ended("t")).assert_violations(&[]);
    Stream::new()
        .start_turn()
        .event("turn.ended", ended("u"))
        .assert_violations(&[r#"L16 seq 3: turn.ended has turn_id "u", turn.started has "t""#]);
    Stream::new()
        .start_turn()
        .event("turn.ended", json!({ "status": "completed", "duration_ms": 0 }))
        .assert_violations(&[r#"L16 seq 3: turn.ended has turn_id "", turn.started has "t""#]);
    for started in [json!({}), json!({ "turn_id": "" })] {
        Stream::new()
            .event("turn.started", started)
            .event("turn.ended", ended(""))
            .assert_violations(&["L16 seq 2: turn.started has no turn_id"]);
    }
    Stream::new()
        .start_turn()
        .event("turn.ended", json!({ "turn_id": "t", "status": "completed" }))
        .assert_violations(&["L16 seq 3: turn.ended has no duration_ms"]);
}

#[test]
fn l17_a_permission_has_metadata_with_the_required_keys() {
    let request = |metadata: Value| Stream::new().event("permission.requested", permission_with("requested", metadata));
    request(Value::Null).assert_violations(&["L17 seq 2: permission p has no metadata"]);
    request(json!({ "call_id": null, "tool_kind": "web", "scopes": ["session", "always"] })).assert_violations(&[]);
    for metadata in [
        json!({ "call_id": null, "tool_kind": "web" }),
        json!({ "call_id": null, "tool_kind": "web", "scopes": [] }),
        json!({ "call_id": null, "tool_kind": "web", "scopes": ["forever"] }),
    ] {
        request(metadata).assert_violations(&["L17 seq 2: the metadata of permission p has no scopes"]);
    }
    request(json!({ "scopes": ["once"] })).assert_violations(&[
        "L17 seq 2: the metadata of permission p has no call_id",
        "L17 seq 2: the metadata of permission p has no tool_kind",
    ]);
    request(json!({ "call_id": null, "tool_kind": null, "scopes": ["once"] }))
        .assert_violations(&["L17 seq 2: the metadata of permission p has no tool_kind"]);
}

#[test]
fn l17_a_permission_names_a_call_that_has_started() {
    let metadata = json!({ "call_id": "c", "tool_kind": "command", "scopes": ["once"] });
    let request = permission_with("requested", metadata);
    Stream::new().start("c", &call(None)).event("permission.requested", request.clone()).assert_violations(&[]);
    Stream::new()
        .event("permission.requested", request)
        .start("c", &call(None))
        .assert_violations(&["L17 seq 2: permission p names call c, which has not started"]);
}

/// A status item with this label, followed by `parts`.
fn status(label: &str, parts: &[Value]) -> Value {
    let mut content = vec![json!({ "type": "status", "label": label, "detail": null })];
    content.extend_from_slice(parts);
    json!({ "kind": "status", "role": null, "content": content })
}

#[test]
fn l18_a_status_item_has_the_data_of_its_label() {
    let part = |json: Value| json!({ "type": "json", "json": json });
    let empty = json!({ "kind": "status", "role": null });
    for (label, data, problem) in [
        ("retry", json!({ "attempt": 1, "reason": "r" }), "missing field `attempt`"),
        ("model_changed", json!({ "to": "m" }), "missing field `to`"),
        ("mode_changed", json!({ "to": "plan" }), "missing field `to`"),
        ("rate_limit", json!({ "status": "allowed" }), "missing field `status`"),
        ("task", json!({ "task_id": "t", "state": "started" }), "missing field `task_id`"),
        ("plan", json!({ "steps": [] }), "missing field `steps`"),
    ] {
        let (good, bad) = (status(label, &[part(data)]), status(label, &[part(json!({}))]));
        Stream::new().start("s", &good).complete("s", &good).assert_violations(&[]);
        let expected =
            format!("L18 seq 3: status s has the label \"{label}\" but its json part does not fit: {problem}");
        Stream::new().start("s", &empty).complete("s", &bad).assert_violations(&[&expected]);
        let without = |seq: u32| format!("L18 seq {seq}: status s has the label \"{label}\" but no json part");
        Stream::new().start("s", &empty).complete("s", &status(label, &[])).assert_violations(&[&without(3)]);
        Stream::new().start("s", &status(label, &[])).complete("s", &good).assert_violations(&[&without(2)]);
    }
    let compaction = status("compaction", &[json!({ "type": "text", "text": "t" }), part(json!({}))]);
    Stream::new().start("s", &compaction).complete("s", &compaction).assert_violations(&[]);
    Stream::new()
        .start("s", &status("compaction", &[]))
        .assert_violations(&[r#"L18 seq 2: status s has the label "compaction" but no json part"#]);
}

#[test]
fn l18_some_labels_have_no_data() {
    for label in ["hook", "notice", "late_result", "label of version 2"] {
        let item = status(label, &[]);
        Stream::new().start("s", &item).complete("s", &item).assert_violations(&[]);
    }
}

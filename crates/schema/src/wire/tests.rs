use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::WriteJson as _;
use crate::*;

/// Asserts that both writers produce the same bytes.
fn assert_same_bytes(event: &UniversalEvent) {
    let mut written = b"before".to_vec();
    event.write_json(&mut written).unwrap();
    let expected = format!("before{}", serde_json::to_string(event).unwrap());
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

/// Asserts the same for the data in an event without optional fields, and in one with all of them.
fn assert_same_bytes_with_data(data: EventData) {
    let mut event =
        UniversalEvent::new("evt_1", 42, Timestamp::from_millis(1_794_786_891_164), "s\\1", Origin::AGENT, data);
    assert_same_bytes(&event);
    event.origin = Origin::DAEMON;
    event.sequence = u64::MAX;
    event.native_session_id = Some("native".into());
    event.raw = Some(RawJson::from_payload("{\"a\" : 1.0}"));
    assert_same_bytes(&event);
}

/// Members of the previous event are copied, so sessions, native ids and origins alternate.
#[test]
fn json_lines_writes_the_same_bytes_as_write_json() {
    let item = Item { status: ItemStatus::Completed, content: parts("x"), ..Item::new("itm_1", ItemKind::Message) };
    let native_item = NativeItemId::from("native");
    let raw = RawJson::from_payload("[1]");
    let session_metadata = SessionMetadata { agent: "amp".into(), ..SessionMetadata::default() };
    let turn = TurnMetadata { model: Some("m".into()), ..TurnMetadata::default() };
    let natives = [None, Some(NativeSessionId::from("n\\")), Some(NativeSessionId::from("m"))];
    let (mut lines, mut kept, mut expected) = (JsonLines::new(), Vec::new(), Vec::new());
    for (sequence, session) in (1..).zip(["s", "s", "t", "s"].into_iter().cycle().take(30)) {
        let session_id = SessionId::from(session);
        let sink: [&mut dyn EventSink; 2] = [&mut lines, &mut kept];
        for sink in sink {
            let data = match sequence % 5 {
                0 => EventDataRef::ItemStarted(&item),
                1 => EventDataRef::SessionStarted { metadata: &session_metadata },
                2 => EventDataRef::TurnStarted { turn_id: "t", metadata: Some(&turn).filter(|_| sequence % 2 == 0) },
                3 => EventDataRef::ItemDelta {
                    item_id: &item.item_id,
                    native_item_id: Some(&native_item).filter(|_| sequence % 2 == 0),
                    delta: "d",
                },
                _ => EventDataRef::Owned(EventData::item_completed(item.clone(), ItemOutcome::Failed)),
            };
            sink.write_event(EventRef {
                event_id: "evt",
                sequence,
                time: Timestamp::from_millis(7 * i64::try_from(sequence).unwrap()),
                session_id: &session_id,
                native_session_id: natives[usize::try_from(sequence / 2 % 3).unwrap()].as_ref(),
                origin: if sequence % 2 == 0 { Origin::AGENT } else { Origin::DAEMON },
                data,
                raw: Some(&raw).filter(|_| sequence % 7 == 0),
            });
        }
    }
    for event in &kept {
        assert_same_bytes(event);
        event.write_json(&mut expected).unwrap();
        expected.push(b'\n');
    }
    assert_eq!(lines.count(), kept.len());
    assert_eq!(String::from_utf8(lines.as_bytes().to_vec()).unwrap(), String::from_utf8(expected).unwrap());
    lines.clear();
    assert_eq!((lines.count(), lines.as_bytes()), (0, &b""[..]));
}

/// Every content part, with `text` in every string.
fn parts(text: &str) -> Vec<ContentPart> {
    let some = || Some(text.to_owned());
    let mut parts = vec![
        ContentPart::text(text),
        ContentPart::Json { json: tree(text) },
        ContentPart::ToolResult {
            call_id: text.into(),
            output: text.into(),
            exit_code: None,
            duration_ms: None,
            stderr_bytes: None,
        },
        ContentPart::ToolResult {
            call_id: text.into(),
            output: text.into(),
            exit_code: Some(i32::MIN),
            duration_ms: Some(0),
            stderr_bytes: Some(10),
        },
        ContentPart::Image { path: text.into(), mime: None },
        ContentPart::Image { path: text.into(), mime: some() },
        ContentPart::Unknown(json!({ "type": "audio", "seconds": text }).as_object().cloned().unwrap()),
        ContentPart::Unknown(serde_json::Map::new()),
    ];
    let call = |tool_kind, title, input| ContentPart::ToolCall {
        name: text.into(),
        arguments: text.into(),
        call_id: text.into(),
        tool_kind,
        title,
        input,
    };
    parts.push(call(None, None, None));
    for tool_kind in all::<ToolKind>(&["other", text]) {
        parts.push(call(Some(tool_kind), some(), None));
    }
    parts.push(call(Some(ToolKind::Web), some(), Some(Box::new(ToolInput::Web(WebInput::search(text))))));
    for action in all::<FileAction>(&["read", "write", "patch"]) {
        parts.push(ContentPart::FileRef { path: text.into(), action: action.clone(), diff: some() });
        parts.push(ContentPart::FileRef { path: text.into(), action, diff: None });
    }
    for visibility in all(&["public", "private"]) {
        parts.push(ContentPart::reasoning(text, visibility));
    }
    for label in all::<StatusLabel>(&[
        "retry",
        "compaction",
        "plan",
        "rate_limit",
        "model_changed",
        "mode_changed",
        "hook",
        "task",
        "notice",
        "late_result",
        text,
    ]) {
        parts.push(ContentPart::Status { label: label.clone(), detail: some() });
        parts.push(ContentPart::Status { label, detail: None });
    }
    parts
}

/// The inputs of all tool kinds, with and without each optional key, and with `text` in every string.
fn inputs(text: &str) -> Vec<ToolInput> {
    let change = |kind: &str| json!({ "path": text, "change": kind });
    let edits = json!([{ "old": text, "new": text }, { "old": "", "new": "" }]);
    let changes = with_and_without::<FileChange>(
        json!({ "path": text, "change": "move", "to": text, "diff": text, "edits": edits }),
        &["path"],
    );
    let step = |status: &str| json!({ "content": text, "status": status });
    let steps = [step("pending"), step("in_progress"), step("completed"), step("cancelled")];
    let question = json!({ "prompt": text, "options": [text, text] });
    let command = json!({ "command": text, "cwd": text, "background": true, "timeout_ms": 5000, "description": text });
    let cases = [
        ("command", command, &["command"][..]),
        ("file_read", json!({ "path": text, "offset": 1, "limit": u64::MAX }), &["path"]),
        ("file_change", json!({ "changes": changes }), &["changes"]),
        ("file_change", json!({ "changes": [change("create"), change("update"), change("delete")] }), &["changes"]),
        ("file_change", json!({ "changes": [] }), &["changes"]),
        ("search", json!({ "query": text, "in": "names", "path": text, "glob": text }), &["query"]),
        ("search", json!({ "query": text, "in": "contents" }), &["query"]),
        ("web", json!({ "url": text, "query": text }), &[]),
        ("mcp", json!({ "server": text, "tool": text, "arguments": tree(text) }), &["server", "tool", "arguments"]),
        ("sub_agent", json!({ "prompt": text, "description": text, "agent": text }), &["prompt"]),
        ("plan", json!({ "steps": steps }), &["steps"]),
        ("question", json!({ "questions": [question, { "prompt": text, "options": [] }] }), &["questions"]),
    ];
    let mut inputs = vec![ToolInput::Unknown(tree(text))];
    for (kind, full, required) in cases {
        let kind: ToolKind = serde_json::from_value(json!(kind)).unwrap();
        for json in omit_optional_keys(full, required) {
            let input = ToolInput::decode(Some(&kind), json.clone());
            assert_eq!((input.kind().as_ref(), serde_json::to_value(&input).unwrap()), (Some(&kind), json));
            inputs.push(input);
        }
    }
    inputs
}

/// Events with every kind of metadata, with and without each optional key, and with `text` in every string.
fn metadata_events(text: &str) -> Vec<EventData> {
    let native = tree(text);
    let servers = json!([{ "name": text, "status": text }, { "name": text }]);
    let mut events = Vec::new();
    let session = json!({
        "agent": format!("agent {text}"), "agent_version": text, "model": text, "cwd": text, "agent_mode": text,
        "permission_mode": text, "tools": [text, text], "mcp_servers": servers, "imported": true, "forked_from": text,
        "native": native,
    });
    for metadata in with_and_without(session, &[]) {
        events.push(EventData::SessionStarted(SessionStarted { metadata: Some(metadata) }));
    }
    let turn = json!({
        "model": text, "message_ids": [text, text], "agent_version": text, "cwd": text, "agent_mode": text,
        "permission_mode": text, "tools": [text], "mcp_servers": servers, "native": native,
    });
    for metadata in with_and_without(turn, &[]) {
        events.push(EventData::TurnStarted(TurnStarted { metadata: Some(metadata), ..TurnStarted::new(text) }));
    }
    for reason in ["end_turn", "max_tokens", "refusal", "interrupted", "other", text] {
        for metadata in with_and_without(json!({ "stop_reason": reason, "native": native }), &[]) {
            let ended = TurnEnded::new(text, TurnStatus::Completed);
            events.push(EventData::TurnEnded(TurnEnded { metadata: Some(metadata), ..ended }));
        }
    }
    let permission = json!({
        "call_id": text, "tool_kind": "command", "input": { "command": text }, "reason": text,
        "scopes": ["once", "session", "always"], "scope": "session", "by": text, "native": native,
    });
    let mut metadata = with_and_without(permission, &["call_id", "tool_kind", "input", "scopes", "native"]);
    metadata.extend(inputs(text).into_iter().map(|input| PermissionMetadata {
        input: Some(input.clone()),
        ..PermissionMetadata::new(input.kind().unwrap_or(ToolKind::Other), vec![])
    }));
    for metadata in metadata {
        let permission = Permission { metadata: Some(Box::new(metadata)), ..Permission::new(text, text) };
        events.push(EventData::permission_requested(permission));
    }
    let question = json!({
        "header": text, "options": [{ "label": text, "description": text }, { "label": text }], "multi_select": true,
        "free_text": true, "secret": true, "call_id": text, "native": native,
    });
    for metadata in with_and_without(question, &["options", "multi_select", "free_text", "secret"]) {
        let question = Question { metadata: Some(metadata), ..Question::new(text, text, vec![]) };
        events.push(EventData::question_requested(question));
    }
    let stderr = json!({ "head": text, "truncated": false });
    let details = json!({ "status": 429, "type": text, "retryable": true, "stderr": stderr, "native": native });
    for details in with_and_without(details, &[]) {
        let error = ErrorEvent { details: Some(details), ..ErrorEvent::new(ErrorCode::Auth, text) };
        events.push(EventData::Error(error));
    }
    events
}

/// Decodes the objects of [`omit_optional_keys`], and asserts that no key is lost.
fn with_and_without<T: DeserializeOwned + Serialize>(full: Value, required: &[&str]) -> Vec<T> {
    omit_optional_keys(full, required)
        .into_iter()
        .map(|json| {
            let read: T = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), json);
            read
        })
        .collect()
}

/// The full object, the object without each single optional key, and the object without all of them.
fn omit_optional_keys(full: Value, required: &[&str]) -> Vec<Value> {
    let optional: Vec<String> = {
        let keys = full.as_object().unwrap().keys();
        keys.filter(|key| !required.contains(&key.as_str())).cloned().collect()
    };
    let without = |omitted: &[String]| {
        let mut json = full.clone();
        json.as_object_mut().unwrap().retain(|key, _| !omitted.contains(key));
        json
    };
    let mut objects: Vec<Value> = optional.iter().map(|key| without(std::slice::from_ref(key))).collect();
    objects.push(without(&optional));
    objects.push(full);
    objects
}

/// The variants with these names.
fn all<T: DeserializeOwned>(names: &[&str]) -> Vec<T> {
    names.iter().map(|name| serde_json::from_value(json!(name)).unwrap()).collect()
}

fn tree(text: &str) -> Value {
    json!({
        "": [], "{}": {}, "null": null, "bools": [true, false], text: text,
        "numbers": [0, 7, 10, -1, u64::MAX, i64::MIN, 0.1, -0.0, 1e300, 1.5e-9, f64::MAX],
        "nested": { "a": [[text], { "b": { text: [1] } }] },
    })
}

/// Every event type, with and without each optional field, and with `text` in every string.
fn every_event(text: &str) -> Vec<EventData> {
    let some = || Some(text.to_owned());
    let mut events = vec![
        EventData::SessionStarted(SessionStarted::default()),
        EventData::SessionEnded(SessionEnded::completed()),
        EventData::SessionEnded(SessionEnded::terminated()),
        EventData::SessionEnded(SessionEnded::error(text, None, None)),
        EventData::SessionEnded(SessionEnded::error(text, Some(-9), Some(StderrOutput::default()))),
        EventData::SessionEnded(SessionEnded::error(
            text,
            Some(1),
            Some(StderrOutput { head: some(), tail: some(), truncated: true, total_lines: Some(71) }),
        )),
        EventData::TurnStarted(TurnStarted::new(text)),
        EventData::ItemDelta(ItemDelta { item_id: text.into(), native_item_id: None, delta: text.into() }),
        EventData::ItemDelta(ItemDelta { item_id: text.into(), native_item_id: Some(text.into()), delta: text.into() }),
        EventData::Error(ErrorEvent { message: text.into(), code: None, details: None }),
    ];
    events.extend(metadata_events(text));
    for input in inputs(text) {
        let mut item = Item::new(text, ItemKind::ToolCall);
        item.content = vec![ContentPart::ToolCall {
            name: text.into(),
            arguments: text.into(),
            call_id: text.into(),
            tool_kind: input.kind(),
            title: None,
            input: Some(Box::new(input)),
        }];
        events.push(EventData::item_completed(item, ItemOutcome::Completed));
    }
    for status in all(&["completed", "failed", "interrupted"]) {
        let mut ended = TurnEnded::new(text, status);
        events.push(EventData::TurnEnded(ended.clone()));
        ended.usage = Some(Usage::default());
        ended.duration_ms = 1234;
        events.push(EventData::TurnEnded(ended.clone()));
        ended.usage = Some(Usage {
            input_tokens: 99,
            cached_input_tokens: Some(0),
            cache_write_tokens: Some(1),
            output_tokens: 100,
            reasoning_tokens: Some(u64::MAX),
            cost_usd: Some(0.012_345),
            model: some(),
        });
        events.push(EventData::TurnEnded(ended.clone()));
        ended.usage = Some(Usage { cost_usd: Some(f64::NAN), ..Usage::default() });
        events.push(EventData::TurnEnded(ended));
    }
    for kind in all(&["message", "tool_call", "tool_result", "system", "status", "unknown"]) {
        let mut item = Item::new(text, kind);
        events.push(EventData::item_started(item.clone()));
        item.native_item_id = Some(text.into());
        item.parent_id = Some(text.into());
        item.content = parts(text);
        for role in all(&["user", "assistant", "system", "tool"]) {
            item.role = Some(role);
            events.push(EventData::item_completed(item.clone(), ItemOutcome::Completed));
        }
        events.push(EventData::item_completed(item, ItemOutcome::Failed));
    }
    let permission = Permission::new(text, text);
    events.push(EventData::permission_requested(permission.clone()));
    events.push(EventData::permission_resolved(permission.clone(), Decision::Approved));
    events.push(EventData::permission_resolved(permission, Decision::Denied));
    let question = Question::new(text, text, vec![text.into(), text.into()]);
    events.push(EventData::question_requested(question.clone()));
    events.push(EventData::question_resolved(question.clone(), QuestionAnswer::Answered(text.into())));
    events.push(EventData::question_resolved(question, QuestionAnswer::Rejected(None)));
    for code in all::<ErrorCode>(&[
        "rate_limited",
        "overloaded",
        "auth",
        "invalid_request",
        "context_overflow",
        "connection",
        "limit",
        "agent_error",
        text,
    ]) {
        events.push(EventData::Error(ErrorEvent::new(code, text)));
    }
    let mut unparsed = AgentUnparsed::new(text, text, text);
    events.push(EventData::AgentUnparsed(unparsed.clone()));
    unparsed.native_type = some();
    events.push(EventData::AgentUnparsed(unparsed));
    events.push(EventData::Unknown(UnknownEvent {
        kind: text.into(),
        data: RawJson::from_payload("{\"b\":1.0, \"a\":[ 2 ]}"),
    }));
    events
}

#[test]
fn every_event_is_written_with_the_bytes_of_serde() {
    for text in ["", "x", "plain ünïcode 文字 🦀, longer than any block that is scanned at once", "\"\\\u{0}\u{7f}\n\t"]
    {
        every_event(text).into_iter().for_each(assert_same_bytes_with_data);
    }
}

#[test]
fn every_character_is_escaped_as_serde_does_at_every_position() {
    for character in (0..0x80).map(char::from).chain("\u{80}ÿ\u{7ff}\u{2028}\u{ffff}🦀".chars()) {
        for before in 0..40 {
            let text = format!("{}{character}{}", "-".repeat(before), "+".repeat(40 - before));
            for text in [&text, &text[..before + character.len_utf8()]] {
                let mut written = Vec::new();
                text.write_json(&mut written);
                assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(text).unwrap());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn events_with_any_text_are_written_with_the_bytes_of_serde(text in "(\\PC|[\"\\\\\n\r\t\u{0}-\u{1f}é文🦀]){0,90}") {
        every_event(&text).into_iter().for_each(assert_same_bytes_with_data);
    }

    #[test]
    fn numbers_are_written_as_serde_does(whole: u64, negative: i64, float: f64) {
        let tree = json!([whole, negative, float]);
        let mut written = Vec::new();
        tree.write_json(&mut written);
        prop_assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&tree).unwrap());
    }
}

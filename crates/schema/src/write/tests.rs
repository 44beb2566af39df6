use proptest::prelude::*;
use serde_json::{Value, json};

use super::Json as _;
use crate::*;

fn same_bytes(event: &UniversalEvent) {
    let mut written = b"before".to_vec();
    event.write_json(&mut written).unwrap();
    let expected = format!("before{}", serde_json::to_string(event).unwrap());
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

/// The event alone, and with everything that an envelope may have.
fn same_bytes_around(data: EventData) {
    let mut event =
        UniversalEvent::new("evt_1", 42, Timestamp::from_millis(1_794_786_891_164), "s\\1", Origin::AGENT, data);
    same_bytes(&event);
    event.origin = Origin::DAEMON;
    event.sequence = u64::MAX;
    event.native_session_id = Some("native".into());
    event.raw = Some(RawJson::from_payload("{\"a\" : 1.0}"));
    same_bytes(&event);
}

/// Written in parts as it happens, an event has the same bytes, whatever session the one before was of.
#[test]
fn a_sink_writes_the_same_bytes() {
    let item = Item { status: ItemStatus::Completed, content: parts("x"), ..Item::new("itm_1", ItemKind::Message) };
    let native_item = NativeItemId::from("native");
    let raw = RawJson::from_payload("[1]");
    let natives = [None, Some(NativeSessionId::from("n\\")), Some(NativeSessionId::from("m"))];
    let (mut lines, mut kept, mut expected) = (JsonLines::new(), Vec::new(), Vec::new());
    for (sequence, session) in (1..).zip(["s", "s", "t", "s"].into_iter().cycle().take(24)) {
        let session_id = SessionId::from(session);
        let sink: [&mut dyn EventSink; 2] = [&mut lines, &mut kept];
        for sink in sink {
            let data = match sequence % 3 {
                0 => DataParts::ItemStarted(&item),
                1 => DataParts::ItemDelta {
                    item_id: &item.item_id,
                    native_item_id: Some(&native_item).filter(|_| sequence % 2 == 0),
                    delta: "d",
                },
                _ => DataParts::Whole(EventData::item_completed(item.clone(), Outcome::Failed)),
            };
            sink.event(EventParts {
                event_id: "evt",
                sequence,
                time: Timestamp::from_millis(7 * i64::try_from(sequence).unwrap()),
                session_id: &session_id,
                native_session_id: natives[usize::try_from(sequence / 2 % 3).unwrap()].as_ref(),
                origin: if sequence % 2 == 0 { Origin::AGENT } else { Origin::DAEMON },
                data,
                raw: Some(&raw).filter(|_| sequence % 5 == 0),
            });
        }
    }
    for event in &kept {
        same_bytes(event);
        event.write_json(&mut expected).unwrap();
        expected.push(b'\n');
    }
    assert_eq!(lines.count(), kept.len());
    assert_eq!(String::from_utf8(lines.as_bytes().to_vec()).unwrap(), String::from_utf8(expected).unwrap());
    lines.clear();
    assert_eq!((lines.count(), lines.as_bytes()), (0, &b""[..]));
}

/// Every part there is, with this text wherever one goes.
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
    for tool_kind in all::<ToolKind>(&[
        "command",
        "file_change",
        "file_read",
        "search",
        "mcp",
        "web",
        "sub_agent",
        "plan",
        "question",
        "other",
        text,
    ]) {
        let tool_kind = Some(tool_kind);
        parts.push(ContentPart::ToolCall {
            name: text.into(),
            arguments: text.into(),
            call_id: text.into(),
            tool_kind,
        });
    }
    parts.push(ContentPart::ToolCall {
        name: text.into(),
        arguments: text.into(),
        call_id: text.into(),
        tool_kind: None,
    });
    for action in all(&["read", "write", "patch"]) {
        parts.push(ContentPart::FileRef { path: text.into(), action, diff: some() });
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

/// The variants of these names, as serde reads them.
fn all<T: serde::de::DeserializeOwned>(names: &[&str]) -> Vec<T> {
    names.iter().map(|name| serde_json::from_value(json!(name)).unwrap()).collect()
}

fn tree(text: &str) -> Value {
    json!({
        "": [], "{}": {}, "null": null, "bools": [true, false], text: text,
        "numbers": [0, 7, 10, -1, u64::MAX, i64::MIN, 0.1, -0.0, 1e300, 1.5e-9, f64::MAX],
        "nested": { "a": [[text], { "b": { text: [1] } }] },
    })
}

/// Every event type there is, each option both ways, with this text wherever one goes.
fn every_event(text: &str) -> Vec<EventData> {
    let some = || Some(text.to_owned());
    let mut events = vec![
        EventData::SessionStarted(SessionStarted::default()),
        EventData::SessionStarted(SessionStarted { metadata: Some(tree(text)) }),
        EventData::SessionEnded(SessionEnded::completed()),
        EventData::SessionEnded(SessionEnded::terminated()),
        EventData::SessionEnded(SessionEnded::error(text, None, None)),
        EventData::SessionEnded(SessionEnded::error(text, Some(-9), Some(StderrOutput::default()))),
        EventData::SessionEnded(SessionEnded::error(
            text,
            Some(1),
            Some(StderrOutput { head: some(), tail: some(), truncated: true, total_lines: Some(71) }),
        )),
        EventData::TurnStarted(TurnStarted::default()),
        EventData::TurnStarted(TurnStarted { turn_id: some(), metadata: None }),
        EventData::TurnStarted(TurnStarted { turn_id: None, metadata: Some(Value::Null) }),
        EventData::TurnStarted(TurnStarted { turn_id: some(), metadata: Some(json!({})) }),
        EventData::ItemDelta(ItemDelta { item_id: text.into(), native_item_id: None, delta: text.into() }),
        EventData::ItemDelta(ItemDelta { item_id: text.into(), native_item_id: Some(text.into()), delta: text.into() }),
        EventData::Error(ErrorEvent { message: text.into(), code: None, details: None }),
    ];
    for status in all(&["completed", "failed", "interrupted"]) {
        let mut ended = TurnEnded::new(status);
        events.push(EventData::TurnEnded(ended.clone()));
        ended.turn_id = some();
        ended.usage = Some(Usage::default());
        ended.duration_ms = Some(1234);
        ended.metadata = Some(tree(text));
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
            events.push(EventData::item_completed(item.clone(), Outcome::Completed));
        }
        events.push(EventData::item_completed(item, Outcome::Failed));
    }
    let mut permission = Permission::new(text, text);
    events.push(EventData::permission_requested(permission.clone()));
    permission.metadata = Some(tree(text));
    events.push(EventData::permission_resolved(permission.clone(), Decision::Approved));
    events.push(EventData::permission_resolved(permission, Decision::Denied));
    let mut question = Question::new(text, text, vec![text.into(), text.into()]);
    events.push(EventData::question_requested(question.clone()));
    question.metadata = Some(tree(text));
    events.push(EventData::question_resolved(question.clone(), Answer::Answered(text.into())));
    events.push(EventData::question_resolved(question, Answer::Rejected(None)));
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
        let mut error = ErrorEvent::new(code, text);
        error.details = Some(tree(text));
        events.push(EventData::Error(error));
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
fn the_bytes_are_those_of_serde() {
    for text in
        ["", "x", "plain ünïcode 文字 🦀, longer than any block that is looked at in one go", "\"\\\u{0}\u{7f}\n\t"]
    {
        every_event(text).into_iter().for_each(same_bytes_around);
    }
}

#[test]
fn every_character_is_escaped_as_serde_does_wherever_it_stands() {
    for character in (0..0x80).map(char::from).chain("\u{80}ÿ\u{7ff}\u{2028}\u{ffff}🦀".chars()) {
        for before in 0..40 {
            let text = format!("{}{character}{}", "-".repeat(before), "+".repeat(40 - before));
            for text in [&text, &text[..before + character.len_utf8()]] {
                let mut written = Vec::new();
                text.json(&mut written);
                assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(text).unwrap());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_the_texts_the_bytes_are_those_of_serde(text in "(\\PC|[\"\\\\\n\r\t\u{0}-\u{1f}é文🦀]){0,90}") {
        every_event(&text).into_iter().for_each(same_bytes_around);
    }

    #[test]
    fn numbers_are_written_as_serde_does(whole: u64, negative: i64, float: f64) {
        let tree = json!([whole, negative, float]);
        let mut written = Vec::new();
        tree.json(&mut written);
        prop_assert_eq!(String::from_utf8(written).unwrap(), serde_json::to_string(&tree).unwrap());
    }
}

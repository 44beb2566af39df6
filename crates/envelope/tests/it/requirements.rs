//! One test for each requirement in the specification of the envelope.

use std::fmt::Write as _;

use crate::test_projector::{TestProjector, call, completed, event, failed, message, named_call, result, started};
use interlingua_envelope::bounds::{
    MAX_CHANNEL_BYTES, MAX_DATA_BYTES, MAX_MESSAGE_BYTES, MAX_TEXT_BYTES, OVERSIZE_DATA,
};
use interlingua_envelope::{
    AgentWrapperCompletion, AgentWrapperEvent, AgentWrapperEventKind, AgentWrapperKind, EnvelopeLine,
};
use interlingua_schema::{
    AgentUnparsed, ContentPart, ErrorCode, ErrorDetails, ErrorEvent, EventData, Item, ItemKind, Origin, Role,
    SessionEnded, StderrOutput, UniversalEvent,
};
use serde_json::{Value, json};

fn read(value: Value) -> AgentWrapperEvent {
    serde_json::from_value(value).unwrap()
}

fn status(message: &str) -> AgentWrapperEvent {
    read(json!({"agent_kind": "codex", "kind": "Status", "message": message}))
}

/// Data that has exactly `bytes` bytes as compact JSON.
fn data_with_size(bytes: usize) -> Value {
    let data = json!({ "a": "x".repeat(bytes - br#"{"a":""}"#.len()) });
    assert_eq!(serde_json::to_vec(&data).unwrap().len(), bytes);
    data
}

fn with_data(data: &Value) -> AgentWrapperEvent {
    read(json!({"agent_kind": "codex", "kind": "Unknown", "data": data}))
}

#[test]
fn len_of_channel_must_be_at_most_128_bytes_else_channel_must_be_none() {
    let with = |channel: &str| {
        let event = read(json!({"agent_kind": "codex", "kind": "Unknown", "channel": channel}));
        event.channel().map(str::to_owned)
    };
    assert_eq!(MAX_CHANNEL_BYTES, 128);
    for fits in ["tool".to_owned(), "c".repeat(128), "é".repeat(64), "🦀".repeat(32)] {
        assert_eq!(with(&fits).as_deref(), Some(fits.as_str()));
    }
    for exceeds in ["c".repeat(129), "é".repeat(65), "🦀".repeat(33), "c".repeat(1 << 20)] {
        assert_eq!(with(&exceeds), None);
    }
}

#[test]
fn len_of_text_must_be_at_most_65536_bytes() {
    assert_eq!(MAX_TEXT_BYTES, 65_536);
    for (text, pieces) in [("x".repeat(65_536), 1), ("x".repeat(65_537), 2), ("🦀".repeat(16_384), 1)] {
        let mut projector = TestProjector::new();
        projector.push_data(completed(message("i", Role::Assistant, vec![ContentPart::text(text)])));
        assert_eq!(projector.texts("assistant").len(), pieces);
    }
    let too_long = json!({"agent_kind": "codex", "kind": "TextOutput", "text": "x".repeat(65_537)});
    let error = serde_json::from_value::<AgentWrapperEvent>(too_long).unwrap_err().to_string();
    assert!(error.contains("at most 65536 bytes, found 65537"), "{error}");
}

#[test]
fn text_larger_than_the_limit_must_be_split_into_several_text_outputs_preserving_order() {
    // Ten megabytes of different lines, with a four-byte character across every limit.
    let mut text = String::from("x");
    for line in 0.. {
        if text.len() > 10 << 20 {
            break;
        }
        let _ = writeln!(text, "{line} 🦀🦀🦀🦀e\u{301}");
    }
    let item = || message("i", Role::Assistant, vec![ContentPart::text(text.clone())]);
    let mut whole = TestProjector::new();
    whole.push_data(completed(item()));
    let mut streamed = TestProjector::new();
    streamed
        .push_data(started(message("i", Role::Assistant, Vec::new())))
        .delta("i", &text)
        .push_data(completed(item()));
    for projector in [whole, streamed] {
        assert!(projector.events.iter().all(|event| event.kind() == AgentWrapperEventKind::TextOutput));
        let pieces = projector.texts("assistant");
        assert_eq!(pieces.len(), projector.events.len());
        assert!(pieces.len() > 160);
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_TEXT_BYTES && piece.len() > MAX_TEXT_BYTES - 4
            || piece == pieces.last().unwrap()));
        assert!(pieces.concat() == text);
    }
}

#[test]
fn len_of_message_must_be_at_most_4096_bytes() {
    assert_eq!(MAX_MESSAGE_BYTES, 4096);
    let fits = "m".repeat(4096);
    assert_eq!(status(&fits).message(), Some(fits.as_str()));
    assert_eq!(status(&"m".repeat(4097)).message().unwrap().len(), 4096);
}

#[test]
fn a_message_that_exceeds_the_limit_must_be_truncated_and_end_with_the_suffix() {
    let suffix = "…(truncated)";
    assert_eq!(suffix.len(), 14);
    let message = "m".repeat(5000);
    let mut projector = TestProjector::new();
    projector.push_data(EventData::Error(ErrorEvent::new(ErrorCode::AgentError, message.clone())));
    for cut in [status(&message), projector.events.remove(0)] {
        assert_eq!(cut.message().unwrap(), format!("{}{suffix}", &message[..4096 - 14]));
    }
    // 4082 is not a multiple of four, so two bytes stay unused instead of cutting a character.
    let crabs = "🦀".repeat(2000);
    assert_eq!(status(&crabs).message().unwrap(), format!("{}{suffix}", "🦀".repeat(1020)));
}

#[test]
fn serialized_json_bytes_of_data_must_be_at_most_65536_else_data_must_be_replaced() {
    assert_eq!(MAX_DATA_BYTES, 65_536);
    let fits = data_with_size(65_536);
    assert_eq!(with_data(&fits).data(), Some(fits));
    let oversize = json!({"dropped": {"reason": "oversize"}});
    assert_eq!(oversize.to_string(), OVERSIZE_DATA);
    assert_eq!(with_data(&data_with_size(65_537)).data(), Some(oversize));
}

#[test]
fn the_size_of_data_is_that_of_compact_json_however_it_was_written() {
    let compact = data_with_size(65_536).to_string();
    let spaced = format!(r#"{{"agent_kind":"codex","kind":"Unknown","data":{}}}"#, compact.replacen(':', " :\n ", 1));
    let event: AgentWrapperEvent = serde_json::from_str(&spaced).unwrap();
    assert_eq!(event.data(), Some(data_with_size(65_536)));
}

#[test]
fn completion_data_must_follow_the_same_limit_and_enforcement() {
    let with = |data: &Value| -> AgentWrapperCompletion {
        serde_json::from_value(json!({"status": "completed", "data": data})).unwrap()
    };
    let fits = data_with_size(65_536);
    assert_eq!(with(&fits).data(), Some(fits));
    assert_eq!(with(&data_with_size(65_537)).data(), Some(json!({"dropped": {"reason": "oversize"}})));
}

#[test]
fn every_tool_call_and_tool_result_must_have_the_tools_facet() {
    let mut projector = TestProjector::new();
    let nameless = |kind| Item::new("empty", kind);
    projector.start_turn().clear();
    projector
        .push_data(started(call("c", "call-1", "")))
        .delta("c", "{}")
        .push_data(completed(call("c", "call-1", "{}")));
    projector.push_data(started(result("r", "call-1", "", None, None))).delta("r", "out");
    projector.push_data(completed(result("r", "call-1", "out", Some(0), None)));
    projector.push_data(failed(call("d", "call-2", "{"))).push_data(failed(result("s", "call-3", "", None, None)));
    // Items without their part, as only an invalid stream has them.
    projector.push_data(started(nameless(ItemKind::ToolCall))).push_data(completed(nameless(ItemKind::ToolResult)));
    assert_eq!(projector.events.len(), 10);
    for event in &projector.events {
        let data = event.data().unwrap();
        assert_eq!(data["schema"], "agent_api.tools.structured.v1");
        let tool = data["tool"].as_object().unwrap();
        let keys = [
            "backend_item_id",
            "bytes",
            "exit_code",
            "kind",
            "phase",
            "status",
            "thread_id",
            "tool_name",
            "tool_use_id",
            "turn_id",
        ];
        let mut found: Vec<_> = tool.keys().collect();
        found.sort();
        assert_eq!(found, keys);
        assert!(["diff", "result", "stderr", "stdout"].iter().all(|count| tool["bytes"][count].is_u64()));
        assert_eq!(data.as_object().unwrap().len(), 2);
    }
}

#[test]
fn a_tools_facet_that_exceeds_the_limit_must_be_replaced() {
    let facet = json!({"schema": "agent_api.tools.structured.v1", "tool": {"tool_name": "x".repeat(65_536)}});
    let event = read(json!({"agent_kind": "codex", "kind": "ToolCall", "data": facet}));
    assert_eq!(event.data(), Some(json!({"dropped": {"reason": "oversize"}})));
}

#[test]
fn very_long_names_and_ids_are_null_in_the_facet() {
    let long = "x".repeat(1 << 20);
    let mut item = named_call(&long, &long, &long, None, "{}");
    item.native_item_id = Some(long.as_str().into());
    let mut universal = event(started(item));
    universal.native_session_id = Some(long.as_str().into());
    let mut projector = TestProjector::new();
    projector.push(&universal);
    let tool = &projector.tools()[0];
    for absent in ["backend_item_id", "thread_id", "tool_name", "tool_use_id"] {
        assert_eq!(tool[absent], Value::Null, "{absent}");
    }
}

#[test]
fn data_must_not_include_tool_inputs_outputs_or_diffs() {
    let mut projector = TestProjector::new();
    let arguments = json!({ "command": "cat SECRET-input" }).to_string();
    let mut done = result("r", "call-1", &"SECRET-output ".repeat(80_000), Some(1), Some(100));
    done.content.push(ContentPart::FileRef {
        path: "/SECRET-path".to_owned(),
        action: interlingua_schema::FileAction::Patch,
        diff: Some("+SECRET-diff".to_owned()),
    });
    projector
        .push_data(started(call("c", "call-1", &arguments)))
        .delta("c", "SECRET-argument")
        .push_data(completed(call("c", "call-1", &arguments)));
    projector
        .push_data(started(result("r", "call-1", "", None, None)))
        .delta("r", "SECRET-piece")
        .push_data(failed(done));
    for event in &projector.events {
        let json = serde_json::to_string(event).unwrap();
        assert!(!json.contains("SECRET"), "{json}");
    }
    // More than a megabyte: only its size is passed on.
    let bytes = &projector.tools()[5]["bytes"];
    assert_eq!(*bytes, json!({"stdout": 1_120_000 - 100, "stderr": 100, "diff": 12, "result": 1_120_000}));
}

#[test]
fn an_event_that_cannot_be_classified_must_be_unknown_with_its_native_type() {
    let mut unparsed = AgentUnparsed::new("expected SECRET", "codex", "00");
    unparsed.native_type = Some("turn/novelty".to_owned());
    let mut projector = TestProjector::new();
    projector
        .push_data(EventData::AgentUnparsed(unparsed))
        .push_data(EventData::AgentUnparsed(AgentUnparsed::new("e", "l", "h")));
    let newer = r#"{"event_id":"evt_1","sequence":1,"time":"1970-01-01T00:00:00.000Z","session_id":"ses_1","native_session_id":null,"source":"agent","synthetic":false,"type":"item.moved","data":{"to":"SECRET"},"raw":null}"#;
    projector.push(&serde_json::from_str::<UniversalEvent>(newer).unwrap());
    let mut item = Item::new("u", ItemKind::Unknown);
    item.content.push(ContentPart::Json { json: json!({"type": "novelItem", "secret": "SECRET"}) });
    projector.push_data(started(item.clone())).push_data(completed(item));
    // The delta of an item that did not start may be the output of a tool.
    projector.delta("not-started", "SECRET");
    let types: Vec<Value> = projector.events.iter().map(|event| event.data().unwrap()["native_type"].clone()).collect();
    assert_eq!(
        types,
        [json!("turn/novelty"), Value::Null, json!("item.moved"), json!("novelItem"), json!("item.delta")]
    );
    for event in &projector.events {
        assert_eq!(event.kind(), AgentWrapperEventKind::Unknown);
        assert_eq!((event.text(), event.message()), (None, None));
        assert!(!serde_json::to_string(event).unwrap().contains("SECRET"));
    }
}

#[test]
fn raw_lines_must_not_be_emitted() {
    let line = "Traceback (most recent call last): SECRET";
    let stderr = StderrOutput::new(false).head(line.to_owned());
    let died = format!("the agent exited with code 1: {line}");
    let mut projector = TestProjector::new();
    // The synthetic message for an agent that died ends with the last line of its standard error.
    let mut error = ErrorEvent::new(ErrorCode::AgentError, died.clone());
    let mut details = ErrorDetails::default();
    details.native = Some(json!({"exit_code": 1, "line": line}));
    error.details = Some(Box::new(details));
    let mut inferred = event(EventData::Error(error));
    inferred.origin = Origin::DAEMON;
    projector.push(&inferred).push_data(EventData::SessionEnded(SessionEnded::error(died, Some(-9), Some(stderr))));
    let messages: Vec<_> = projector.events.iter().filter_map(AgentWrapperEvent::message).collect();
    assert_eq!(messages, ["the agent exited with code 1", "the agent was killed by signal 9"]);
    assert!(projector.events.iter().all(|event| !serde_json::to_string(event).unwrap().contains("SECRET")));
}

#[test]
fn agent_kind_must_match_its_pattern() {
    for kind in ["Claude", "claude-code", "1st", "", "a b"] {
        assert!(AgentWrapperKind::new(kind).is_err(), "{kind:?}");
        let event = json!({"agent_kind": kind, "kind": "Unknown"});
        assert!(serde_json::from_value::<AgentWrapperEvent>(event).is_err(), "{kind:?}");
    }
}

#[test]
fn an_event_must_have_the_text_or_message_of_its_kind_and_no_other() {
    for (kind, text, message) in [
        ("TextOutput", true, false),
        ("Status", false, true),
        ("Error", false, true),
        ("ToolCall", false, false),
        ("ToolResult", false, false),
        ("Unknown", false, false),
    ] {
        for (with_text, with_message) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut event = json!({"agent_kind": "amp", "kind": kind});
            if with_text {
                event["text"] = "t".into();
            }
            if with_message {
                event["message"] = "m".into();
            }
            let read = serde_json::from_value::<AgentWrapperEvent>(event.clone());
            assert_eq!(read.is_ok(), (with_text, with_message) == (text, message), "{event}");
            if let Ok(read) = read {
                assert_eq!(serde_json::to_value(&read).unwrap(), event);
            }
        }
    }
}

#[test]
fn events_and_completions_round_trip_through_json() {
    let mut projector = TestProjector::new();
    projector.start_turn().push_data(started(call("c", "call-1", "{}")));
    projector.push_data(completed(message("m", Role::Assistant, vec![ContentPart::text("\"Hi\"\n")])));
    for event in projector.events.clone() {
        let line = EnvelopeLine::Event(event);
        let json = serde_json::to_string(&line).unwrap();
        assert_eq!(serde_json::from_str::<EnvelopeLine>(&json).unwrap(), line);
        assert_eq!(serde_json::from_value::<EnvelopeLine>(serde_json::to_value(&line).unwrap()).unwrap(), line);
    }
    let completion = EnvelopeLine::Completion(projector.completion());
    let json = serde_json::to_string(&completion).unwrap();
    assert!(json.starts_with(r#"{"completion":{"status":"#), "{json}");
    assert_eq!(serde_json::from_str::<EnvelopeLine>(&json).unwrap(), completion);
}

//! Projection of tool calls and results.

use interlingua_envelope::{AgentWrapperEventKind as Kind, ToolsFacet};
use interlingua_schema::{ContentPart, FileAction, ItemDelta, ToolKind};
use serde_json::{Value, json};

use crate::test_projector::{TestProjector, call, completed, failed, named_call, result, started};

/// Kind, phase and status of each event.
fn states(projector: &TestProjector) -> Vec<(Kind, String, String)> {
    let string = |value: &Value| value.as_str().unwrap().to_owned();
    let facets = projector.tools();
    projector
        .events
        .iter()
        .zip(facets)
        .map(|(event, tool)| (event.kind(), string(&tool["phase"]), string(&tool["status"])))
        .collect()
}

fn state(kind: Kind, phase: &str, status: &str) -> (Kind, String, String) {
    (kind, phase.to_owned(), status.to_owned())
}

#[test]
fn a_tool_that_works_goes_from_pending_to_completed() {
    let mut projector = TestProjector::new();
    projector
        .push_data(started(call("c", "call-1", "")))
        .delta("c", "{}")
        .push_data(completed(call("c", "call-1", "{}")));
    projector.push_data(started(result("r", "call-1", "", None, None))).delta("r", "a\n");
    projector.push_data(completed(result("r", "call-1", "a\n", Some(0), None)));
    assert_eq!(
        states(&projector),
        [
            state(Kind::ToolCall, "start", "pending"),
            state(Kind::ToolCall, "delta", "pending"),
            state(Kind::ToolCall, "complete", "running"),
            state(Kind::ToolResult, "start", "running"),
            state(Kind::ToolResult, "delta", "running"),
            state(Kind::ToolResult, "complete", "completed"),
        ]
    );
    assert!(projector.events.iter().all(|event| event.channel() == Some("tool")));
}

#[test]
fn an_interrupted_call_and_a_failed_tool_are_failed() {
    let mut projector = TestProjector::new();
    projector.push_data(failed(call("c", "call-1", "{"))).push_data(failed(result("r", "call-1", "", Some(2), None)));
    assert_eq!(
        states(&projector),
        [state(Kind::ToolCall, "fail", "failed"), state(Kind::ToolResult, "fail", "failed")]
    );
    assert_eq!(projector.tools()[1]["exit_code"], 2);
}

#[test]
fn a_facet_has_the_ids_of_its_tool_call_turn_and_thread() {
    let mut projector = TestProjector::new();
    projector.start_turn().clear();
    projector.push_data(completed(call("c", "call-1", "{}"))).push_data(completed(result(
        "r",
        "call-1",
        "ab",
        Some(0),
        Some(1),
    )));
    assert_eq!(
        projector.tools()[1],
        json!({
            "backend_item_id": "native-r", "thread_id": "thread-1", "turn_id": "turn-1",
            "kind": "command_execution", "phase": "complete", "status": "completed", "exit_code": 0,
            "bytes": {"stdout": 1, "stderr": 1, "diff": 0, "result": 2},
            "tool_name": "Bash", "tool_use_id": "call-1",
        })
    );
    for event in &projector.events {
        serde_json::from_value::<ToolsFacet>(event.data().unwrap()).unwrap();
    }
}

#[test]
fn sizes_grow_while_a_result_streams_and_the_last_event_has_the_final_ones() {
    let mut projector = TestProjector::new();
    projector
        .push_data(completed(call("c", "call-1", "{}")))
        .push_data(started(result("r", "call-1", "", None, None)))
        .clear();
    projector.delta("r", "é").delta("r", "🦀");
    projector.push_data(completed(result("r", "call-1", "é🦀\n", Some(0), None)));
    let counted: Vec<_> = projector
        .tools()
        .iter()
        .map(|tool| (tool["bytes"]["result"].as_u64(), tool["bytes"]["stdout"].as_u64()))
        .collect();
    assert_eq!(counted, [(Some(2), Some(2)), (Some(6), Some(6)), (Some(7), Some(7))]);
}

#[test]
fn only_a_command_has_standard_output() {
    let mut projector = TestProjector::new();
    projector.push_data(completed(named_call("c", "call-1", "Edit", Some(ToolKind::FileChange), "{}"))).clear();
    let mut done = result("r", "call-1", "edited", None, None);
    for diff in [Some("+a\n-b\n"), None, Some("+c\n")] {
        let (path, diff) = ("/f".to_owned(), diff.map(str::to_owned));
        done.content.push(ContentPart::FileRef { path, action: FileAction::Patch, diff });
    }
    projector.push_data(completed(done));
    assert_eq!(projector.tools()[0]["bytes"], json!({"stdout": 0, "stderr": 0, "diff": 9, "result": 6}));
}

#[test]
fn each_tool_kind_has_a_name_in_the_facet() {
    for (kind, expected) in [
        (Some(ToolKind::Command), "command_execution"),
        (Some(ToolKind::FileChange), "file_change"),
        (Some(ToolKind::Mcp), "mcp_tool_call"),
        (Some(ToolKind::Web), "web_search"),
        (Some(ToolKind::FileRead), "file_read"),
        (Some(ToolKind::Search), "search"),
        (Some(ToolKind::SubAgent), "sub_agent"),
        (Some(ToolKind::Plan), "plan"),
        (Some(ToolKind::Question), "question"),
        (Some(ToolKind::Unknown("novelty".into())), "novelty"),
        (Some(ToolKind::Unknown("no kind".into())), ""),
        (Some(ToolKind::Other), ""),
        (None, ""),
    ] {
        let mut projector = TestProjector::new();
        projector
            .push_data(completed(named_call("c", "call-1", "X", kind, "{}")))
            .push_data(completed(result("r", "call-1", "", None, None)));
        let or = |default: &'static str| if expected.is_empty() { default } else { expected };
        let tools = projector.tools();
        assert_eq!((&tools[0]["kind"], &tools[1]["kind"]), (&json!(or("tool_use")), &json!(or("tool_result"))));
    }
}

#[test]
fn a_payload_in_a_name_or_an_id_is_dropped() {
    for payload in ["cat /etc/passwd", "{\"a\":1}", &"x".repeat(200), "a\nb"] {
        let mut projector = TestProjector::new();
        let mut item = named_call("c", payload, payload, Some(ToolKind::Unknown(payload.into())), "{}");
        item.native_item_id = Some(payload.into());
        projector.push_data(started(item)).push_data(completed(result("r", payload, "", None, None)));
        for event in &projector.events {
            let json = serde_json::to_string(event).unwrap();
            assert!(!json.contains(&json!(payload).to_string()), "{json}");
        }
        assert_eq!(projector.tools()[0]["tool_name"], Value::Null);
    }
}

/// The memory of a projector is bounded.
#[test]
fn the_oldest_open_items_and_pending_calls_are_dropped() {
    let mut projector = TestProjector::new();
    for number in 0..5000 {
        projector.push_data(started(call(&format!("i{number}"), &format!("call-{number}"), "{}"))).clear();
    }
    projector.push_data(completed(result("first", "call-0", "", None, None))).push_data(completed(result(
        "last",
        "call-4999",
        "",
        None,
        None,
    )));
    let tools = projector.tools();
    assert_eq!((&tools[0]["tool_name"], &tools[1]["tool_name"]), (&Value::Null, &json!("Bash")));
    projector.clear().push_data(interlingua_schema::EventData::ItemDelta(ItemDelta::new("i0", None, "SECRET")));
    assert_eq!(projector.last().kind(), Kind::Unknown);
}

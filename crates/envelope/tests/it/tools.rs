//! What is said of tools.

use interlingua_envelope::{AgentWrapperEventKind as Kind, ToolsFacet};
use interlingua_schema::{ContentPart, FileAction, ItemDelta, ToolKind};
use serde_json::{Value, json};

use crate::events::{Play, call, completed, failed, named_call, result, started};

fn lives(play: &Play) -> Vec<(Kind, String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let facets = play.tools();
    play.events
        .iter()
        .zip(facets)
        .map(|(event, tool)| (event.kind(), word(&tool["phase"]), word(&tool["status"])))
        .collect()
}

fn life(kind: Kind, phase: &str, status: &str) -> (Kind, String, String) {
    (kind, phase.to_owned(), status.to_owned())
}

#[test]
fn a_tool_that_works_goes_from_pending_to_completed() {
    let mut play = Play::new();
    play.say(started(call("c", "call-1", ""))).delta("c", "{}").say(completed(call("c", "call-1", "{}")));
    play.say(started(result("r", "call-1", "", None, None))).delta("r", "a\n");
    play.say(completed(result("r", "call-1", "a\n", Some(0), None)));
    assert_eq!(
        lives(&play),
        [
            life(Kind::ToolCall, "start", "pending"),
            life(Kind::ToolCall, "delta", "pending"),
            life(Kind::ToolCall, "complete", "running"),
            life(Kind::ToolResult, "start", "running"),
            life(Kind::ToolResult, "delta", "running"),
            life(Kind::ToolResult, "complete", "completed"),
        ]
    );
    assert!(play.events.iter().all(|event| event.channel() == Some("tool")));
}

#[test]
fn a_call_that_was_cut_off_and_a_tool_that_failed_are_failed() {
    let mut play = Play::new();
    play.say(failed(call("c", "call-1", "{"))).say(failed(result("r", "call-1", "", Some(2), None)));
    assert_eq!(lives(&play), [life(Kind::ToolCall, "fail", "failed"), life(Kind::ToolResult, "fail", "failed")]);
    assert_eq!(play.tools()[1]["exit_code"], 2);
}

#[test]
fn a_facet_names_its_tool_its_call_and_where_they_belong() {
    let mut play = Play::new();
    play.turn().skip();
    play.say(completed(call("c", "call-1", "{}"))).say(completed(result("r", "call-1", "ab", Some(0), Some(1))));
    assert_eq!(
        play.tools()[1],
        json!({
            "backend_item_id": "native-r", "thread_id": "thread-1", "turn_id": "turn-1",
            "kind": "command_execution", "phase": "complete", "status": "completed", "exit_code": 0,
            "bytes": {"stdout": 1, "stderr": 1, "diff": 0, "result": 2},
            "tool_name": "Bash", "tool_use_id": "call-1",
        })
    );
    for event in &play.events {
        serde_json::from_value::<ToolsFacet>(event.data().unwrap()).unwrap();
    }
}

#[test]
fn bytes_are_counted_while_a_result_streams_and_the_end_is_the_truth() {
    let mut play = Play::new();
    play.say(completed(call("c", "call-1", "{}"))).say(started(result("r", "call-1", "", None, None))).skip();
    play.delta("r", "é").delta("r", "🦀");
    play.say(completed(result("r", "call-1", "é🦀\n", Some(0), None)));
    let counted: Vec<_> =
        play.tools().iter().map(|tool| (tool["bytes"]["result"].as_u64(), tool["bytes"]["stdout"].as_u64())).collect();
    assert_eq!(counted, [(Some(2), Some(2)), (Some(6), Some(6)), (Some(7), Some(7))]);
}

#[test]
fn only_a_command_has_standard_output() {
    let mut play = Play::new();
    play.say(completed(named_call("c", "call-1", "Edit", Some(ToolKind::FileChange), "{}"))).skip();
    let mut done = result("r", "call-1", "edited", None, None);
    for diff in [Some("+a\n-b\n"), None, Some("+c\n")] {
        let (path, diff) = ("/f".to_owned(), diff.map(str::to_owned));
        done.content.push(ContentPart::FileRef { path, action: FileAction::Patch, diff });
    }
    play.say(completed(done));
    assert_eq!(play.tools()[0]["bytes"], json!({"stdout": 0, "stderr": 0, "diff": 9, "result": 6}));
}

#[test]
fn each_sort_of_tool_has_a_kind() {
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
        let mut play = Play::new();
        play.say(completed(named_call("c", "call-1", "X", kind, "{}")))
            .say(completed(result("r", "call-1", "", None, None)));
        let or = |fallback: &'static str| if expected.is_empty() { fallback } else { expected };
        let tools = play.tools();
        assert_eq!((&tools[0]["kind"], &tools[1]["kind"]), (&json!(or("tool_use")), &json!(or("tool_result"))));
    }
}

#[test]
fn a_payload_in_a_name_or_an_id_is_left_out() {
    for payload in ["cat /etc/passwd", "{\"a\":1}", &"x".repeat(200), "a\nb"] {
        let mut play = Play::new();
        let mut item = named_call("c", payload, payload, Some(ToolKind::Unknown(payload.into())), "{}");
        item.native_item_id = Some(payload.into());
        play.say(started(item)).say(completed(result("r", payload, "", None, None)));
        for event in &play.events {
            let json = serde_json::to_string(event).unwrap();
            assert!(!json.contains(&json!(payload).to_string()), "{json}");
        }
        assert_eq!(play.tools()[0]["tool_name"], Value::Null);
    }
}

/// Memory is bounded: calls and items that never end are forgotten, the oldest first.
#[test]
fn what_never_ends_is_forgotten_in_time() {
    let mut play = Play::new();
    for number in 0..5000 {
        play.say(started(call(&format!("i{number}"), &format!("call-{number}"), "{}"))).skip();
    }
    play.say(completed(result("first", "call-0", "", None, None))).say(completed(result(
        "last",
        "call-4999",
        "",
        None,
        None,
    )));
    let tools = play.tools();
    assert_eq!((&tools[0]["tool_name"], &tools[1]["tool_name"]), (&Value::Null, &json!("Bash")));
    play.skip().say(interlingua_schema::EventData::ItemDelta(ItemDelta::new("i0", None, "SECRET")));
    assert_eq!(play.last().kind(), Kind::Unknown);
}

//! What is just allowed, and what is just not.

use super::*;

/// A turn with a message and a tool call below it, which has ended.
fn turn_with_call() -> Stream {
    Stream::new()
        .start_turn()
        .start("m", &json!({}))
        .complete("m", &json!({}))
        .start("c", &call(Some("m")))
        .complete("c", &call(Some("m")))
        .start("r", &result(Some("m"), &json!({})))
        .complete("r", &result(Some("m"), &json!({})))
        .end_turn()
}

fn user_message_below(parent: &str) -> Value {
    json!({ "role": "user", "parent_id": parent })
}

#[test]
fn raw_payloads_can_be_required() {
    let stream = Stream::new();
    stream.assert_violations(&[]);
    let expected = ["L11 seq 1: an agent event has no raw payload although raw payloads are on"];
    assert_eq!(stream.violations(Checker::with_raw()), expected);
}

#[test]
fn events_may_have_the_same_time() {
    Stream::new().start_turn().with("time", json!("1970-01-01T00:00:00.001Z")).end_turn().assert_violations(&[]);
}

#[test]
fn messages_to_a_sub_agent_are_in_no_turn_of_the_session() {
    turn_with_call()
        .start("below_call", &user_message_below("c"))
        .complete("below_call", &user_message_below("c"))
        .start("below_message", &user_message_below("below_call"))
        .complete("below_message", &user_message_below("below_call"))
        .assert_violations(&[]);
    turn_with_call()
        .start("u", &user_message_below("m"))
        .complete("u", &user_message_below("m"))
        .assert_violations(&["L12 seq 10: user message u is outside a turn"]);
}

#[test]
fn only_items_of_their_kind_call_tools_and_have_results() {
    let names_call = json!({ "call_id": "c", "tool_kind": "command", "scopes": ["once"] });
    let part_of_a_message = |part: &Value| json!({ "content": [part["content"][0].clone()] });
    let unknown = "L17 seq 5: permission p names call c, which has not started";
    for part in [part_of_a_message(&call(None)), part_of_a_message(&result(None, &json!({})))] {
        Stream::new()
            .start_turn()
            .start("m", &part)
            .complete("m", &part)
            .event("permission.requested", permission_with("requested", names_call.clone()))
            .event("permission.resolved", permission_with("denied", names_call.clone()))
            .end_turn()
            .assert_violations(&[unknown]);
    }
}

#[test]
fn a_result_does_not_start_its_call() {
    let names_call = json!({ "call_id": "c", "tool_kind": "command", "scopes": ["once"] });
    let found = Stream::new()
        .start_turn()
        .start("r", &result(None, &json!({})))
        .complete("r", &result(None, &json!({})))
        .event("permission.requested", permission_with("requested", names_call.clone()))
        .event("permission.resolved", permission_with("denied", names_call))
        .end_turn()
        .violations(Checker::new());
    assert!(found.contains(&"L17 seq 5: permission p names call c, which has not started".to_owned()), "{found:?}");
}

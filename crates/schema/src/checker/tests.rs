mod boundaries;
mod vocabulary;

use serde_json::{Value, json};

use super::*;

/// A stream of one session in which every event is valid; a test then breaks one rule.
struct Stream(Vec<Value>);

impl Stream {
    fn new() -> Self {
        Self(Vec::new()).event("session.started", json!({}))
    }

    #[allow(clippy::needless_pass_by_value, reason = "a `json!` at the call reads better without `&`")]
    fn event(mut self, kind: &str, data: Value) -> Self {
        let sequence = self.0.len() + 1;
        self.0.push(json!({
            "event_id": format!("evt_{sequence}"), "sequence": sequence, "session_id": "s", "native_session_id": null,
            "time": format!("1970-01-01T00:00:00.{sequence:03}Z"), "source": "agent", "synthetic": false,
            "type": kind, "data": data, "raw": null,
        }));
        self
    }

    fn synthetic(mut self) -> Self {
        self.last()["source"] = json!("daemon");
        self.last()["synthetic"] = json!(true);
        self
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.last()[field] = value;
        self
    }

    fn last(&mut self) -> &mut Value {
        self.0.last_mut().unwrap()
    }

    fn item(self, event: &str, id: &str, item: &Value) -> Self {
        let status = if event == "item.started" { "in_progress" } else { "completed" };
        let mut full = json!({
            "item_id": id, "native_item_id": null, "parent_id": null, "kind": "message", "role": "assistant",
            "status": status, "content": [],
        });
        full.as_object_mut().unwrap().extend(item.as_object().unwrap().clone());
        self.event(event, json!({ "item": full }))
    }

    fn start(self, id: &str, item: &Value) -> Self {
        self.item("item.started", id, item)
    }

    fn complete(self, id: &str, item: &Value) -> Self {
        self.item("item.completed", id, item)
    }

    fn delta(self, id: &str, delta: &str) -> Self {
        self.event("item.delta", json!({ "item_id": id, "native_item_id": null, "delta": delta }))
    }

    fn start_turn(self) -> Self {
        self.event("turn.started", json!({ "turn_id": "t", "phase": "started" }))
    }

    fn end_turn(self) -> Self {
        self.end_turn_with("completed")
    }

    fn end_turn_with(self, status: &str) -> Self {
        self.event("turn.ended", json!({ "turn_id": "t", "phase": "ended", "status": status, "duration_ms": 5 }))
    }

    fn end_session(self) -> Self {
        self.event("session.ended", json!({ "reason": "completed", "terminated_by": "agent" }))
    }

    fn user_message(self, id: &str) -> Self {
        let item = json!({ "role": "user", "content": [{ "type": "text", "text": "hi" }] });
        self.start(id, &json!({ "role": "user" })).delta(id, "hi").complete(id, &item)
    }

    fn violations(&self, mut checker: Checker) -> Vec<String> {
        self.0
            .iter()
            .flat_map(|event| checker.push_line(&event.to_string()).unwrap())
            .map(|violation| violation.to_string())
            .collect()
    }

    #[track_caller]
    fn assert_violations(&self, expected: &[&str]) {
        assert_eq!(self.violations(Checker::new()), expected);
    }
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn call(parent: Option<&str>) -> Value {
    call_with(parent, &json!({ "tool_kind": "command", "title": "Run ls", "input": { "command": "ls" } }))
}

fn call_with(parent: Option<&str>, extra: &Value) -> Value {
    let mut part = json!({ "type": "tool_call", "name": "ls", "arguments": "{}", "call_id": "c" });
    part.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({ "kind": "tool_call", "role": "tool", "parent_id": parent, "content": [part] })
}

fn result(parent: Option<&str>, extra: &Value) -> Value {
    let mut part = json!({ "type": "tool_result", "call_id": "c", "output": "" });
    part.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({ "kind": "tool_result", "role": "tool", "parent_id": parent, "content": [part] })
}

fn permission(status: &str) -> Value {
    permission_with(status, json!({ "call_id": null, "tool_kind": "command", "scopes": ["once"] }))
}

#[allow(clippy::needless_pass_by_value, reason = "a `json!` at the call reads better without `&`")]
fn permission_with(status: &str, metadata: Value) -> Value {
    json!({ "permission_id": "p", "action": "rm", "status": status, "metadata": metadata })
}

fn question(status: &str) -> Value {
    json!({ "question_id": "q", "prompt": "?", "options": [], "response": null, "status": status })
}

#[test]
fn a_valid_stream_has_no_violations() {
    let valid = Stream::new()
        .start_turn()
        .user_message("u")
        .start("m", &json!({}))
        .delta("m", "Hel")
        .delta("m", "lo")
        .synthetic()
        .complete("m", &text("Hello"))
        .start("c", &call(Some("m")))
        .complete("c", &call(Some("m")))
        .event("permission.requested", permission("requested"))
        .event("permission.resolved", permission("denied"))
        .start("sub", &json!({ "role": "user", "parent_id": "c" }))
        .complete("sub", &json!({ "role": "user", "parent_id": "c" }))
        .event("question.requested", question("requested"))
        .event("question.resolved", question("answered"))
        .start("r", &result(Some("m"), &json!({})))
        .delta("r", "anything")
        .complete("r", &json!({ "status": "failed" }))
        .event("error", json!({ "message": "m", "code": "auth", "details": null }))
        .end_turn()
        .event("something.new", json!({ "x": 1 }))
        .start("between", &json!({}))
        .start_turn()
        .user_message("u2")
        .complete("between", &json!({}))
        .end_turn()
        .end_session();
    valid.assert_violations(&[]);
}

#[test]
fn the_example_in_the_documentation_has_no_violations() {
    let page = include_str!("../../../../docs/universal-schema.md");
    let example = page.split("```").find_map(|block| block.strip_prefix("json\n")).unwrap();
    let mut stream = Stream(vec![]);
    for line in example.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        stream = stream.event(event["type"].as_str().unwrap(), event["data"].clone());
        if event["source"] == "daemon" {
            stream = stream.synthetic();
        }
    }
    assert_eq!(stream.0.len(), 11);
    stream.assert_violations(&[]);
}

#[test]
fn a_session_that_is_still_open_has_no_violations() {
    Stream::new().start_turn().user_message("u").start("m", &json!({})).delta("m", "Hel").assert_violations(&[]);
}

#[test]
fn sessions_are_checked_separately() {
    let mut both = Stream::new().start_turn();
    let other: Vec<Value> = Stream::new()
        .start_turn()
        .0
        .into_iter()
        .map(|mut event| {
            event["session_id"] = json!("other");
            event["event_id"] = json!(format!("other_{}", event["sequence"]));
            event
        })
        .collect();
    both.0.extend(other);
    both.assert_violations(&[]);
}

#[test]
fn l1_sequences_have_no_gaps_and_event_ids_are_unique() {
    Stream::new()
        .start_turn()
        .with("sequence", json!(3))
        .assert_violations(&["L1 seq 3: expected sequence 2, found 3"]);
    Stream::new()
        .start_turn()
        .with("event_id", json!("evt_1"))
        .assert_violations(&["L1 seq 2: event id evt_1 is used twice"]);
}

#[test]
fn l2_a_session_starts_first_and_once_and_ends_once() {
    Stream(vec![]).start_turn().assert_violations(&["L2 seq 1: the first event is turn.started, not session.started"]);
    Stream::new()
        .event("session.started", json!({}))
        .assert_violations(&["L2 seq 2: session.started is not the first event"]);
    Stream::new().end_session().end_session().assert_violations(&["L2 seq 3: session.ended after session.ended"]);
}

#[test]
fn l3_an_item_starts_once_and_first() {
    Stream::new().start("m", &json!({})).start("m", &json!({})).assert_violations(&["L3 seq 3: item m started twice"]);
    Stream::new().delta("m", "x").assert_violations(&["L3 seq 2: delta of item m, which has not started"]);
    Stream::new()
        .complete("m", &json!({}))
        .assert_violations(&["L3 seq 2: completion of item m, which has not started"]);
}

#[test]
fn l4_an_item_completes_once_and_before_its_turn_ends() {
    Stream::new()
        .start("m", &json!({}))
        .complete("m", &json!({}))
        .complete("m", &json!({}))
        .delta("m", "x")
        .assert_violations(&[
            "L4 seq 4: completion of item m, which is already completed",
            "L4 seq 5: delta of item m, which is already completed",
        ]);
    Stream::new()
        .start_turn()
        .start("m", &json!({}))
        .end_turn()
        .assert_violations(&["L4 seq 4: the turn ended while item m was open"]);
    Stream::new()
        .start("m", &json!({}))
        .end_session()
        .assert_violations(&["L4 seq 3: the session ended while item m was open"]);
}

/// A turn with a call of this kind whose result is open.
fn stream_with_open_result(tool_kind: &str) -> Stream {
    let call = call_with(None, &json!({ "tool_kind": tool_kind, "title": "T" }));
    Stream::new().start_turn().start("c", &call).complete("c", &call).start("r", &result(None, &json!({})))
}

#[test]
fn l4_the_result_of_a_command_may_stay_open_after_a_completed_turn() {
    let background = || stream_with_open_result("command").end_turn();
    background().assert_violations(&[]);
    let completed = json!({ "kind": "tool_result" });
    background().delta("r", "x").complete("r", &completed).end_session().assert_violations(&[]);
    for status in ["completed", "failed", "interrupted"] {
        background()
            .start_turn()
            .end_turn_with(status)
            .start_turn()
            .complete("r", &completed)
            .end_turn()
            .end_session()
            .assert_violations(&[]);
    }
    background().end_session().assert_violations(&["L4 seq 7: the session ended while item r was open"]);
}

#[test]
fn l4_a_background_command_may_have_its_first_output_after_its_turn() {
    let late = |first: &str, second: &str| {
        let called = Stream::new().start_turn().start("c", &call(None)).complete("c", &call(None)).end_turn_with(first);
        called.start_turn().start("r", &result(None, &json!({}))).end_turn_with(second)
    };
    late("completed", "failed").assert_violations(&[]);
    late("completed", "interrupted").assert_violations(&[]);
    late("failed", "failed").assert_violations(&["L4 seq 8: the turn ended while item r was open"]);
}

#[test]
fn l4_no_other_item_may_stay_open_after_its_turn() {
    let open = &["L4 seq 6: the turn ended while item r was open"];
    stream_with_open_result("command").end_turn_with("failed").assert_violations(open);
    stream_with_open_result("command").end_turn_with("interrupted").assert_violations(open);
    for kind in ["file_read", "sub_agent", "mcp", "other"] {
        stream_with_open_result(kind).end_turn().assert_violations(open);
    }
    let call = call(None);
    Stream::new()
        .start_turn()
        .start("c", &call)
        .end_turn()
        .assert_violations(&["L4 seq 4: the turn ended while item c was open"]);
}

#[test]
fn l4_the_kind_of_a_call_may_be_known_only_when_it_completes() {
    Stream::new()
        .start_turn()
        .start("c", &call_with(None, &json!({})))
        .complete("c", &call(None))
        .start("r", &result(None, &json!({})))
        .end_turn()
        .assert_violations(&[]);
}

#[test]
fn l5_the_joined_deltas_are_the_final_text() {
    Stream::new()
        .start("m", &json!({}))
        .delta("m", "Hel")
        .complete("m", &text("Hello"))
        .assert_violations(&[r#"L5 seq 4: the joined deltas of m are "Hel", its final text is "Hello""#]);
    Stream::new()
        .start("m", &json!({}))
        .complete("m", &text("Hello"))
        .assert_violations(&[r#"L5 seq 3: the joined deltas of m are "", its final text is "Hello""#]);
    Stream::new()
        .start("m", &json!({}))
        .delta("m", "Hello")
        .synthetic()
        .start_turn()
        .complete("m", &text("Hello"))
        .assert_violations(&["L5 seq 4: turn.started comes between the synthetic delta of m and its completion"]);
}

#[test]
fn l6_the_status_of_an_item_fits_its_event_and_exit_code() {
    Stream::new()
        .start("m", &json!({ "status": "completed" }))
        .complete("m", &json!({ "status": "in_progress" }))
        .assert_violations(&[
            "L6 seq 2: item m started but is not in_progress",
            "L6 seq 3: item m completed but is in_progress",
        ]);
    Stream::new()
        .start("c", &call(None))
        .start("r", &result(None, &json!({})))
        .complete("r", &result(None, &json!({ "exit_code": 3 })))
        .assert_violations(&["L6 seq 4: result r has exit code 3 but is completed"]);
}

#[test]
fn l7_results_belong_to_calls() {
    Stream::new()
        .start("r", &result(None, &json!({})))
        .assert_violations(&["L7 seq 2: result of call c, which has not started"]);
    Stream::new()
        .start("c", &call(None))
        .start("r", &result(None, &json!({})))
        .complete("r", &result(None, &json!({})))
        .start("r2", &result(None, &json!({})))
        .assert_violations(&["L7 seq 5: second result of call c"]);
}

#[test]
fn l8_parents_are_earlier_items() {
    Stream::new()
        .start("m", &json!({ "parent_id": "missing" }))
        .assert_violations(&["L8 seq 2: parent missing of m is not an earlier item"]);
    Stream::new()
        .start("m", &json!({}))
        .start("c", &call(None))
        .assert_violations(&["L8 seq 3: tool item c has no parent_id although the session has a message"]);
}

#[test]
fn l9_a_request_is_resolved_once_and_before_its_turn_ends() {
    Stream::new()
        .event("permission.resolved", permission("approved"))
        .event("permission.requested", permission("approved"))
        .event("permission.resolved", permission("requested"))
        .event("permission.resolved", permission("approved"))
        .event("permission.requested", permission("requested"))
        .assert_violations(&[
            "L9 seq 2: permission p was never requested",
            "L9 seq 3: permission p is requested but its status is approved",
            "L9 seq 4: permission p is resolved but its status is requested",
            "L9 seq 5: permission p is resolved twice",
            "L9 seq 6: permission p is requested twice",
        ]);
    Stream::new()
        .start_turn()
        .event("question.requested", question("requested"))
        .end_turn()
        .assert_violations(&["L9 seq 4: the turn ended while question q was pending"]);
}

#[test]
fn l10_synthetic_is_true_exactly_if_the_source_is_daemon() {
    Stream::new()
        .start_turn()
        .with("source", json!("daemon"))
        .assert_violations(&["L10 seq 2: source is daemon but synthetic is false"]);
}

#[test]
fn l11_all_agent_events_have_raw_payloads_or_none_has() {
    let mut missing = Stream::new();
    missing.last().as_object_mut().unwrap().remove("raw");
    missing.assert_violations(&["L11 seq 1: the raw key is missing"]);
    let without = "L11 seq 2: an agent event has no raw payload although raw payloads are on";
    let partial = Stream::new().with("raw", json!({ "x": 1 })).start_turn();
    partial.assert_violations(&[without]);
    assert_eq!(partial.violations(Checker::with_raw()), [without]);
    Stream::new()
        .start_turn()
        .with("raw", json!(1))
        .assert_violations(&["L11 seq 2: an agent event has a raw payload although raw payloads are off"]);
    let synthetic = Stream::new().synthetic().start_turn().with("raw", json!({}));
    assert_eq!(synthetic.violations(Checker::with_raw()), [""; 0]);
}

#[test]
fn l12_a_user_message_is_first_in_its_turn() {
    Stream::new().user_message("u").assert_violations(&["L12 seq 2: user message u is outside a turn"]);
    Stream::new()
        .start_turn()
        .start("m", &json!({}))
        .user_message("late")
        .user_message("steered")
        .assert_violations(&["L12 seq 4: user message late comes after an item of the agent in its turn"]);
}

#[test]
fn l13_turns_do_not_overlap_and_end_before_the_session() {
    Stream::new().start_turn().start_turn().assert_violations(&["L13 seq 3: a turn started while another was running"]);
    Stream::new().end_turn().assert_violations(&["L13 seq 2: a turn ended although none was running"]);
    Stream::new()
        .start_turn()
        .event("session.ended", json!({ "reason": "terminated", "terminated_by": "daemon" }))
        .assert_violations(&["L13 seq 3: the session ended during a turn"]);
}

#[test]
fn l14_time_never_decreases() {
    Stream::new().start_turn().with("time", json!("1970-01-01T00:00:00.000Z")).assert_violations(&[
        "L14 seq 2: time 1970-01-01T00:00:00.000Z is earlier than 1970-01-01T00:00:00.001Z of the previous event",
    ]);
}

#[test]
fn a_line_that_is_not_an_event_is_an_error() {
    let error = Checker::new().push_line(r#"{"hello":1}"#).unwrap_err().to_string();
    assert!(error.starts_with("expected a universal event: missing field"), "{error}");
}

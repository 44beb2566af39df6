mod vocabulary;

use serde_json::{Value, json};

use super::*;

/// A stream of one session in which every event is right by itself; a test then breaks one thing.
struct Stream(Vec<Value>);

impl Stream {
    fn new() -> Self {
        Self(Vec::new()).then("session.started", json!({}))
    }

    #[allow(clippy::needless_pass_by_value, reason = "a `json!` at the call reads better without `&`")]
    fn then(mut self, kind: &str, data: Value) -> Self {
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
        self.then(event, json!({ "item": full }))
    }

    fn start(self, id: &str, item: &Value) -> Self {
        self.item("item.started", id, item)
    }

    fn complete(self, id: &str, item: &Value) -> Self {
        self.item("item.completed", id, item)
    }

    fn delta(self, id: &str, delta: &str) -> Self {
        self.then("item.delta", json!({ "item_id": id, "native_item_id": null, "delta": delta }))
    }

    fn turn(self) -> Self {
        self.then("turn.started", json!({ "turn_id": "t", "phase": "started" }))
    }

    fn turn_ends(self) -> Self {
        self.turn_ends_as("completed")
    }

    fn turn_ends_as(self, status: &str) -> Self {
        self.then("turn.ended", json!({ "turn_id": "t", "phase": "ended", "status": status, "duration_ms": 5 }))
    }

    fn session_ends(self) -> Self {
        self.then("session.ended", json!({ "reason": "completed", "terminated_by": "agent" }))
    }

    fn user(self, id: &str) -> Self {
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
    fn breaks(&self, expected: &[&str]) {
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
fn a_good_stream_breaks_nothing() {
    let good = Stream::new()
        .turn()
        .user("u")
        .start("m", &json!({}))
        .delta("m", "Hel")
        .delta("m", "lo")
        .synthetic()
        .complete("m", &text("Hello"))
        .start("c", &call(Some("m")))
        .complete("c", &call(Some("m")))
        .then("permission.requested", permission("requested"))
        .then("permission.resolved", permission("denied"))
        .start("sub", &json!({ "role": "user", "parent_id": "c" }))
        .complete("sub", &json!({ "role": "user", "parent_id": "c" }))
        .then("question.requested", question("requested"))
        .then("question.resolved", question("answered"))
        .start("r", &result(Some("m"), &json!({})))
        .delta("r", "anything")
        .complete("r", &json!({ "status": "failed" }))
        .then("error", json!({ "message": "m", "code": "auth", "details": null }))
        .turn_ends()
        .then("something.new", json!({ "x": 1 }))
        .start("between", &json!({}))
        .turn()
        .user("u2")
        .complete("between", &json!({}))
        .turn_ends()
        .session_ends();
    good.breaks(&[]);
}

#[test]
fn the_example_in_the_documentation_breaks_nothing() {
    let page = include_str!("../../../../docs/universal-schema.md");
    let example = page.split("```").find_map(|block| block.strip_prefix("json\n")).unwrap();
    let mut stream = Stream(vec![]);
    for line in example.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        stream = stream.then(event["type"].as_str().unwrap(), event["data"].clone());
        if event["source"] == "daemon" {
            stream = stream.synthetic();
        }
    }
    assert_eq!(stream.0.len(), 11);
    stream.breaks(&[]);
}

#[test]
fn a_session_left_open_breaks_nothing() {
    Stream::new().turn().user("u").start("m", &json!({})).delta("m", "Hel").breaks(&[]);
}

#[test]
fn sessions_are_kept_apart() {
    let mut both = Stream::new().turn();
    let other: Vec<Value> = Stream::new()
        .turn()
        .0
        .into_iter()
        .map(|mut event| {
            event["session_id"] = json!("other");
            event["event_id"] = json!(format!("other_{}", event["sequence"]));
            event
        })
        .collect();
    both.0.extend(other);
    both.breaks(&[]);
}

#[test]
fn l1_a_gap_and_a_repeated_id() {
    Stream::new().turn().with("sequence", json!(3)).breaks(&["L1 seq 3: expected sequence 2, found 3"]);
    Stream::new().turn().with("event_id", json!("evt_1")).breaks(&["L1 seq 2: event id evt_1 is used twice"]);
}

#[test]
fn l2_a_session_starts_first_and_once_and_ends_once() {
    Stream(vec![]).turn().breaks(&["L2 seq 1: the first event is turn.started, not session.started"]);
    Stream::new().then("session.started", json!({})).breaks(&["L2 seq 2: the session started before"]);
    Stream::new().session_ends().session_ends().breaks(&["L2 seq 3: session.ended after session.ended"]);
}

#[test]
fn l3_an_item_starts_once_and_first() {
    Stream::new().start("m", &json!({})).start("m", &json!({})).breaks(&["L3 seq 3: item m started twice"]);
    Stream::new().delta("m", "x").breaks(&["L3 seq 2: a delta for item m, which has not started"]);
    Stream::new().complete("m", &json!({})).breaks(&["L3 seq 2: completion of item m, which has not started"]);
}

#[test]
fn l4_an_item_completes_once_and_before_its_turn() {
    Stream::new().start("m", &json!({})).complete("m", &json!({})).complete("m", &json!({})).delta("m", "x").breaks(&[
        "L4 seq 4: completion of item m, which is complete",
        "L4 seq 5: a delta for item m, which is complete",
    ]);
    Stream::new().turn().start("m", &json!({})).turn_ends().breaks(&["L4 seq 4: the turn ended while item m was open"]);
    Stream::new().start("m", &json!({})).session_ends().breaks(&["L4 seq 3: the session ended while item m was open"]);
}

/// A turn in which a call of this kind has a result that is open.
fn running(tool_kind: &str) -> Stream {
    let call = call_with(None, &json!({ "tool_kind": tool_kind, "title": "T" }));
    Stream::new().turn().start("c", &call).complete("c", &call).start("r", &result(None, &json!({})))
}

#[test]
fn l4_a_commands_result_may_outlive_a_completed_turn() {
    let background = || running("command").turn_ends();
    background().breaks(&[]);
    let completed = json!({ "kind": "tool_result" });
    background().delta("r", "x").complete("r", &completed).session_ends().breaks(&[]);
    for status in ["completed", "failed", "interrupted"] {
        background()
            .turn()
            .turn_ends_as(status)
            .turn()
            .complete("r", &completed)
            .turn_ends()
            .session_ends()
            .breaks(&[]);
    }
    background().session_ends().breaks(&["L4 seq 7: the session ended while item r was open"]);
}

#[test]
fn l4_a_background_command_may_have_its_first_output_after_its_turn() {
    let late = |first: &str, second: &str| {
        let called = Stream::new().turn().start("c", &call(None)).complete("c", &call(None)).turn_ends_as(first);
        called.turn().start("r", &result(None, &json!({}))).turn_ends_as(second)
    };
    late("completed", "failed").breaks(&[]);
    late("completed", "interrupted").breaks(&[]);
    late("failed", "failed").breaks(&["L4 seq 8: the turn ended while item r was open"]);
}

#[test]
fn l4_no_other_item_outlives_its_turn() {
    let open = &["L4 seq 6: the turn ended while item r was open"];
    running("command").turn_ends_as("failed").breaks(open);
    running("command").turn_ends_as("interrupted").breaks(open);
    for kind in ["file_read", "sub_agent", "mcp", "other"] {
        running(kind).turn_ends().breaks(open);
    }
    let call = call(None);
    Stream::new().turn().start("c", &call).turn_ends().breaks(&["L4 seq 4: the turn ended while item c was open"]);
}

#[test]
fn l4_a_call_may_turn_out_to_be_a_command_when_it_completes() {
    Stream::new()
        .turn()
        .start("c", &call_with(None, &json!({})))
        .complete("c", &call(None))
        .start("r", &result(None, &json!({})))
        .turn_ends()
        .breaks(&[]);
}

#[test]
fn l5_deltas_join_to_the_text() {
    Stream::new()
        .start("m", &json!({}))
        .delta("m", "Hel")
        .complete("m", &text("Hello"))
        .breaks(&[r#"L5 seq 4: the deltas of m join to "Hel", its final text is "Hello""#]);
    Stream::new()
        .start("m", &json!({}))
        .complete("m", &text("Hello"))
        .breaks(&[r#"L5 seq 3: the deltas of m join to "", its final text is "Hello""#]);
    Stream::new()
        .start("m", &json!({}))
        .delta("m", "Hello")
        .synthetic()
        .turn()
        .complete("m", &text("Hello"))
        .breaks(&["L5 seq 4: turn.started between the synthetic delta of m and its completion"]);
}

#[test]
fn l6_statuses_fit_their_events() {
    Stream::new()
        .start("m", &json!({ "status": "completed" }))
        .complete("m", &json!({ "status": "in_progress" }))
        .breaks(&["L6 seq 2: item m started but is not in_progress", "L6 seq 3: item m completed but is in_progress"]);
    Stream::new()
        .start("c", &call(None))
        .start("r", &result(None, &json!({})))
        .complete("r", &result(None, &json!({ "exit_code": 3 })))
        .breaks(&["L6 seq 4: result r has exit code 3 but is completed"]);
}

#[test]
fn l7_results_belong_to_calls() {
    Stream::new().start("r", &result(None, &json!({}))).breaks(&["L7 seq 2: a result for c, which was never called"]);
    Stream::new()
        .start("c", &call(None))
        .start("r", &result(None, &json!({})))
        .complete("r", &result(None, &json!({})))
        .start("r2", &result(None, &json!({})))
        .breaks(&["L7 seq 5: a second result for c"]);
}

#[test]
fn l8_parents_are_earlier_items() {
    Stream::new()
        .start("m", &json!({ "parent_id": "nobody" }))
        .breaks(&["L8 seq 2: parent nobody of m is no earlier item"]);
    Stream::new()
        .start("m", &json!({}))
        .start("c", &call(None))
        .breaks(&["L8 seq 3: c names no message although there is one"]);
}

#[test]
fn l9_what_is_asked_is_answered_once_and_in_time() {
    Stream::new()
        .then("permission.resolved", permission("approved"))
        .then("permission.requested", permission("approved"))
        .then("permission.resolved", permission("requested"))
        .then("permission.resolved", permission("approved"))
        .then("permission.requested", permission("requested"))
        .breaks(&[
            "L9 seq 2: permission p was never requested",
            "L9 seq 3: permission p is requested but its status is not",
            "L9 seq 4: permission p is resolved but its status is requested",
            "L9 seq 5: permission p was resolved before",
            "L9 seq 6: permission p was requested before",
        ]);
    Stream::new()
        .turn()
        .then("question.requested", question("requested"))
        .turn_ends()
        .breaks(&["L9 seq 4: the turn ended while question q was unanswered"]);
}

#[test]
fn l10_synthetic_means_daemon() {
    Stream::new()
        .turn()
        .with("source", json!("daemon"))
        .breaks(&["L10 seq 2: source is daemon but synthetic is false"]);
}

#[test]
fn l11_raw_is_there_throughout() {
    let mut missing = Stream::new();
    missing.last().as_object_mut().unwrap().remove("raw");
    missing.breaks(&["L11 seq 1: the raw key is missing"]);
    let without = "L11 seq 2: an agent event without its payload although raw is on";
    let half = Stream::new().with("raw", json!({ "x": 1 })).turn();
    half.breaks(&[without]);
    assert_eq!(half.violations(Checker::with_raw()), [without]);
    Stream::new().turn().with("raw", json!(1)).breaks(&["L11 seq 2: a payload although raw is off"]);
    let synthetic = Stream::new().synthetic().turn().with("raw", json!({}));
    assert_eq!(synthetic.violations(Checker::with_raw()), [""; 0]);
}

#[test]
fn l12_the_user_speaks_first_and_in_a_turn() {
    Stream::new().user("u").breaks(&["L12 seq 2: user message u outside a turn"]);
    Stream::new()
        .turn()
        .start("m", &json!({}))
        .user("late")
        .user("steered")
        .breaks(&["L12 seq 4: user message late after the agent spoke in its turn"]);
}

#[test]
fn l13_turns_alternate_and_end() {
    Stream::new().turn().turn().breaks(&["L13 seq 3: a turn started while another was running"]);
    Stream::new().turn_ends().breaks(&["L13 seq 2: a turn ended that had not started"]);
    Stream::new()
        .turn()
        .then("session.ended", json!({ "reason": "terminated", "terminated_by": "daemon" }))
        .breaks(&["L13 seq 3: the session ended in the middle of a turn"]);
}

#[test]
fn l14_time_never_goes_back() {
    Stream::new()
        .turn()
        .with("time", json!("1970-01-01T00:00:00.000Z"))
        .breaks(&["L14 seq 2: 1970-01-01T00:00:00.000Z is earlier than 1970-01-01T00:00:00.001Z before it"]);
}

#[test]
fn a_line_that_is_no_event_is_an_error() {
    let error = Checker::new().push_line(r#"{"hello":1}"#).unwrap_err().to_string();
    assert!(error.starts_with("expected a universal event: missing field"), "{error}");
}

use interlingua_schema::{
    Checker, ContentPart, EventData, Item, ItemKind, ItemStatus, Role, StopReason, TurnStatus, UniversalEvent,
};
use serde_json::{Value, json};

use super::AmpConverter;
use crate::{Conversion, ConversionOptions, Input, InputRef, Launch, StreamEnd};

/// Converts the inputs of one process and checks the lifecycle rules.
fn convert(argv: &[&str], inputs: &[InputRef<'_>]) -> Vec<UniversalEvent> {
    let mut conversion = Conversion::new(AmpConverter::default(), ConversionOptions::default());
    let mut events = Vec::new();
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    conversion.observe_launch(None, &Launch { argv, ..Launch::default() }, &mut events);
    for input in inputs {
        conversion.push(None, *input, &mut events);
    }
    conversion.finish(None, StreamEnd::Log, &mut events);
    assert_eq!(conversion.stats().unaccounted, 0);
    let mut checker = Checker::new();
    let violations: Vec<_> = events.iter().flat_map(|event| checker.push(event)).collect();
    assert!(violations.is_empty(), "{violations:?}");
    events
}

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"T-1","tools":[],"mcp_servers":[],"agent_mode":"low"}"#;

const SUCCESS: &str = r#"{"type":"result","subtype":"success","duration_ms":9,"is_error":false,"num_turns":1,"result":"a","session_id":"T-1"}"#;

fn message(kind: &str, content: &Value) -> String {
    json!({ "type": kind, "message": { "role": kind, "content": content, "usage": { "input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3 } }, "parent_tool_use_id": null, "session_id": "T-1" })
        .to_string()
}

fn text(kind: &str, text: &str) -> String {
    message(kind, &json!([{ "type": "text", "text": text }]))
}

#[expect(clippy::needless_pass_by_value, reason = "calls read better")]
fn texts(events: &[UniversalEvent], role: Role) -> Vec<String> {
    let completed = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) if data.item.role == Some(role.clone()) => Some(&data.item),
        _ => None,
    });
    completed.map(|item| item.streamed_text().collect()).collect()
}

/// Status and input tokens of each turn.
fn turns(events: &[UniversalEvent]) -> Vec<(TurnStatus, Option<u64>)> {
    let ended = events.iter().filter_map(|event| match &event.data {
        EventData::TurnEnded(data) => Some((data.status.clone(), data.usage.as_ref().map(|usage| usage.input_tokens))),
        _ => None,
    });
    ended.collect()
}

fn stop_reasons(events: &[UniversalEvent]) -> Vec<Option<StopReason>> {
    let ended = events.iter().filter_map(|event| match &event.data {
        EventData::TurnEnded(data) => Some(data.metadata.as_ref().and_then(|metadata| metadata.stop_reason.clone())),
        _ => None,
    });
    ended.collect()
}

#[expect(clippy::needless_pass_by_value, reason = "calls read better")]
fn completed(events: &[UniversalEvent], kind: ItemKind) -> Vec<&Item> {
    let completed = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) if data.item.kind == kind => Some(&data.item),
        _ => None,
    });
    completed.collect()
}

fn call(id: &str, name: &str, input: &Value) -> String {
    message("assistant", &json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]))
}

fn result(id: &str, content: &str) -> String {
    message("user", &json!([{ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": false }]))
}

/// Converts lines of a process that has not exited.
fn convert_lines(lines: &[String]) -> Vec<UniversalEvent> {
    let lines = lines.iter().map(|line| Input::Received(line.as_str()));
    convert(&[], &[Input::Received(INIT)].into_iter().chain(lines).collect::<Vec<_>>())
}

/// Code and message of each error.
fn errors(events: &[UniversalEvent]) -> Vec<(String, String)> {
    let errors = events.iter().filter_map(|event| match &event.data {
        EventData::Error(data) => {
            Some((serde_json::to_value(&data.code).unwrap().as_str().unwrap().to_owned(), data.message.clone()))
        }
        _ => None,
    });
    errors.collect()
}

#[test]
fn each_echo_starts_a_turn_with_separate_usage() {
    let (one, two) = (text("user", "one"), text("user", "two"));
    let answer = text("assistant", "answer");
    let result = r#"{"type":"result","subtype":"success","duration_ms":9,"is_error":false,"num_turns":3,"result":"answer","session_id":"T-1"}"#;
    let events = convert(
        &["amp", "-x", "--stream-json", "--stream-json-input"],
        &[
            Input::Sent(&one),
            Input::Received(INIT),
            Input::Received(&one),
            Input::Received(&answer),
            Input::Received(&answer),
            Input::Sent(&two),
            Input::Received(&two),
            Input::Received(&answer),
            Input::Received(result),
            Input::Exit { code: Some(0) },
        ],
    );
    assert_eq!(texts(&events, Role::User), ["one", "two"]);
    assert_eq!(texts(&events, Role::Assistant), ["answer", "answer", "answer"]);
    assert_eq!(turns(&events), [(TurnStatus::Completed, Some(6)), (TurnStatus::Completed, Some(3))]);
}

#[test]
fn a_steered_message_joins_the_running_turn() {
    let one = text("user", "one");
    let two = text("user", "two");
    let steer = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"two"}]},"steer":true}"#;
    let events = convert(
        &[],
        &[
            Input::Sent(&one),
            Input::Received(INIT),
            Input::Received(&one),
            Input::Received(&text("assistant", "a")),
            Input::Sent(steer),
            Input::Received(&two),
            Input::Received(SUCCESS),
            Input::Exit { code: Some(0) },
        ],
    );
    assert_eq!(texts(&events, Role::User), ["one", "two"]);
    assert_eq!(turns(&events).len(), 1);
}

#[test]
fn images_that_the_echo_leaves_out_are_restored() {
    let sent = message(
        "user",
        &json!([{ "type": "text", "text": "what" }, { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA" } }]),
    );
    let events = convert(&[], &[Input::Sent(&sent), Input::Received(INIT), Input::Received(&text("user", "what"))]);
    let EventData::ItemCompleted(user) = &events.last().unwrap().data else { panic!("no user message") };
    let image = ContentPart::Image { path: "data:image/png;base64,AA".into(), mime: Some("image/png".into()) };
    assert_eq!(user.item.content, [ContentPart::text("what"), image]);
}

#[test]
fn a_failure_before_the_thread_has_the_agents_message() {
    let events = convert(
        &["amp", "-x", "hi", "--stream-json"],
        &[Input::Stderr("Error: Invalid or missing API key."), Input::Exit { code: Some(1) }],
    );
    assert_eq!(texts(&events, Role::User), ["hi"]);
    assert_eq!(errors(&events), [("auth".to_owned(), "Error: Invalid or missing API key.".to_owned())]);
    assert_eq!(turns(&events), [(TurnStatus::Failed, None)]);
}

#[test]
fn a_plain_text_run_completes() {
    let events = convert(&["amp", "-x", "hi"], &[Input::Received("plain answer"), Input::Exit { code: Some(0) }]);
    assert_eq!(errors(&events), []);
    assert_eq!(turns(&events), [(TurnStatus::Completed, None)]);
}

#[test]
fn a_cancelled_run_is_interrupted_without_an_error() {
    let result = r#"{"type":"result","subtype":"error_during_execution","duration_ms":9,"is_error":true,"num_turns":1,"error":"User cancelled (SIGINT/SIGTERM)","session_id":"T-1"}"#;
    let events = convert(
        &["amp", "-x", "hi", "--stream-json"],
        &[
            Input::Received(INIT),
            Input::Received(&text("user", "hi")),
            Input::Received(result),
            Input::Exit { code: Some(0) },
        ],
    );
    assert_eq!(errors(&events), []);
    assert_eq!(turns(&events), [(TurnStatus::Interrupted, None)]);
}

#[test]
fn an_answer_that_is_only_in_the_result_is_a_message() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"the answer","session_id":"T-1"}"#;
    let events = convert(&[], &[Input::Received(INIT), Input::Received(&text("user", "hi")), Input::Received(result)]);
    assert_eq!(texts(&events, Role::Assistant), ["the answer"]);
}

#[test]
fn a_result_of_a_failed_command_is_failed_and_an_edit_has_its_diff() {
    let lines = [
        text("user", "go"),
        call("1", "shell_command", &json!({ "command": "exit 3" })),
        result("1", r#"{"output":"oops\n","exitCode":3}"#),
        call("2", "create_file", &json!({ "path": "/w/a", "content": "x\n" })),
        result("2", "Successfully created file /w/a"),
    ];
    let events = convert_lines(&lines);
    let results = completed(&events, ItemKind::ToolResult);
    assert_eq!(results[0].status, ItemStatus::Failed);
    assert_eq!(results[1].status, ItemStatus::Completed);
    assert!(
        matches!(&results[1].content[1], ContentPart::FileRef { diff: Some(diff), .. } if diff.ends_with("@@ -0,0 +1 @@\n+x\n"))
    );
}

#[test]
fn unknown_lines_are_unparsed_and_the_stream_continues() {
    let events = convert(
        &[],
        &[
            Input::Received(INIT),
            Input::Received(r#"{"type":"novelty"}"#),
            Input::Received("plain"),
            Input::Received("[]"),
            Input::Received(&message("assistant", &json!([{ "type": "video" }, { "type": "text", "text": "still" }]))),
        ],
    );
    let unparsed: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::AgentUnparsed(data) => Some(data.native_type.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(unparsed, [Some("novelty"), None, None, Some("assistant/video")]);
    assert_eq!(texts(&events, Role::Assistant), ["still"]);
}

#[test]
fn a_call_has_its_input_and_a_title_relative_to_the_directory() {
    let events = convert_lines(&[
        text("user", "go"),
        call("1", "edit_file", &json!({ "path": "src/a.rs", "old_str": "x", "new_str": "y" })),
        result(
            "1",
            r#"{"diff":"```diff\n--- /w/src/a.rs\toriginal\n+++ /w/src/a.rs\tmodified\n@@ -1 +1 @@\n-x\n+y\n```"}"#,
        ),
        call("2", "shell_command_status", &json!({ "processId": "p1" })),
        call("3", "mcp__tiny__add", &json!({ "a": 1 })),
    ]);
    let calls: Vec<_> = completed(&events, ItemKind::ToolCall)
        .into_iter()
        .map(|item| match &item.content[0] {
            ContentPart::ToolCall { title, input, .. } => (title.clone().unwrap(), json!(input)),
            other => panic!("{other:?}"),
        })
        .collect();
    let edit = json!({ "changes": [{ "path": "/w/src/a.rs", "edits": [{ "old": "x", "new": "y" }] }] });
    assert_eq!(calls[0], ("Edit src/a.rs".to_owned(), edit));
    assert_eq!(calls[1], ("Read output of command p1".to_owned(), Value::Null));
    assert_eq!(calls[2].0, "tiny: add");
    let content = json!(completed(&events, ItemKind::ToolResult)[0].content);
    assert_eq!(content[0]["output"], "");
    assert_eq!(content[1]["diff"], "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-x\n+y\n");
}

#[test]
fn a_plan_is_an_input_and_a_status() {
    let todos = json!({ "todos": [{ "id": "1", "content": "c", "status": "completed" }] });
    let events = convert_lines(&[text("user", "go"), call("1", "todo_write", &todos), call("2", "todo_write", &todos)]);
    let steps = json!({ "steps": [{ "content": "c", "status": "completed" }] });
    assert_eq!(json!(completed(&events, ItemKind::ToolCall)[1].content)[0]["input"], steps);
    let [status] = completed(&events, ItemKind::Status)[..] else { panic!("not one status") };
    assert_eq!(json!(status.content)[1]["json"], steps);
}

#[test]
fn the_session_has_the_tools_and_the_permission_mode() {
    let init = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"T-1","tools":["Read"],"mcp_servers":[{"name":"tiny","status":"connected"}],"agent_mode":"low"}"#;
    let events = convert(&["amp", "--dangerously-allow-all", "-x", "hi", "--stream-json"], &[Input::Received(init)]);
    let EventData::SessionStarted(started) = &events[0].data else { panic!("{:?}", events[0]) };
    assert_eq!(
        json!(started.metadata),
        json!({
            "agent": "amp", "cwd": "/w", "agent_mode": "low", "permission_mode": "bypass", "tools": ["Read"],
            "mcp_servers": [{ "name": "tiny", "status": "connected" }],
        })
    );
}

#[test]
fn every_turn_has_the_reason_why_the_model_stopped() {
    let answer = |reason: &str| {
        json!({ "type": "assistant", "session_id": "T-1", "parent_tool_use_id": null, "message": {
            "role": "assistant", "content": [{ "type": "text", "text": "a" }], "stop_reason": reason } })
        .to_string()
    };
    let lines =
        [text("user", "one"), answer("end_turn"), text("user", "two"), answer("max_tokens"), SUCCESS.to_owned()];
    assert_eq!(stop_reasons(&convert_lines(&lines)), [Some(StopReason::EndTurn), Some(StopReason::MaxTokens)]);
    let failed =
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":"no","session_id":"T-1"}"#;
    let lines = [text("user", "one"), answer("end_turn"), failed.to_owned()];
    assert_eq!(stop_reasons(&convert_lines(&lines)), [None]);
}

#[test]
fn a_failure_has_the_subtype_of_the_result() {
    let failed = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"error":"enough","session_id":"T-1"}"#;
    let events = convert_lines(&[text("user", "one"), failed.to_owned()]);
    let error = events.iter().find_map(|event| match &event.data {
        EventData::Error(error) => Some(json!(error)),
        _ => None,
    });
    assert_eq!(
        error.unwrap(),
        json!({ "message": "enough", "code": "limit", "details": { "type": "error_max_turns" } })
    );
}

#[test]
fn a_tool_result_without_is_error_is_failed() {
    let without_is_error = message("user", &json!([{ "type": "tool_result", "tool_use_id": "1", "content": "text" }]));
    let events = convert_lines(&[text("user", "go"), call("1", "Task", &json!({ "prompt": "p" })), without_is_error]);
    assert_eq!(completed(&events, ItemKind::ToolResult)[0].status, ItemStatus::Failed);
}

#[test]
fn a_result_with_an_unknown_outcome_is_a_failure() {
    for result in [
        r#"{"type":"result","subtype":"novelty","is_error":false,"result":"a","session_id":"T-1"}"#,
        r#"{"type":"result","is_error":false,"result":"a","session_id":"T-1"}"#,
        r#"{"type":"result","subtype":"success","result":"a","session_id":"T-1"}"#,
        r#"{"type":"result","subtype":"success","is_error":"no","result":"a","session_id":"T-1"}"#,
    ] {
        let lines = [INIT.to_owned(), text("user", "go"), text("assistant", "a"), result.to_owned()];
        let mut inputs: Vec<_> = lines.iter().map(|line| Input::Received(line.as_str())).collect();
        inputs.push(Input::Exit { code: Some(0) });
        let events = convert(&["amp", "-x", "go", "--stream-json"], &inputs);
        assert_eq!(
            turns(&events).iter().map(|turn| turn.0.clone()).collect::<Vec<_>>(),
            [TurnStatus::Failed],
            "{result}"
        );
        assert_eq!(errors(&events).len(), 1, "{result}");
    }
}

#[test]
fn a_process_that_exits_without_a_result_was_cut_off() {
    let (user, answer) = (text("user", "go"), text("assistant", "a"));
    let inputs = [
        Input::Received(INIT),
        Input::Received(&user),
        Input::Received(&answer),
        Input::Stderr("Warning: something old"),
        Input::Exit { code: Some(0) },
    ];
    let events = convert(&["amp", "-x", "go", "--stream-json"], &inputs);
    assert_eq!(errors(&events), [("agent_error".to_owned(), "the agent exited with code 0".to_owned())]);
    assert_eq!(turns(&events), [(TurnStatus::Failed, Some(3))]);
}

#[test]
fn standard_error_is_not_the_cause_when_a_signal_kills_the_process() {
    let argv = ["amp", "-x", "hi", "--stream-json"];
    let events = convert(&argv, &[Input::Stderr("Warning: something old"), Input::Exit { code: Some(-9) }]);
    assert_eq!(errors(&events), [("agent_error".to_owned(), "the agent was killed by signal 9".to_owned())]);
}

use interlingua_schema::{Checker, ContentPart, EventData, ItemStatus, Role, TurnStatus, UniversalEvent};
use serde_json::{Value, json};

use super::AmpConverter;
use crate::{End, Input, Launch, Options, Stream};

/// Plays inputs of one process and checks every rule.
fn play(argv: &[&str], inputs: &[Input<'_>]) -> Vec<UniversalEvent> {
    let mut stream = Stream::new(AmpConverter::default(), Options::default());
    let mut events = Vec::new();
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    stream.launch(None, &Launch { argv, ..Launch::default() }, &mut events);
    for input in inputs {
        stream.push(None, *input, &mut events);
    }
    stream.finish(None, End::Log, &mut events);
    assert_eq!(stream.tally().unaccounted, 0);
    let mut checker = Checker::new();
    let broken: Vec<_> = events.iter().flat_map(|event| checker.push(event)).collect();
    assert!(broken.is_empty(), "{broken:?}");
    events
}

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"T-1","tools":[],"mcp_servers":[],"agent_mode":"low"}"#;

fn line(kind: &str, content: &Value) -> String {
    json!({ "type": kind, "message": { "role": kind, "content": content, "usage": { "input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3 } }, "parent_tool_use_id": null, "session_id": "T-1" })
        .to_string()
}

fn text(kind: &str, text: &str) -> String {
    line(kind, &json!([{ "type": "text", "text": text }]))
}

fn texts(events: &[UniversalEvent], role: Role) -> Vec<String> {
    let completed = events.iter().filter_map(|event| match &event.data {
        EventData::ItemCompleted(data) if data.item.role == Some(role) => Some(&data.item),
        _ => None,
    });
    completed.map(|item| item.streamed_text().collect()).collect()
}

fn turns(events: &[UniversalEvent]) -> Vec<(TurnStatus, Option<u64>)> {
    let ended = events.iter().filter_map(|event| match &event.data {
        EventData::TurnEnded(data) => Some((data.status, data.usage.as_ref().map(|usage| usage.input_tokens))),
        _ => None,
    });
    ended.collect()
}

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
fn each_echo_begins_a_turn_with_its_own_usage() {
    let (one, two) = (text("user", "one"), text("user", "two"));
    let answer = text("assistant", "answer");
    let result = r#"{"type":"result","subtype":"success","duration_ms":9,"is_error":false,"num_turns":3,"result":"answer","session_id":"T-1"}"#;
    let events = play(
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
    let events = play(
        &[],
        &[
            Input::Sent(&one),
            Input::Received(INIT),
            Input::Received(&one),
            Input::Received(&text("assistant", "a")),
            Input::Sent(steer),
            Input::Received(&two),
            Input::Exit { code: Some(0) },
        ],
    );
    assert_eq!(texts(&events, Role::User), ["one", "two"]);
    assert_eq!(turns(&events).len(), 1);
}

#[test]
fn images_that_the_echo_leaves_out_are_kept() {
    let sent = line(
        "user",
        &json!([{ "type": "text", "text": "what" }, { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AA" } }]),
    );
    let events = play(&[], &[Input::Sent(&sent), Input::Received(INIT), Input::Received(&text("user", "what"))]);
    let EventData::ItemCompleted(user) = &events.last().unwrap().data else { panic!("no user message") };
    let image = ContentPart::Image { path: "data:image/png;base64,AA".into(), mime: Some("image/png".into()) };
    assert_eq!(user.item.content, [ContentPart::text("what"), image]);
}

#[test]
fn a_failure_before_the_thread_is_told_in_the_agents_words() {
    let events = play(
        &["amp", "-x", "hi", "--stream-json"],
        &[Input::Stderr("Error: Invalid or missing API key."), Input::Exit { code: Some(1) }],
    );
    assert_eq!(texts(&events, Role::User), ["hi"]);
    assert_eq!(errors(&events), [("auth".to_owned(), "Error: Invalid or missing API key.".to_owned())]);
    assert_eq!(turns(&events), [(TurnStatus::Failed, None)]);
}

#[test]
fn a_plain_run_ends_well() {
    let events = play(&["amp", "-x", "hi"], &[Input::Received("plain answer"), Input::Exit { code: Some(0) }]);
    assert_eq!(errors(&events), []);
    assert_eq!(turns(&events), [(TurnStatus::Completed, None)]);
}

#[test]
fn a_cancelled_run_is_interrupted_and_no_error() {
    let result = r#"{"type":"result","subtype":"error_during_execution","duration_ms":9,"is_error":true,"num_turns":1,"error":"User cancelled (SIGINT/SIGTERM)","session_id":"T-1"}"#;
    let events = play(
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
fn an_answer_that_stands_only_in_the_result_is_a_message() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"the answer","session_id":"T-1"}"#;
    let events = play(&[], &[Input::Received(INIT), Input::Received(&text("user", "hi")), Input::Received(result)]);
    assert_eq!(texts(&events, Role::Assistant), ["the answer"]);
}

#[test]
fn a_result_of_a_failed_command_is_failed_and_an_edit_has_its_diff() {
    let call = |id: &str, name: &str, input: Value| {
        line("assistant", &json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]))
    };
    let result = |id: &str, content: &str| {
        line("user", &json!([{ "type": "tool_result", "tool_use_id": id, "content": content, "is_error": false }]))
    };
    let lines = [
        text("user", "go"),
        call("1", "shell_command", json!({ "command": "exit 3" })),
        result("1", r#"{"output":"oops\n","exitCode":3}"#),
        call("2", "create_file", json!({ "path": "/w/a", "content": "x\n" })),
        result("2", "Successfully created file /w/a"),
    ];
    let mut inputs = vec![Input::Received(INIT)];
    inputs.extend(lines.iter().map(|line| Input::Received(line)));
    let events = play(&[], &inputs);
    let results: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.data {
            EventData::ItemCompleted(data) if data.item.role == Some(Role::Tool) => Some(&data.item),
            _ => None,
        })
        .collect();
    assert_eq!(results[0].status, ItemStatus::Failed);
    assert_eq!(results[1].status, ItemStatus::Completed);
    assert!(
        matches!(&results[1].content[1], ContentPart::FileRef { diff: Some(diff), .. } if diff.ends_with("@@ -0,0 +1 @@\n+x\n"))
    );
}

#[test]
fn what_is_not_known_is_unparsed_and_the_stream_goes_on() {
    let events = play(
        &[],
        &[
            Input::Received(INIT),
            Input::Received(r#"{"type":"novelty"}"#),
            Input::Received("plain"),
            Input::Received("[]"),
            Input::Received(&line("assistant", &json!([{ "type": "video" }, { "type": "text", "text": "still" }]))),
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

//! Recordings that go over several processes.

use interlingua_replay::ReplayOptions;

use crate::talk::{Talk, recording, transcript};

fn amp(text: &str, code: i32) -> Vec<String> {
    let line = format!(r#"{{\"type\":\"result\",\"result\":\"{text}\",\"session_id\":\"T-0000000000000001\"}}"#);
    vec![
        r#"{"t":0,"dir":"close"}"#.to_owned(),
        format!(r#"{{"t":1,"dir":"recv","line":"{line}"}}"#),
        format!(r#"{{"t":2,"dir":"exit","code":{code}}}"#),
    ]
}

#[test]
fn with_a_state_file_each_process_plays_the_next_turn() {
    let folder = tempfile::tempdir().unwrap();
    let records = [amp("one", 0), amp("two", 0)].concat();
    let path = recording(folder.path(), "turns", "amp", &records.iter().map(String::as_str).collect::<Vec<_>>());
    let mut options = ReplayOptions::default();
    options.state_file = Some(folder.path().join("state"));
    let words = ["threads", "continue", "T-00000000000000ff", "-x", "go"];
    for text in ["one", "two"] {
        let mut talk = Talk::start("amp", &words, &path, &options);
        let line = talk.json();
        assert_eq!((&line["result"], &line["session_id"]), (&text.into(), &"T-00000000000000ff".into()));
        assert_eq!(talk.exit(), 0);
    }
    let mut talk = Talk::start("amp", &words, &path, &options);
    assert_eq!(talk.exit(), 2);
    assert!(talk.errors().contains("the recording is over"));
}

#[test]
fn a_folder_is_played_recording_by_recording() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("1-first", "one"), ("2-second", "two")] {
        recording(folder.path(), name, "amp", &amp(text, 0).iter().map(String::as_str).collect::<Vec<_>>());
    }
    recording(folder.path(), "0-other", "claude", &[]);
    let state = tempfile::tempdir().unwrap();
    let mut options = ReplayOptions::default();
    options.state_file = Some(state.path().join("state"));
    for text in ["one", "two"] {
        let mut talk = Talk::start("amp", &["-x", "go"], folder.path(), &options);
        assert_eq!(talk.json()["result"], text);
        // It keeps where it stands when it leaves.
        assert_eq!(talk.exit(), 0);
    }
    let mut talk = Talk::start("codex", &["app-server"], folder.path(), &options);
    assert_eq!(talk.exit(), 2);
    assert!(talk.errors().contains("no recording of codex app-server in this folder"));
}

#[test]
fn a_turn_can_be_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let records = [amp("one", 0), amp("two", 3)].concat();
    let path = recording(folder.path(), "turns", "amp", &records.iter().map(String::as_str).collect::<Vec<_>>());
    let start = |turn| {
        let mut options = ReplayOptions::default();
        options.start_turn = Some(turn);
        Talk::start("amp", &["-x", "go"], &path, &options)
    };
    let mut talk = start(2);
    assert_eq!(talk.json()["result"], "two");
    assert_eq!(talk.exit(), 3);
    let mut talk = start(3);
    assert_eq!(talk.exit(), 2);
    assert!(talk.errors().contains("turn 3: the recording has only 2"));
}

#[test]
fn a_process_that_is_started_anew_goes_on_with_the_next_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = transcript("claude/2.1.325/stream-input-two-turns");
    let mut options = ReplayOptions::default();
    options.state_file = Some(folder.path().join("state"));
    let mut turns = Vec::new();
    for _ in 0..2 {
        let words = ["--print", "--input-format", "stream-json"];
        let mut talk = Talk::start("claude", &words, &path, &options);
        talk.say(r#"{"type":"user","message":{"role":"user","content":"go"}}"#);
        let mut texts = Vec::new();
        loop {
            let line = talk.json();
            if line["type"] == "result" {
                break;
            }
            if let Some(text) = line["message"]["content"][0]["text"].as_str().filter(|_| line["type"] == "assistant") {
                texts.push(text.to_owned());
            }
        }
        talk.close();
        assert_eq!(talk.exit(), 0);
        turns.push(texts);
    }
    assert!(!turns[0].is_empty() && !turns[1].is_empty() && turns[0] != turns[1], "{turns:?}");
}

//! Recordings with several processes.

use interlingua_replay::ReplayOptions;

use crate::stand_in::{StandIn, find_recording, write_recording};

fn amp_turn(text: &str, code: i32) -> Vec<String> {
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
    let records = [amp_turn("one", 0), amp_turn("two", 0)].concat();
    let path = write_recording(folder.path(), "turns", "amp", &records.iter().map(String::as_str).collect::<Vec<_>>());
    let mut options = ReplayOptions::default();
    options.state_file = Some(folder.path().join("state"));
    let arguments = ["threads", "continue", "T-00000000000000ff", "-x", "go"];
    for text in ["one", "two"] {
        let mut stand_in = StandIn::start("amp", &arguments, &path, &options);
        let line = stand_in.read_json();
        assert_eq!((&line["result"], &line["session_id"]), (&text.into(), &"T-00000000000000ff".into()));
        assert_eq!(stand_in.wait(), 0);
    }
    let mut stand_in = StandIn::start("amp", &arguments, &path, &options);
    assert_eq!(stand_in.wait(), 2);
    assert!(stand_in.read_stderr().contains("the whole recording was played"));
}

#[test]
fn the_recordings_of_a_folder_are_played_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("1-first", "one"), ("2-second", "two")] {
        write_recording(folder.path(), name, "amp", &amp_turn(text, 0).iter().map(String::as_str).collect::<Vec<_>>());
    }
    write_recording(folder.path(), "0-other", "claude", &[]);
    let state = tempfile::tempdir().unwrap();
    let mut options = ReplayOptions::default();
    options.state_file = Some(state.path().join("state"));
    for text in ["one", "two"] {
        let mut stand_in = StandIn::start("amp", &["-x", "go"], folder.path(), &options);
        assert_eq!(stand_in.read_json()["result"], text);
        // The position is saved at the exit.
        assert_eq!(stand_in.wait(), 0);
    }
    let mut stand_in = StandIn::start("codex", &["app-server"], folder.path(), &options);
    assert_eq!(stand_in.wait(), 2);
    assert!(stand_in.read_stderr().contains("this folder has no recording of codex app-server"));
}

#[test]
fn a_replay_can_start_at_any_turn() {
    let folder = tempfile::tempdir().unwrap();
    let records = [amp_turn("one", 0), amp_turn("two", 3)].concat();
    let path = write_recording(folder.path(), "turns", "amp", &records.iter().map(String::as_str).collect::<Vec<_>>());
    let start = |turn| {
        let mut options = ReplayOptions::default();
        options.start_turn = Some(turn);
        StandIn::start("amp", &["-x", "go"], &path, &options)
    };
    let mut stand_in = start(2);
    assert_eq!(stand_in.read_json()["result"], "two");
    assert_eq!(stand_in.wait(), 3);
    let mut stand_in = start(3);
    assert_eq!(stand_in.wait(), 2);
    assert!(stand_in.read_stderr().contains("turn 3: the recording has only 2"));
}

#[test]
fn a_restarted_process_continues_with_the_next_turn() {
    let folder = tempfile::tempdir().unwrap();
    let path = find_recording("claude/2.1.325/stream-input-two-turns");
    let mut options = ReplayOptions::default();
    options.state_file = Some(folder.path().join("state"));
    let mut turns = Vec::new();
    for _ in 0..2 {
        let arguments = ["--print", "--input-format", "stream-json"];
        let mut stand_in = StandIn::start("claude", &arguments, &path, &options);
        stand_in.send(r#"{"type":"user","message":{"role":"user","content":"go"}}"#);
        let mut texts = Vec::new();
        loop {
            let line = stand_in.read_json();
            if line["type"] == "result" {
                break;
            }
            if let Some(text) = line["message"]["content"][0]["text"].as_str().filter(|_| line["type"] == "assistant") {
                texts.push(text.to_owned());
            }
        }
        stand_in.close_input();
        assert_eq!(stand_in.wait(), 0);
        turns.push(texts);
    }
    assert!(!turns[0].is_empty() && !turns[1].is_empty() && turns[0] != turns[1], "{turns:?}");
}

//! As recorded, and step by step.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use interlingua_replay::{ReplayOptions, Speed};

use crate::talk::{Talk, recording, transcript};

#[test]
fn recorded_speed_keeps_the_pauses() {
    let folder = tempfile::tempdir().unwrap();
    let records = [
        r#"{"t":0,"dir":"recv","line":"a"}"#,
        r#"{"t":300,"dir":"recv","line":"b"}"#,
        r#"{"t":301,"dir":"exit","code":0}"#,
    ];
    let path = recording(folder.path(), "slow", "amp", &records);
    let mut options = ReplayOptions::default();
    options.speed = Speed::Recorded;
    let mut talk = Talk::start("amp", &["-x", "go"], &path, &options);
    assert_eq!(talk.line(), "a");
    let since = Instant::now();
    assert_eq!(talk.line(), "b");
    // Reading the first line may itself have taken a while.
    assert!(since.elapsed() > Duration::from_millis(100), "{:?}", since.elapsed());
}

/// The step socket of a stand-in, as soon as there is one.
fn connect(talk: &mut Talk, path: &Path) -> UnixStream {
    loop {
        if let Ok(stream) = UnixStream::connect(path) {
            return stream;
        }
        assert_eq!(talk.child.try_wait().unwrap(), None, "{}", talk.errors());
        std::thread::yield_now();
    }
}

#[test]
fn a_step_plays_a_line_and_tells_which_or_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let records = [
        r#"{"t":0,"dir":"send","line":"{\"id\":1,\"method\":\"initialize\"}"}"#,
        r#"{"t":1,"dir":"recv","line":"{\"id\":1,\"result\":{}}"}"#,
        r#"{"t":2,"dir":"recv","line":"{\"method\":\"x\"}"}"#,
    ];
    let path = recording(folder.path(), "steps", "codex", &records);
    let socket = folder.path().join("socket");
    let mut options = ReplayOptions::default();
    options.speed = Speed::Step;
    options.step_socket = Some(socket.clone());
    let mut talk = Talk::start("codex", &["app-server"], &path, &options);
    let mut steps = connect(&mut talk, &socket);
    let mut reports = BufReader::new(steps.try_clone().unwrap()).lines();
    let mut report = || reports.next().unwrap().unwrap();

    writeln!(steps).unwrap();
    assert_eq!(report(), "waiting 1");
    talk.say(r#"{"id":1,"method":"initialize"}"#);
    assert_eq!(report(), "recv 2");
    assert_eq!(talk.line(), r#"{"id":1,"result":{}}"#);
    writeln!(steps).unwrap();
    assert_eq!(report(), "recv 3");
    assert_eq!(talk.line(), r#"{"method":"x"}"#);
    writeln!(steps).unwrap();
    assert_eq!(report(), "over 0");
}

#[test]
fn amp_ends_its_turn_when_it_is_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let mut options = ReplayOptions::default();
    options.speed = Speed::Step;
    options.step_socket = Some(socket.clone());
    let path = transcript("amp/0.0.1790142911-g7618fb/text");
    let mut talk = Talk::start("amp", &["--no-ide", "-x", "say hello", "--stream-json"], &path, &options);
    writeln!(connect(&mut talk, &socket)).unwrap();
    let session = talk.json()["session_id"].clone();
    // No further line has been asked for, so only the interrupt can bring one.
    talk.signal(rustix::process::Signal::INT);
    let result = talk.json();
    assert_eq!((&result["subtype"], &result["session_id"]), (&"error_during_execution".into(), &session));
    assert_eq!(talk.rest(), "");
    assert_eq!(talk.exit(), 0);
}

//! Recorded speed and single steps.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use interlingua_replay::{ReplayOptions, Speed};

use crate::stand_in::{StandIn, find_recording, write_recording};

#[test]
fn recorded_speed_keeps_the_pauses() {
    let folder = tempfile::tempdir().unwrap();
    let records = [
        r#"{"t":0,"dir":"recv","line":"a"}"#,
        r#"{"t":300,"dir":"recv","line":"b"}"#,
        r#"{"t":301,"dir":"exit","code":0}"#,
    ];
    let path = write_recording(folder.path(), "slow", "amp", &records);
    let mut options = ReplayOptions::default();
    options.speed = Speed::Recorded;
    let mut stand_in = StandIn::start("amp", &["-x", "go"], &path, &options);
    assert_eq!(stand_in.read_line(), "a");
    let since = Instant::now();
    assert_eq!(stand_in.read_line(), "b");
    // Less than the recorded pause, because reading the first line takes time as well.
    assert!(since.elapsed() > Duration::from_millis(100), "{:?}", since.elapsed());
}

/// Connects to the step socket of a stand-in as soon as it exists.
fn connect(stand_in: &mut StandIn, path: &Path) -> UnixStream {
    loop {
        if let Ok(stream) = UnixStream::connect(path) {
            return stream;
        }
        assert_eq!(stand_in.child.try_wait().unwrap(), None, "{}", stand_in.read_stderr());
        std::thread::yield_now();
    }
}

#[test]
fn a_step_plays_a_line_and_reports_it_or_what_it_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    let records = [
        r#"{"t":0,"dir":"send","line":"{\"id\":1,\"method\":\"initialize\"}"}"#,
        r#"{"t":1,"dir":"recv","line":"{\"id\":1,\"result\":{}}"}"#,
        r#"{"t":2,"dir":"recv","line":"{\"method\":\"x\"}"}"#,
    ];
    let path = write_recording(folder.path(), "steps", "codex", &records);
    let socket = folder.path().join("socket");
    let mut options = ReplayOptions::default();
    options.speed = Speed::Step;
    options.step_socket = Some(socket.clone());
    let mut stand_in = StandIn::start("codex", &["app-server"], &path, &options);
    let mut steps = connect(&mut stand_in, &socket);
    let mut reports = BufReader::new(steps.try_clone().unwrap()).lines();
    let mut report = || reports.next().unwrap().unwrap();

    writeln!(steps).unwrap();
    assert_eq!(report(), "waiting 1");
    stand_in.send(r#"{"id":1,"method":"initialize"}"#);
    assert_eq!(report(), "recv 2");
    assert_eq!(stand_in.read_line(), r#"{"id":1,"result":{}}"#);
    writeln!(steps).unwrap();
    assert_eq!(report(), "recv 3");
    assert_eq!(stand_in.read_line(), r#"{"method":"x"}"#);
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
    let path = find_recording("amp/0.0.1790142911-g7618fb/text");
    let mut stand_in = StandIn::start("amp", &["--no-ide", "-x", "say hello", "--stream-json"], &path, &options);
    writeln!(connect(&mut stand_in, &socket)).unwrap();
    let session = stand_in.read_json()["session_id"].clone();
    // No further step was requested, so only the interrupt can cause a line.
    stand_in.signal(rustix::process::Signal::INT);
    let result = stand_in.read_json();
    assert_eq!((&result["subtype"], &result["session_id"]), (&"error_during_execution".into(), &session));
    assert_eq!(stand_in.read_to_end(), "");
    assert_eq!(stand_in.wait(), 0);
}

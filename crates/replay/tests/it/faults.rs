//! Each fault has its effect, after the given number of lines.

use std::path::Path;

use interlingua_replay::ReplayOptions;
use rustix::process::Signal;

use crate::stand_in::{StandIn, write_recording};

const RECORDS: &[&str] = &[
    r#"{"t":0,"dir":"close"}"#,
    r#"{"t":1,"dir":"recv","line":"{\"n\":1}"}"#,
    r#"{"t":2,"dir":"recv","line":"{\"n\":2}"}"#,
    r#"{"t":3,"dir":"recv","line":"{\"n\":3}"}"#,
    r#"{"t":4,"dir":"exit","code":0}"#,
];

fn start(folder: &Path, faults: &[&str]) -> StandIn {
    let path = write_recording(folder, "three", "amp", RECORDS);
    let mut options = ReplayOptions::default();
    options.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    StandIn::start("amp", &["-x", "go"], &path, &options)
}

#[test]
fn without_a_fault_the_recording_is_played_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &[]);
    assert_eq!(stand_in.read_to_end(), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    assert_eq!(stand_in.wait(), 0);
}

#[test]
fn die_after_exits_with_the_code_after_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["die-after=2:7"]);
    assert_eq!(stand_in.read_to_end(), "{\"n\":1}\n{\"n\":2}\n");
    assert_eq!(stand_in.wait(), 7);
}

#[test]
fn die_after_with_a_negative_code_dies_of_the_signal() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["die-after=1:-9"]);
    assert_eq!(stand_in.read_to_end(), "{\"n\":1}\n");
    assert_eq!(stand_in.wait(), -9);
}

#[test]
fn exit_at_start_writes_nothing_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["exit-at-start:3"]);
    assert_eq!(stand_in.read_to_end(), "");
    assert_eq!(stand_in.wait(), 3);
    assert!(stand_in.read_stderr().contains("exit-at-start"));
}

#[test]
fn hang_after_writes_nothing_until_it_is_terminated() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["hang-after=1"]);
    assert_eq!(stand_in.read_line(), r#"{"n":1}"#);
    stand_in.close_input();
    assert_eq!(stand_in.child.try_wait().unwrap(), None);
    stand_in.signal(Signal::TERM);
    assert_eq!(stand_in.read_to_end(), "");
    assert_eq!(stand_in.wait(), 143);
}

#[test]
fn a_hanging_process_that_ignores_signals_must_be_killed() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_recording(folder.path(), "three", "amp", RECORDS);
    let journal = folder.path().join("journal");
    let faults = vec!["hang-after=1:deaf".parse().unwrap()];
    let mut options = ReplayOptions::default();
    options.faults = faults;
    options.journal_file = Some(journal.clone());
    let mut stand_in = StandIn::start("amp", &["-x", "go"], &path, &options);
    assert_eq!(stand_in.read_line(), r#"{"n":1}"#);
    stand_in.signal(Signal::TERM);
    while !std::fs::read_to_string(&journal).unwrap().contains("ignored a signal") {
        assert_eq!(stand_in.child.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    stand_in.signal(Signal::KILL);
    assert_eq!(stand_in.read_to_end(), "");
    assert_eq!(stand_in.wait(), -9);
}

#[test]
fn garbage_after_inserts_a_line_that_is_not_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["garbage-after=1"]);
    assert_eq!(stand_in.read_line(), r#"{"n":1}"#);
    let garbage = stand_in.read_line();
    assert!(serde_json::from_str::<serde_json::Value>(&garbage).is_err(), "{garbage}");
    assert_eq!(stand_in.read_to_end(), "{\"n\":2}\n{\"n\":3}\n");
    assert_eq!(stand_in.wait(), 0);
}

#[test]
fn long_line_after_inserts_a_line_of_that_length() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["long-line-after=0:100000"]);
    let line = stand_in.read_line();
    assert_eq!(line.len(), 100_000);
    assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    assert_eq!(stand_in.read_to_end().lines().count(), 3);
}

#[test]
fn a_long_line_has_fifty_mebibytes_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["long-line-after=3"]);
    (0..3).for_each(|_| drop(stand_in.read_line()));
    assert_eq!(stand_in.read_bytes().len(), (50 << 20) + 1);
    assert_eq!(stand_in.wait(), 0);
}

#[test]
fn invalid_utf8_after_inserts_a_line_that_is_not_utf8() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["invalid-utf8-after=2"]);
    (0..2).for_each(|_| drop(stand_in.read_line()));
    let line = stand_in.read_bytes();
    assert!(line.ends_with(b"\n") && String::from_utf8(line).is_err());
    assert_eq!(stand_in.read_to_end(), "{\"n\":3}\n");
}

#[test]
fn half_line_after_exits_in_the_middle_of_the_next_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["half-line-after=1:4"]);
    assert_eq!(stand_in.read_to_end(), "{\"n\":1}\n{\"n\"");
    assert_eq!(stand_in.wait(), 4);
}

#[test]
fn several_faults_are_injected_in_the_order_of_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let mut stand_in = start(folder.path(), &["die-after=2:5", "garbage-after=0"]);
    assert!(stand_in.read_line().starts_with("%%"));
    assert_eq!(stand_in.read_to_end(), "{\"n\":1}\n{\"n\":2}\n");
    assert_eq!(stand_in.wait(), 5);
}

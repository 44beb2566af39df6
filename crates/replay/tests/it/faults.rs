//! Each fault does what it says, after the line that it says.

use std::path::Path;

use interlingua_replay::ReplayOptions;
use rustix::process::Signal;

use crate::talk::{Talk, recording};

const RECORDS: &[&str] = &[
    r#"{"t":0,"dir":"close"}"#,
    r#"{"t":1,"dir":"recv","line":"{\"n\":1}"}"#,
    r#"{"t":2,"dir":"recv","line":"{\"n\":2}"}"#,
    r#"{"t":3,"dir":"recv","line":"{\"n\":3}"}"#,
    r#"{"t":4,"dir":"exit","code":0}"#,
];

fn start(folder: &Path, faults: &[&str]) -> Talk {
    let path = recording(folder, "three", "amp", RECORDS);
    let mut options = ReplayOptions::default();
    options.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    Talk::start("amp", &["-x", "go"], &path, &options)
}

#[test]
fn without_a_fault_all_is_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &[]);
    assert_eq!(talk.rest(), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    assert_eq!(talk.exit(), 0);
}

#[test]
fn die_after_leaves_with_the_code_after_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["die-after=2:7"]);
    assert_eq!(talk.rest(), "{\"n\":1}\n{\"n\":2}\n");
    assert_eq!(talk.exit(), 7);
}

#[test]
fn die_after_with_a_negative_code_dies_of_the_signal() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["die-after=1:-9"]);
    assert_eq!(talk.rest(), "{\"n\":1}\n");
    assert_eq!(talk.exit(), -9);
}

#[test]
fn exit_at_start_says_nothing_on_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["exit-at-start:3"]);
    assert_eq!(talk.rest(), "");
    assert_eq!(talk.exit(), 3);
    assert!(talk.errors().contains("exit-at-start"));
}

#[test]
fn hang_after_is_silent_until_it_is_terminated() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["hang-after=1"]);
    assert_eq!(talk.line(), r#"{"n":1}"#);
    talk.close();
    assert_eq!(talk.child.try_wait().unwrap(), None);
    talk.signal(Signal::TERM);
    assert_eq!(talk.rest(), "");
    assert_eq!(talk.exit(), 143);
}

#[test]
fn a_deaf_one_only_ends_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path(), "three", "amp", RECORDS);
    let journal = folder.path().join("journal");
    let faults = vec!["hang-after=1:deaf".parse().unwrap()];
    let mut options = ReplayOptions::default();
    options.faults = faults;
    options.journal_file = Some(journal.clone());
    let mut talk = Talk::start("amp", &["-x", "go"], &path, &options);
    assert_eq!(talk.line(), r#"{"n":1}"#);
    talk.signal(Signal::TERM);
    while !std::fs::read_to_string(&journal).unwrap().contains("deaf to a signal") {
        assert_eq!(talk.child.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    talk.signal(Signal::KILL);
    assert_eq!(talk.rest(), "");
    assert_eq!(talk.exit(), -9);
}

#[test]
fn garbage_after_says_something_that_is_not_json_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["garbage-after=1"]);
    assert_eq!(talk.line(), r#"{"n":1}"#);
    let garbage = talk.line();
    assert!(serde_json::from_str::<serde_json::Value>(&garbage).is_err(), "{garbage}");
    assert_eq!(talk.rest(), "{\"n\":2}\n{\"n\":3}\n");
    assert_eq!(talk.exit(), 0);
}

#[test]
fn long_line_after_says_a_line_of_that_length() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["long-line-after=0:100000"]);
    let line = talk.line();
    assert_eq!(line.len(), 100_000);
    assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    assert_eq!(talk.rest().lines().count(), 3);
}

#[test]
fn a_long_line_has_fifty_megabytes_unless_said_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["long-line-after=3"]);
    (0..3).for_each(|_| drop(talk.line()));
    assert_eq!(talk.bytes().len(), (50 << 20) + 1);
    assert_eq!(talk.exit(), 0);
}

#[test]
fn invalid_utf8_after_says_a_line_that_is_not_utf8_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["invalid-utf8-after=2"]);
    (0..2).for_each(|_| drop(talk.line()));
    let line = talk.bytes();
    assert!(line.ends_with(b"\n") && String::from_utf8(line).is_err());
    assert_eq!(talk.rest(), "{\"n\":3}\n");
}

#[test]
fn half_line_after_stops_in_the_middle_of_the_next_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["half-line-after=1:4"]);
    assert_eq!(talk.rest(), "{\"n\":1}\n{\"n\"");
    assert_eq!(talk.exit(), 4);
}

#[test]
fn several_faults_come_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut talk = start(folder.path(), &["die-after=2:5", "garbage-after=0"]);
    assert!(talk.line().starts_with("%%"));
    assert_eq!(talk.rest(), "{\"n\":1}\n{\"n\":2}\n");
    assert_eq!(talk.exit(), 5);
}

//! Ctrl-C during `interlingua run`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Starts a turn whose answer has eight deltas, with a pause before each.
fn start_slow_turn() -> Child {
    Command::new(env!("CARGO_BIN_EXE_interlingua"))
        .args(["run", "mock", "markdown", "--mock-pace", "300", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn ctrl_c_interrupts_the_turn_and_shows_how_it_ends() {
    let mut child = start_slow_turn();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &String| !event.contains("# A heading")) {
        events.push(output.next().expect("the turn ended before its answer started"));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    events.extend(output);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    crate::server_process::check_rules(&events);
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["data"]["status"]), (&"turn.ended".into(), &"interrupted".into()));
}

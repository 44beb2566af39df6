//! A scenario that fails says where, and keeps no other from being played; one that is not the same twice is found out.
//!
//! The agent is a script that speaks as much of Claude Code's protocol as that takes.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// It says hello and ends each turn at once, but breaks down when it is told to. Told to waver, it first says one of two
/// things that have nothing to do with each other, and once there is a recording of that, first the other.
const AGENT: &str = r#"#!/bin/sh
while read -r line; do
    case "$line" in
        *initialize*) echo '{"type":"control_response","response":{"subtype":"success","request_id":"host-1"}}' ;;
        *"Break down"*)
            echo '{"type":"system","subtype":"init","session_id":"s"}'
            echo 'I cannot go on.' >&2
            exit 3 ;;
        *Waver*)
            set -- '{"type":"system","subtype":"task_started","task_id":"t","description":"Look","session_id":"s"}' \
                '{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"Well."}]},"session_id":"s"}'
            if [ -e "${0%/*}/transcripts" ]; then set -- "$2" "$1"; fi
            printf '%s\n' '{"type":"system","subtype":"init","session_id":"s"}' "$@" '{"type":"result","subtype":"success","session_id":"s"}' ;;
        *) echo '{"type":"result","subtype":"success","session_id":"s"}' ;;
    esac
done
"#;

/// Records these scenarios (name, what the user says) with the agent; `None` where no namespace can be made.
fn record(folder: &Path, scenarios: &[(&str, &str)]) -> Option<Output> {
    let (agent, kept) = (folder.join("agent"), folder.join("scenarios"));
    fs::write(&agent, AGENT).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(&kept).unwrap();
    for (name, user) in scenarios {
        let text = format!("about = \"x\"\n[[turn]]\nuser = \"{user}\"\nmodel = []\n");
        fs::write(kept.join(format!("{name}.toml")), text).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_interlingua-record"))
        .arg("--agent")
        .arg(format!("claude@1.0.0={}", agent.display()))
        .arg("--scenarios")
        .arg(kept)
        .arg("--transcripts")
        .arg(folder.join("transcripts"))
        .output()
        .unwrap();
    let refused = output.status.code() == Some(2)
        && String::from_utf8_lossy(&output.stderr).contains("recording needs a Linux that lets you make");
    if refused {
        eprintln!("nothing is tested: {}", String::from_utf8_lossy(&output.stderr));
    }
    (!refused).then_some(output)
}

#[test]
fn a_scenario_that_fails_says_where_and_the_others_are_played() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = [("first", "Say hello"), ("second", "Break down"), ("third", "Say goodbye")];
    let Some(output) = record(folder.path(), &scenarios) else { return };
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let table = "scenario  claude@1.0.0\nfirst     new\nsecond    FAILED\nthird     new\n";
    assert!(told.starts_with(table), "{told}");
    let failure = "claude second failed in turn 1, waiting for its end: the agent ended by itself\n  \
                   the agent last said:\n    \
                   {\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"host-1\"}}\n    \
                   {\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n  \
                   its standard error ends:\n    I cannot go on.\n";
    assert!(told.ends_with(failure), "{told}");
    let kept = |name: &str| folder.path().join(format!("transcripts/recorded/claude/1.0.0/{name}.jsonl")).is_file();
    assert_eq!(["first", "second", "third"].map(kept), [true, false, true]);
}

#[test]
fn a_recording_of_the_same_form_that_becomes_another_stream_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = [("wavers", "Waver a little")];
    let Some(first) = record(folder.path(), &scenarios) else { return };
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let file = folder.path().join("transcripts/recorded/claude/1.0.0/wavers.jsonl");
    let kept = fs::read(&file).unwrap();
    let second = record(folder.path(), &scenarios).unwrap();
    let told = String::from_utf8(second.stdout).unwrap();
    assert_eq!(second.status.code(), Some(1), "{told}");
    assert!(told.starts_with("scenario  claude@1.0.0\nwavers    UNSTEADY\n"), "{told}");
    assert!(told.contains("claude wavers has the same form, but another stream: session 1, entry "), "{told}");
    assert_eq!(fs::read(&file).unwrap(), kept);
}

#[test]
fn all_that_can_be_played_is_a_success() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = record(folder.path(), &[("first", "Say hello")]) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

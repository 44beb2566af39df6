//! A failing scenario is reported with its step and does not stop the others; an unstable scenario is detected.
//!
//! The agent is a shell script that implements as much of Claude Code's protocol as these tests need.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// Ends each turn at once. On "Break down" it exits with an error. On "Waver" it sends two independent messages, and
/// swaps them if there is a recording already.
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

/// Records these scenarios (name and prompt) with the agent; `None` if this machine does not allow namespaces.
fn record(folder: &Path, scenarios: &[(&str, &str)]) -> Option<Output> {
    let (agent, scenario_folder) = (folder.join("agent"), folder.join("scenarios"));
    fs::write(&agent, AGENT).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(&scenario_folder).unwrap();
    for (name, prompt) in scenarios {
        let text = format!("about = \"x\"\n[[turn]]\nuser = \"{prompt}\"\nmodel = []\n");
        fs::write(scenario_folder.join(format!("{name}.toml")), text).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_interlingua-record"))
        .arg("--agent")
        .arg(format!("claude@1.0.0={}", agent.display()))
        .arg("--scenarios")
        .arg(scenario_folder)
        .arg("--transcripts")
        .arg(folder.join("transcripts"))
        .output()
        .unwrap();
    let is_unsupported = output.status.code() == Some(2)
        && String::from_utf8_lossy(&output.stderr).contains("this needs Linux with permission to create");
    if is_unsupported {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
    }
    (!is_unsupported).then_some(output)
}

#[test]
fn a_failing_scenario_is_reported_with_its_step_and_the_others_are_played() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = [("first", "Say hello"), ("second", "Break down"), ("third", "Say goodbye")];
    let Some(output) = record(folder.path(), &scenarios) else { return };
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stdout}\n{}", String::from_utf8_lossy(&output.stderr));
    let table = "scenario  claude@1.0.0\nfirst     new\nsecond    FAILED\nthird     new\n";
    assert!(stdout.starts_with(table), "{stdout}");
    let failure = "claude second failed in turn 1, waiting for its end: the agent exited unexpectedly\n  \
                   last lines from the agent:\n    \
                   {\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"host-1\"}}\n    \
                   {\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n  \
                   end of its standard error:\n    I cannot go on.\n";
    assert!(stdout.ends_with(failure), "{stdout}");
    let exists = |name: &str| folder.path().join(format!("transcripts/recorded/claude/1.0.0/{name}.jsonl")).is_file();
    assert_eq!(["first", "second", "third"].map(exists), [true, false, true]);
}

#[test]
fn a_recording_with_the_same_normal_form_but_a_different_stream_is_unstable() {
    let folder = tempfile::tempdir().unwrap();
    let scenarios = [("wavers", "Waver a little")];
    let Some(first) = record(folder.path(), &scenarios) else { return };
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let file = folder.path().join("transcripts/recorded/claude/1.0.0/wavers.jsonl");
    let kept = fs::read(&file).unwrap();
    let second = record(folder.path(), &scenarios).unwrap();
    let stdout = String::from_utf8(second.stdout).unwrap();
    assert_eq!(second.status.code(), Some(1), "{stdout}");
    assert!(stdout.starts_with("scenario  claude@1.0.0\nwavers    UNSTABLE\n"), "{stdout}");
    assert!(
        stdout.contains("claude wavers has the same normal form, but a different stream: session 1, entry "),
        "{stdout}"
    );
    assert_eq!(fs::read(&file).unwrap(), kept);
}

#[test]
fn without_failures_the_exit_code_is_zero() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = record(folder.path(), &[("first", "Say hello")]) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

//! Hosts that differ from the recorded one.

use interlingua_replay::ReplayOptions;
use rustix::process::Signal;
use serde_json::json;

use crate::stand_in::{StandIn, command, find_recording};

const STREAM_JSON: &[&str] =
    &["--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];

#[test]
fn without_a_recording_the_error_names_the_variable_to_set() {
    let mut stand_in = StandIn::spawn(command("claude", &["--print", "hi"]));
    assert_eq!(stand_in.wait(), 2);
    let stderr = stand_in.read_stderr();
    assert!(stderr.contains("no recording: set INTERLINGUA_REPLAY"), "{stderr}");
}

#[test]
fn a_recording_of_another_agent_is_rejected() {
    let path = find_recording("codex/0.166.0/exec_basic");
    let mut stand_in = StandIn::start("claude", &[], &path, &ReplayOptions::default());
    assert_eq!(stand_in.wait(), 2);
    assert!(stand_in.read_stderr().contains("expected a recording of claude, found one of codex app-server"));
    let mut stand_in = StandIn::start("codex", &["exec", "--json", "hi"], &path, &ReplayOptions::default());
    assert_eq!(stand_in.wait(), 2);
    assert!(stand_in.read_stderr().contains("expected a recording of codex exec"));
}

#[test]
fn version_and_help_are_printed_as_the_agent_prints_them() {
    for (agent, name, version) in [
        ("claude", "claude/2.1.325/text", "2.1.325 (Claude Code)"),
        ("codex", "codex/0.166.0/exec_basic", "codex-cli 0.166.0"),
        ("opencode", "opencode/1.18.33/bash_tool", "1.18.33"),
        ("amp", "amp/0.0.1790142911-g7618fb/text", "0.0.1790142911-g7618fb"),
    ] {
        let mut stand_in = StandIn::start(agent, &["--version"], &find_recording(name), &ReplayOptions::default());
        assert_eq!(stand_in.read_to_end().trim_end(), version);
        assert_eq!(stand_in.wait(), 0);
        let mut stand_in = StandIn::start(agent, &["--help"], &find_recording(name), &ReplayOptions::default());
        assert!(stand_in.read_to_end().starts_with(&format!("Usage: {agent}")));
    }
    let mut stand_in = StandIn::start(
        "amp",
        &["--help"],
        &find_recording("amp/0.0.1790142911-g7618fb/text"),
        &ReplayOptions::default(),
    );
    let help = stand_in.read_to_end();
    assert!(["--execute", "--stream-json", "--no-ide"].iter().all(|flag| help.contains(flag)), "{help}");
}

#[test]
fn a_one_shot_recording_plays_to_a_host_that_sends_its_prompt_over_stdin() {
    let path = find_recording("claude/2.1.325/text");
    let mut stand_in = StandIn::start("claude", STREAM_JSON, &path, &ReplayOptions::default());
    stand_in.send(r#"{"type":"control_request","request_id":"r1","request":{"subtype":"initialize"}}"#);
    assert_eq!(stand_in.read_json()["response"]["request_id"], "r1");
    stand_in.send(r#"{"type":"user","message":{"role":"user","content":"anything"}}"#);
    assert_eq!(stand_in.read_json()["subtype"], "init");
    assert_eq!(stand_in.read_json()["type"], "assistant");
    assert_eq!(stand_in.read_json()["type"], "result");
    assert_eq!(stand_in.child.try_wait().unwrap(), None);
    stand_in.close_input();
    assert_eq!(stand_in.wait(), 0);
}

#[test]
fn a_session_id_of_the_command_line_replaces_the_recorded_one() {
    let path = find_recording("claude/2.1.325/perm-allow");
    let id = "01234567-89ab-4cde-8f01-23456789abcd";
    let arguments = [STREAM_JSON, &["--resume", id]].concat();
    let mut stand_in = StandIn::start("claude", &arguments, &path, &ReplayOptions::default());
    stand_in.send(r#"{"type":"user","message":{"role":"user","content":"go"}}"#);
    assert_eq!(stand_in.read_json()["session_id"], id);
}

#[test]
fn the_stand_in_waits_for_a_permission_answer_and_accepts_any() {
    let path = find_recording("claude/2.1.325/perm-allow");
    let mut stand_in = StandIn::start("claude", STREAM_JSON, &path, &ReplayOptions::default());
    stand_in.send(r#"{"type":"user","message":{"role":"user","content":"go"}}"#);
    let request = loop {
        let line = stand_in.read_json();
        if line["type"] == "control_request" {
            break line["request_id"].clone();
        }
    };
    let deny = json!({"behavior": "deny", "message": "no"});
    let answer = json!({"subtype": "success", "request_id": request, "response": deny});
    stand_in.send(&json!({"type": "control_response", "response": answer}).to_string());
    assert_eq!(stand_in.read_json()["type"], "user");
    stand_in.close_input();
    assert!(stand_in.read_to_end().contains(r#""type":"result""#));
    assert_eq!(stand_in.wait(), 0);
}

#[test]
fn sigterm_ends_the_process() {
    let mut stand_in = StandIn::start(
        "codex",
        &["app-server"],
        &find_recording("codex/0.166.0/exec_basic"),
        &ReplayOptions::default(),
    );
    stand_in.send(r#"{"id":1,"method":"initialize"}"#);
    stand_in.read_line();
    stand_in.signal(Signal::TERM);
    assert_eq!(stand_in.wait(), 143);
}

#[test]
fn the_journal_contains_messages_and_reactions() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut options = ReplayOptions::default();
    options.journal_file = Some(journal.clone());
    let mut stand_in = StandIn::start("codex", &["app-server"], &find_recording("codex/0.166.0/exec_basic"), &options);
    stand_in.send(r#"{"id":1,"method":"initialize"}"#);
    stand_in.read_line();
    stand_in.send(r#"{"id":2,"method":"no/such"}"#);
    while stand_in.read_json()["error"]["code"] != -32600 {}
    let journal = std::fs::read_to_string(journal).unwrap();
    assert!(journal.contains("host: request initialize\nreceived step 1\n"), "{journal}");
    assert!(journal.contains("sent synthetic"), "{journal}");
}

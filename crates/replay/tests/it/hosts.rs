//! Hosts that are not the recorded one.

use interlingua_replay::ReplayOptions;
use rustix::process::Signal;
use serde_json::json;

use crate::talk::{Talk, command, transcript};

const TALKING: &[&str] = &["--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];

#[test]
fn without_a_recording_it_says_what_to_set() {
    let mut talk = Talk::of(command("claude", &["--print", "hi"]));
    assert_eq!(talk.exit(), 2);
    let errors = talk.errors();
    assert!(errors.contains("no recording: set INTERLINGUA_REPLAY"), "{errors}");
}

#[test]
fn a_recording_of_another_agent_is_refused() {
    let path = transcript("codex/0.166.0/exec_basic");
    let mut talk = Talk::start("claude", &[], &path, &ReplayOptions::default());
    assert_eq!(talk.exit(), 2);
    assert!(talk.errors().contains("expected a recording of claude, found one of codex app-server"));
    let mut talk = Talk::start("codex", &["exec", "--json", "hi"], &path, &ReplayOptions::default());
    assert_eq!(talk.exit(), 2);
    assert!(talk.errors().contains("expected a recording of codex exec"));
}

#[test]
fn probes_are_answered_as_the_agent_does() {
    for (agent, name, version) in [
        ("claude", "claude/2.1.325/text", "2.1.325 (Claude Code)"),
        ("codex", "codex/0.166.0/exec_basic", "codex-cli 0.166.0"),
        ("opencode", "opencode/1.18.33/bash_tool", "1.18.33"),
        ("amp", "amp/0.0.1790142911-g7618fb/text", "0.0.1790142911-g7618fb"),
    ] {
        let mut talk = Talk::start(agent, &["--version"], &transcript(name), &ReplayOptions::default());
        assert_eq!(talk.rest().trim_end(), version);
        assert_eq!(talk.exit(), 0);
        let mut talk = Talk::start(agent, &["--help"], &transcript(name), &ReplayOptions::default());
        assert!(talk.rest().starts_with(&format!("Usage: {agent}")));
    }
    let mut talk =
        Talk::start("amp", &["--help"], &transcript("amp/0.0.1790142911-g7618fb/text"), &ReplayOptions::default());
    let help = talk.rest();
    assert!(["--execute", "--stream-json", "--no-ide"].iter().all(|flag| help.contains(flag)), "{help}");
}

#[test]
fn a_one_shot_recording_plays_to_a_host_that_talks() {
    let path = transcript("claude/2.1.325/text");
    let mut talk = Talk::start("claude", TALKING, &path, &ReplayOptions::default());
    talk.say(r#"{"type":"control_request","request_id":"r1","request":{"subtype":"initialize"}}"#);
    assert_eq!(talk.json()["response"]["request_id"], "r1");
    talk.say(r#"{"type":"user","message":{"role":"user","content":"anything"}}"#);
    assert_eq!(talk.json()["subtype"], "init");
    assert_eq!(talk.json()["type"], "assistant");
    assert_eq!(talk.json()["type"], "result");
    assert_eq!(talk.child.try_wait().unwrap(), None);
    talk.close();
    assert_eq!(talk.exit(), 0);
}

#[test]
fn a_session_is_called_as_the_command_line_calls_it() {
    let path = transcript("claude/2.1.325/perm-allow");
    let id = "01234567-89ab-4cde-8f01-23456789abcd";
    let words = [TALKING, &["--resume", id]].concat();
    let mut talk = Talk::start("claude", &words, &path, &ReplayOptions::default());
    talk.say(r#"{"type":"user","message":{"role":"user","content":"go"}}"#);
    assert_eq!(talk.json()["session_id"], id);
}

#[test]
fn a_permission_is_waited_for_and_any_answer_will_do() {
    let path = transcript("claude/2.1.325/perm-allow");
    let mut talk = Talk::start("claude", TALKING, &path, &ReplayOptions::default());
    talk.say(r#"{"type":"user","message":{"role":"user","content":"go"}}"#);
    let request = loop {
        let line = talk.json();
        if line["type"] == "control_request" {
            break line["request_id"].clone();
        }
    };
    let deny = json!({"behavior": "deny", "message": "no"});
    let answer = json!({"subtype": "success", "request_id": request, "response": deny});
    talk.say(&json!({"type": "control_response", "response": answer}).to_string());
    assert_eq!(talk.json()["type"], "user");
    talk.close();
    assert!(talk.rest().contains(r#""type":"result""#));
    assert_eq!(talk.exit(), 0);
}

#[test]
fn a_termination_ends_it() {
    let mut talk =
        Talk::start("codex", &["app-server"], &transcript("codex/0.166.0/exec_basic"), &ReplayOptions::default());
    talk.say(r#"{"id":1,"method":"initialize"}"#);
    talk.line();
    talk.signal(Signal::TERM);
    assert_eq!(talk.exit(), 143);
}

#[test]
fn a_journal_tells_what_was_made_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal");
    let mut options = ReplayOptions::default();
    options.journal_file = Some(journal.clone());
    let mut talk = Talk::start("codex", &["app-server"], &transcript("codex/0.166.0/exec_basic"), &options);
    talk.say(r#"{"id":1,"method":"initialize"}"#);
    talk.line();
    talk.say(r#"{"id":2,"method":"no/such"}"#);
    while talk.json()["error"]["code"] != -32600 {}
    let journal = std::fs::read_to_string(journal).unwrap();
    assert!(journal.contains("host: request initialize\nheard step 1\n"), "{journal}");
    assert!(journal.contains("improvised"), "{journal}");
}

//! `interlingua history` and `interlingua usage`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tempfile::TempDir;

const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// A home with one session of Claude Code.
pub(crate) fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join(".claude/projects/-workspace");
    fs::create_dir_all(&project).unwrap();
    let file = project.join(format!("{SESSION}.jsonl"));
    fs::write(&file, lines()).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().append(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    home
}

fn lines() -> String {
    let line = |uuid: &str, parent: &str, kind: &str, message: &str| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{message},"uuid":"{uuid}","timestamp":"2026-11-18T01:00:0{}.000Z","cwd":"/workspace","sessionId":"{SESSION}","version":"2.1.326"}}"#,
            &uuid[1..],
        )
    };
    let prompt = line("u1", "null", "user", r#"{"role":"user","content":"What is six times seven?"}"#);
    let answer = r#"{"id":"msg_1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"42"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":3}}"#;
    prompt + "\n" + &line("u2", "\"u1\"", "assistant", answer) + "\n"
}

fn run(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
    command.args(arguments).env("HOME", home);
    for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"] {
        command.env_remove(variable);
    }
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_session_on_disk_is_listed_and_shown() {
    let home = home();
    let list = stdout(&run(home.path(), &["history", "list"]));
    assert!(list.contains(SESSION) && list.contains("What is six times seven?"), "{list}");
    let json: Value = serde_json::from_str(&stdout(&run(home.path(), &["history", "list", "--json"]))).unwrap();
    assert_eq!((json["agent"].as_str(), json["directory"].as_str()), (Some("claude"), Some("/workspace")));
    let shown = stdout(&run(home.path(), &["history", "show", "0a1b"]));
    assert!(shown.contains("What is six times seven?") && shown.contains("42"), "{shown}");
    let missing = run(home.path(), &["history", "show", "ffff"]);
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn a_session_on_disk_is_converted_to_valid_events() {
    let home = home();
    let file = home.path().join(format!(".claude/projects/-workspace/{SESSION}.jsonl"));
    let converted = stdout(&run(home.path(), &["convert", file.to_str().unwrap()]));
    assert_eq!(converted, stdout(&run(home.path(), &["history", "convert", home.path().to_str().unwrap()])));
    let events = home.path().join("events.jsonl");
    fs::write(&events, converted).unwrap();
    stdout(&run(home.path(), &["check", events.to_str().unwrap()]));
}

#[test]
fn a_damaged_file_is_reported_and_the_exit_code_is_1() {
    let home = home();
    let file = home.path().join(format!(".claude/projects/-workspace/{SESSION}.jsonl"));
    fs::write(&file, lines() + "{\"type\":\"user\"").unwrap();
    let output = run(home.path(), &["history", "convert", "0a1b"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(".jsonl:3: expected a complete line"), "{stderr}");
}

#[test]
fn an_import_is_idempotent() {
    let home = home();
    let data = home.path().join("data");
    let import = ["history", "import", "--all", "--data-dir", data.to_str().unwrap()];
    let first = stdout(&run(home.path(), &import));
    assert!(first.contains("imported"), "{first}");
    let second = stdout(&run(home.path(), &import));
    assert!(second.contains("unchanged"), "{second}");
    assert_eq!(run(home.path(), &["history", "import"]).status.code(), Some(2));
}

#[test]
fn usage_is_summed_up() {
    let home = home();
    let json: Value = serde_json::from_str(&stdout(&run(home.path(), &["usage", "--by", "model", "--json"]))).unwrap();
    assert_eq!(json["group"], "claude-x");
    assert_eq!((json["usage"]["input_tokens"].as_u64(), json["usage"]["output_tokens"].as_u64()), (Some(15), Some(3)));
    let table = stdout(&run(home.path(), &["usage", "--by", "day"]));
    assert!(table.contains("2026-11-18"), "{table}");
}

#[test]
fn a_file_without_a_session_is_refused_with_the_reason() {
    let home = home();
    let write = |name: &str, text: &str| {
        let path = home.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let prompts = write("history.jsonl", "{\"session_id\":\"0a1b\",\"ts\":1,\"text\":\"fix the test\"}\n");
    let item = r#"{"timestamp":"2026-11-18T01:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#;
    let rollout = write("rollout.jsonl", &format!("{item}\n"));
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{},"isSnapshotUpdate":false}"#;
    let session = write("session.jsonl", &format!("{snapshot}\n{}", lines()));
    for (arguments, reason) in [
        (vec!["convert", &prompts], "the list of prompts that Codex keeps"),
        (vec!["convert", "--agent", "codex", &prompts], "the list of prompts that Codex keeps"),
        (
            vec!["convert", "--strict", &rollout],
            "its first line, with the id of the session (`session_meta`), is missing",
        ),
        (vec!["show", &rollout], "`session_meta`"),
        (vec!["history", "convert", &rollout], "`session_meta`"),
        (vec!["convert", "--agent", "claude", &session], "without --agent"),
    ] {
        let output = run(home.path(), &arguments);
        let stderr = String::from_utf8(output.stderr.clone()).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?} {output:?}");
        assert!(stderr.contains(reason), "{arguments:?} {stderr}");
    }
}

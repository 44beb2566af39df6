//! `cargo xtask drift` on files and folders: its report and its exit code.

use std::path::Path;
use std::process::{Command, Output};

const OLD: &str = r#"{"definitions": {"A": {"properties": {"gone": {"type": "integer"}}}}}"#;
const NEW: &str = r#"{"definitions": {"A": {"properties": {"new": {"type": "string"}}}}}"#;

fn drift(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).current_dir(folder).arg("drift").args(arguments).output().unwrap()
}

fn folder_with_two_states() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (state, text) in [("old", OLD), ("new", NEW)] {
        let codex = folder.path().join(state).join("codex");
        std::fs::create_dir_all(&codex).unwrap();
        std::fs::write(codex.join("schema.json"), text).unwrap();
        std::fs::write(codex.join("exec.schema.json"), text).unwrap();
    }
    std::fs::write(folder.path().join("broken.json"), "{").unwrap();
    std::fs::write(folder.path().join("empty.json"), "{}").unwrap();
    folder
}

#[test]
fn files_folders_of_an_agent_and_folders_of_agents_can_be_compared() {
    let folder = folder_with_two_states();
    let output = drift(folder.path(), &["old/codex/schema.json", "new/codex/schema.json"]);
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "schema changes of codex: 1 breaking, 1 additive, 0 cosmetic\n\
         breaking:\n  A.gone: field removed (was integer)\n\
         additive:\n  A.new: optional field added: string\n"
    );
    let agent_report = drift(folder.path(), &["old/codex", "new/codex"]).stdout;
    assert!(String::from_utf8(agent_report.clone()).unwrap().contains("  exec::A.gone: field removed (was integer)\n"));
    assert_eq!(drift(folder.path(), &["old", "new"]).stdout, agent_report);
}

#[test]
fn the_exit_code_is_zero_unless_fail_on_is_given() {
    let folder = folder_with_two_states();
    let code = |arguments: &[&str]| drift(folder.path(), arguments).status.code();
    assert_eq!(code(&["old", "new"]), Some(0));
    assert_eq!(code(&["old", "new", "--fail-on", "breaking"]), Some(1));
    assert_eq!(code(&["new", "new", "--fail-on", "cosmetic"]), Some(0));
}

#[test]
fn the_error_names_the_path_that_cannot_be_compared() {
    let folder = folder_with_two_states();
    for (old, expected) in [
        ("broken.json", "error: broken.json is not JSON: EOF while parsing"),
        ("empty.json", "error: empty.json defines no types"),
        ("nowhere", "error: cannot read nowhere: No such file"),
        ("old", "error: cannot compare old with new/codex: one is a folder of all agents, the other is not"),
    ] {
        let output = drift(folder.path(), &[old, "new/codex"]);
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with(expected), "{stderr}");
    }
}

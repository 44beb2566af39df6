//! The envelope streams of some recordings of each agent, as `interlingua convert --envelope` writes them, under
//! `snapshots/envelope/`. Review with `cargo insta review`.

use std::path::Path;

use interlingua_convert::Agent;
use interlingua_snapshots::{Recording, recordings};

use crate::projected::Projected;

/// Which recordings: something of everything that the envelope tells.
const CHOSEN: [(Agent, &[&str]); 4] = [
    (
        Agent::Claude,
        &[
            "text",
            "partial-thinking-text",
            "bash-allowed",
            "files-accept-edits",
            "perm-deny",
            "ask-user-question",
            "subagent",
            "interrupt-while-streaming",
            "killed-sigkill",
            "settings-hooks-events",
        ],
    ),
    (
        Agent::Codex,
        &[
            "text_deltas",
            "exec_basic",
            "apply_patch",
            "mcp_elicit_approve",
            "approve_exec",
            "error_401",
            "two_threads",
            "interrupt_stream",
        ],
    ),
    (
        Agent::OpenCode,
        &[
            "reasoning",
            "bash_tool",
            "permission_edit_diff",
            "question_reply",
            "task_subagent",
            "error_429_retry",
            "two_sessions",
        ],
    ),
    (Agent::Amp, &["text", "thinking-shown", "shell-command", "file-tools", "mcp", "no-api-key", "image-input"]),
];

/// The newest recording of a scenario: versions sort as text here, which the folder names allow.
fn newest(all: &[Recording], agent: Agent, scenario: &str) -> Recording {
    let found = all.iter().filter(|recording| recording.agent == agent && recording.scenario == scenario);
    found.max().unwrap_or_else(|| panic!("{agent} has no recording {scenario}")).clone()
}

#[test]
fn the_envelope_of_some_recordings_is_their_snapshot() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected/envelope");
    let all = recordings().unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(&root);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut known = Vec::new();
    for (agent, scenarios) in CHOSEN {
        for scenario in scenarios {
            let name = format!("{agent}_{scenario}");
            let lines: Vec<String> = Projected::of(newest(&all, agent, scenario)).lines().collect();
            settings.bind(|| insta::assert_snapshot!(name.clone(), lines.join("\n")));
            known.push(root.join(format!("{name}.snap")));
        }
    }
    for file in std::fs::read_dir(&root).unwrap() {
        let file = file.unwrap().path();
        let is_snapshot = file.extension().is_some_and(|extension| extension == "snap");
        assert!(!is_snapshot || known.contains(&file), "{} has no recording", file.display());
    }
}

//! The envelope streams of some recordings of each agent, as snapshots in `expected/envelope/`. Review with `cargo insta
//! review`.

use interlingua_convert::Agent;
use interlingua_snapshots::render_envelope;

use super::projected::{Projected, all};
use crate::{expected, snapshots_in};

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
fn newest(agent: Agent, scenario: &str) -> &'static Projected {
    let found = all().iter().filter(|found| found.recording.agent == agent && found.recording.scenario == scenario);
    found.max_by_key(|projected| projected.recording).unwrap_or_else(|| panic!("{agent} has no recording {scenario}"))
}

#[test]
fn the_envelope_of_some_recordings_is_their_snapshot() {
    let settings = snapshots_in("envelope");
    let root = expected().join("envelope");
    let mut known = Vec::new();
    for (agent, scenarios) in CHOSEN {
        for scenario in scenarios {
            let name = format!("{agent}_{scenario}");
            let stream = render_envelope(newest(agent, scenario).lines()).unwrap();
            settings.bind(|| insta::assert_snapshot!(name.clone(), stream));
            known.push(root.join(format!("{name}.snap")));
        }
    }
    for file in std::fs::read_dir(&root).unwrap() {
        let file = file.unwrap().path();
        let is_snapshot = file.extension().is_some_and(|extension| extension == "snap");
        assert!(!is_snapshot || known.contains(&file), "{} has no recording", file.display());
    }
}

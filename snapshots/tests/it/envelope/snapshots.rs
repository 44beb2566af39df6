//! Snapshots of the envelope streams of some recordings of each agent, in `expected/envelope/`. Review changes with
//! `cargo insta review`.

use interlingua_convert::Agent;
use interlingua_snapshots::render_envelope;

use super::projected::{ProjectedRecording, projected_recordings};
use crate::{expected, snapshots_in};

/// The scenarios. Together they contain every kind of envelope event.
const SCENARIOS: [(Agent, &[&str]); 5] = [
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
    (Agent::Acp, &["tool_allowed", "tool_rejected", "file_edit", "model_error_400", "cancel_streaming"]),
    (Agent::Amp, &["text", "thinking-shown", "shell-command", "file-tools", "mcp", "no-api-key", "image-input"]),
];

/// The newest recording of a scenario.
fn newest_recording(agent: Agent, scenario: &str) -> &'static ProjectedRecording {
    let found = projected_recordings()
        .iter()
        .filter(|found| found.recording.agent == agent && found.recording.scenario == scenario);
    found
        .max_by_key(|projected| {
            let recording = projected.recording;
            // That of an agent that speaks the Agent Client Protocol begins with its name.
            let name = recording.version.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
            (name, recording.version_numbers(), recording)
        })
        .unwrap_or_else(|| panic!("there is no recording of {scenario} with {agent}"))
}

#[test]
fn envelope_streams_match_their_snapshots() {
    let settings = snapshots_in("envelope");
    let root = expected().join("envelope");
    let mut expected_files = Vec::new();
    for (agent, scenarios) in SCENARIOS {
        for scenario in scenarios {
            let name = format!("{agent}_{scenario}");
            let stream = render_envelope(newest_recording(agent, scenario).lines()).unwrap();
            settings.bind(|| insta::assert_snapshot!(name.clone(), stream));
            expected_files.push(root.join(format!("{name}.snap")));
        }
    }
    for file in std::fs::read_dir(&root).unwrap() {
        let file = file.unwrap().path();
        let is_snapshot = file.extension().is_some_and(|extension| extension == "snap");
        assert!(
            !is_snapshot || expected_files.contains(&file),
            "{} belongs to no recording; delete it",
            file.display()
        );
    }
}

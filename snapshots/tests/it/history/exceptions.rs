//! What the formats force: differences between a wire and the history of the same run, each with its reason.

use super::trace::Line;

/// A difference that no reader can remove.
pub(super) struct FormatException {
    /// Pairs that it applies to: the start of their names, `agent/version/scenario`.
    pub(super) pairs: &'static [&'static str],
    /// Why the history cannot show what the wire shows, or the other way round.
    pub(super) reason: &'static str,
    /// Removes the difference from both traces. Changes nothing if they do not differ in this.
    pub(super) apply: fn(wire: &mut Vec<Line>, history: &mut Vec<Line>),
}

/// All exceptions. Each must be needed by a committed pair.
pub(super) const EXCEPTIONS: &[FormatException] = &[
    FormatException {
        pairs: &["claude/"],
        reason: "a session file does not say that the process was killed",
        apply: drop_errors_of_the_wire,
    },
    FormatException {
        pairs: &["claude/1.", "claude/2.0"],
        reason: "the wire of these versions has no structured results, the session file has",
        apply: ignore_exit_codes,
    },
    FormatException {
        pairs: &["claude/"],
        reason: "the wire has the texts of sub-agents only on request",
        apply: drop_texts_of_sub_agents,
    },
    FormatException {
        pairs: &["claude/", "codex/"],
        reason: "an answer that was cut off while it streamed is not stored",
        apply: drop_cut_answers,
    },
    FormatException {
        pairs: &["codex/"],
        reason: "errors of requests and of processes are not stored, and up to 0.130 those of turns neither",
        apply: drop_errors_of_the_wire,
    },
    FormatException {
        pairs: &["codex/0.98.0/", "codex/0.130.0/"],
        reason: "the wire has only the last piece of a command's output, the rollout has all of it",
        apply: take_complete_output,
    },
    FormatException {
        pairs: &["codex/0.98.0/", "codex/0.130.0/"],
        reason: "the wire ends a command some time after the model has its output, even in the next turn",
        apply: move_results_to_calls,
    },
    FormatException {
        pairs: &["codex/0.98.0/", "codex/0.130.0/"],
        reason: "a rollout without items does not say which files a command reads",
        apply: ignore_files,
    },
    FormatException {
        pairs: &["codex/0.130.0/collab"],
        reason: "the call of a sub-agent has no reasoning effort in a rollout without items",
        apply: ignore_effort,
    },
    FormatException {
        pairs: &["codex/0.155.0/exec_json", "codex/0.166.0/exec_json", "codex/0.169.0/exec_json"],
        reason: "`codex exec --json` has other ids and names for items, and its changes have no diff",
        apply: ignore_names,
    },
    FormatException {
        pairs: &["opencode/"],
        reason: "errors of the host's requests are not stored",
        apply: drop_errors_of_the_wire,
    },
    FormatException {
        pairs: &["claude/", "codex/", "opencode/"],
        reason: "the order of what ran at the same time is only known to the millisecond",
        apply: ignore_order_in_turns,
    },
];

fn drop_errors_of_the_wire(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    wire.retain(|line| line.kind != "error" || history.contains(line));
}

fn ignore_exit_codes(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    for line in history.iter_mut().filter(|line| line.exit_code.is_some()) {
        if wire.iter().any(|wire| wire.kind == line.kind && wire.call == line.call && wire.exit_code.is_none()) {
            line.exit_code = None;
        }
    }
}

fn drop_texts_of_sub_agents(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    history.retain(|line| !line.is_sub_agent || line.kind != "message/assistant" || wire.contains(line));
}

fn drop_cut_answers(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    let is_cut = |line: &Line| {
        line.status == "failed"
            && matches!(line.kind.as_str(), "message/assistant" | "tool_call")
            && !history.contains(line)
    };
    let cut_calls: Vec<String> =
        wire.iter().filter(|line| is_cut(line) && line.kind == "tool_call").map(|line| line.call.clone()).collect();
    wire.retain(|line| !is_cut(line) && (line.call.is_empty() || !cut_calls.contains(&line.call)));
}

fn take_complete_output(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    for line in wire.iter_mut().filter(|line| line.kind == "tool_result") {
        let complete = history.iter().find(|history| history.kind == line.kind && history.call == line.call);
        if let Some(complete) = complete.filter(|complete| complete.text.ends_with(&line.text)) {
            line.text.clone_from(&complete.text);
        }
    }
}

fn move_results_to_calls(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    if wire == history {
        return;
    }
    for lines in [wire, history] {
        let (results, mut others): (Vec<Line>, Vec<Line>) =
            std::mem::take(lines).into_iter().partition(|line| line.kind == "tool_result");
        for result in results {
            let call = others.iter().position(|line| line.kind == "tool_call" && line.call == result.call);
            others.insert(call.map_or(others.len(), |call| call + 1), result);
        }
        *lines = others;
    }
}

fn ignore_files(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    let is_file = |part: &String| part.contains("\"file_ref\"");
    for line in wire.iter_mut().filter(|line| line.kind == "tool_result") {
        if history.iter().any(|history| history.call == line.call && !history.parts.iter().any(is_file)) {
            line.parts.retain(|part| !is_file(part));
        }
    }
}

fn ignore_effort(wire: &mut Vec<Line>, _: &mut Vec<Line>) {
    for line in wire {
        line.text = line.text.replace(",\"reasoning_effort\":\"medium\"", "");
    }
}

fn ignore_names(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    for line in wire.iter_mut().chain(history).filter(|line| !line.call.is_empty()) {
        "call".clone_into(&mut line.call);
        line.parts.clear();
        if line.kind == "tool_call" {
            line.text.clear();
        }
    }
}

fn ignore_order_in_turns(wire: &mut Vec<Line>, history: &mut Vec<Line>) {
    if wire != history {
        for lines in [wire, history] {
            *lines = turns(lines)
                .into_iter()
                .flat_map(|turn| {
                    let mut turn = turn.to_vec();
                    turn.sort();
                    turn
                })
                .collect();
        }
    }
}

/// The lines of each turn, from its start to the start of the next.
fn turns(lines: &[Line]) -> Vec<&[Line]> {
    let mut turns = Vec::new();
    let mut start = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.kind == "turn.started" && index > start {
            turns.push(&lines[start..index]);
            start = index;
        }
    }
    turns.push(&lines[start..]);
    turns
}

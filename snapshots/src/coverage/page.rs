//! The page for a reader: the matrix of agents and features.

use std::fmt::Write as _;

use interlingua_agents::Agent;
use interlingua_convert::coverage::{Feature, cannot};

use super::{COMMAND, Coverage};
use crate::uniformity::EXCEPTIONS;

pub(super) fn page(coverage: &Coverage) -> String {
    let mut text = format!(
        "<!-- Written by `{COMMAND}`; nobody edits it. -->\n\n\
         # What each agent's stream shows\n\n\
         A ✓ stands only where one of the {} recordings proves it, and names that recording: it is in\n\
         `snapshots/transcripts/<agent>/`, and what it becomes in `snapshots/expected/<agent>/`. What the API and the envelope\n\
         say an agent can do comes from the same data (`interlingua_convert::coverage`).\n\n",
        coverage.recordings
    );
    row(&mut text, "Feature", |agent| agent.descriptor().display_name.to_owned());
    row(&mut text, "---", |_| "---".to_owned());
    for &feature in Feature::ALL {
        row(&mut text, feature.title(), |agent| cell(coverage, agent, feature));
    }
    text.push_str(
        "\nAn empty cell says why: what the agent cannot do, or *no recording*, where it might but nobody has recorded it.\n\n\
         ## What no recording can show\n\n\
         Declared by hand, in `crates/agents/src/descriptor.rs`.\n\n",
    );
    row(&mut text, "", |agent| agent.descriptor().display_name.to_owned());
    row(&mut text, "---", |_| "---".to_owned());
    row(&mut text, "Stability", |agent| agent.descriptor().stability.title().to_owned());
    row(&mut text, "Variants of models", |agent| yes(agent.descriptor().has_model_variants));
    row(&mut text, "One process for all sessions", |agent| yes(agent.descriptor().process_model.is_shared()));
    uniformity(&mut text, coverage);
    text.push_str("\n## What the rows mean\n\n");
    for &feature in Feature::ALL {
        let _ = writeln!(text, "* **{}**: {}", feature.title(), feature.meaning());
    }
    text
}

/// How alike the same scenario is with every agent, and why it is not where it is not.
fn uniformity(text: &mut String, coverage: &Coverage) {
    text.push_str(
        "\n## The same scenario with every agent\n\n\
         The scenarios that are recorded with Claude Code, Codex and OpenCode, compared by value: in how many of them the data is\n\
         the same, and in how many an agent does not say something.\n\n",
    );
    text.push_str(&coverage.uniformity());
    text.push('\n');
    for exception in EXCEPTIONS {
        let scenarios: Vec<String> = exception.scenarios.iter().map(|scenario| format!("`{scenario}`")).collect();
        let (agent, aspect) = (exception.agent.descriptor().display_name, exception.aspect.title());
        let _ = writeln!(text, "* {agent}, {aspect}: {} ({})", exception.why, scenarios.join(", "));
    }
}

fn row(text: &mut String, name: &str, cell: impl Fn(Agent) -> String) {
    let cells: Vec<String> = Agent::ALL.into_iter().map(cell).collect();
    let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
}

fn cell(coverage: &Coverage, agent: Agent, feature: Feature) -> String {
    if let Some(recording) = coverage.proof(agent, feature) {
        // The column names the agent already.
        let recording = recording.split_once('/').map_or(recording, |(_, rest)| rest);
        return format!("✓ `{recording}`");
    }
    cannot(agent, feature).map_or_else(|| "*no recording*".to_owned(), str::to_owned)
}

fn yes(is: bool) -> String {
    if is { "✓" } else { "no" }.to_owned()
}

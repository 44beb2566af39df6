//! The page of capabilities, from the recordings that prove them.

use std::fmt::Write as _;

use interlingua_convert::Agent;
use interlingua_envelope::{AgentWrapperKind, Capability, capabilities};

/// What is said of a page that does not fit the recordings any more.
pub(super) const OUT_OF_DATE: &str = "docs/envelope-capabilities.md is out of date; write it again with\n    cargo run -p interlingua-envelope --example write-capabilities";

/// The page.
pub(super) fn page() -> String {
    let mut page = String::from(
        "<!-- Written by `cargo run -p interlingua-envelope --example write-capabilities`; nobody edits it. -->

# What the envelope is advertised for

An agent has a capability only where a recording proves it. The table names that recording: it is
`snapshots/transcripts/<agent>/<version>/<scenario>.jsonl`. In Rust it is `interlingua_envelope::capabilities`.

",
    );
    let kinds = Agent::ALL.map(|agent| format!("`{}`", AgentWrapperKind::from(agent)));
    let _ = writeln!(page, "| capability | rests on | {} |", kinds.join(" | "));
    let _ = writeln!(page, "|---|---|{}", "---|".repeat(kinds.len()));
    for capability in Capability::ALL {
        let cells = Agent::ALL.map(|agent| {
            let proof = capabilities(agent).get(&capability).copied();
            proof.map_or_else(|| "*no recording*".to_owned(), |proof| format!("✓ `{}`", within_agent(proof)))
        });
        let _ = writeln!(page, "| `{capability}` | {} | {} |", capability.rests_on().title(), cells.join(" | "));
    }
    page
}

/// A recording's name without its agent, which the column says.
fn within_agent(recording: &str) -> &str {
    recording.split_once('/').map_or(recording, |(_, rest)| rest)
}

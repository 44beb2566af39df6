//! What the recordings prove: for each agent and feature, the recording that shows it.
//!
//! Behind `cargo xtask coverage`, which writes two files of it: the page for a reader, and the table that
//! `interlingua_convert::coverage` answers from.

mod page;
mod shown;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use interlingua_convert::Agent;
use interlingua_convert::coverage::Feature;
use interlingua_schema::{EventData, TurnStatus, UniversalEvent};

use crate::uniformity::{self, Comparison};
use crate::{convert, recordings};

pub use shown::shown;

/// The command that brings the files up to date.
pub const COMMAND: &str = "cargo xtask coverage";

/// A file that is made of the coverage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its path below the repository's root.
    pub path: &'static str,
    /// What it should hold.
    pub text: String,
}

impl Made {
    /// Where it is on this machine.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(self.path)
    }

    /// Whether the file holds just that.
    #[must_use]
    pub fn is_current(&self) -> bool {
        std::fs::read_to_string(self.place()).is_ok_and(|text| text == self.text)
    }
}

/// Which recording proves what.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    proofs: BTreeMap<(Agent, Feature), String>,
    recordings: usize,
    comparisons: Vec<Comparison>,
}

/// A recording that shows something; the least one is the best proof.
///
/// The pinned version comes before others and a newer version before an older one; a session that went well before one
/// in which something failed; then what shows the least besides, because it is the most to the point; then the name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    is_other_version: bool,
    version: Reverse<Vec<u64>>,
    has_failures: bool,
    shows: usize,
    name: String,
}

impl Coverage {
    /// Converts every recording and looks what it shows.
    ///
    /// # Errors
    /// When a recording cannot be read.
    pub fn of_recordings() -> io::Result<Self> {
        let recordings = recordings()?;
        let mut best: BTreeMap<(Agent, Feature), Candidate> = BTreeMap::new();
        for recording in &recordings {
            let events = convert(recording)?.events;
            let features = shown(&events);
            let has_failures = has_failures(&events);
            let schemas = interlingua_agent_schemas::find(recording.agent.id());
            let is_pinned = schemas.is_some_and(|schemas| schemas.agent_version == recording.version);
            for feature in &features {
                let candidate = Candidate {
                    is_other_version: !is_pinned,
                    version: Reverse(recording.version_numbers()),
                    has_failures,
                    shows: features.len(),
                    name: recording.name(),
                };
                let place = (recording.agent, *feature);
                if best.get(&place).is_none_or(|known| candidate < *known) {
                    best.insert(place, candidate);
                }
            }
        }
        let proofs = best.into_iter().map(|(place, candidate)| (place, candidate.name)).collect();
        Ok(Self { proofs, recordings: recordings.len(), comparisons: uniformity::compare()? })
    }

    /// The recording that proves it.
    #[must_use]
    pub fn proof(&self, agent: Agent, feature: Feature) -> Option<&str> {
        self.proofs.get(&(agent, feature)).map(String::as_str)
    }

    /// How alike the same scenario is with every agent, as a table.
    #[must_use]
    pub fn uniformity(&self) -> String {
        uniformity::table(&self.comparisons)
    }

    /// The files that are made of it.
    #[must_use]
    pub fn files(&self) -> [Made; 2] {
        [
            Made { path: "docs/coverage.md", text: page::page(self) },
            Made { path: "crates/convert/src/coverage/proven.rs", text: self.table() },
        ]
    }

    /// The table as Rust. It names agents and features by their ids, so that it compiles whatever features there are.
    fn table(&self) -> String {
        let mut text = format!(
            "//! Written by `{COMMAND}`; nobody edits it. Agent, feature, and the recording that proves it.\n\n\
             pub(super) const PROVEN: &[(&str, &str, &str)] = &[\n"
        );
        for ((agent, feature), recording) in &self.proofs {
            let _ = writeln!(text, "    (\"{agent}\", \"{}\", \"{recording}\"),", feature.id());
        }
        text.push_str("];\n");
        text
    }
}

/// Whether something failed, or a turn did not come to its end.
fn has_failures(events: &[UniversalEvent]) -> bool {
    let count = |is: fn(&EventData) -> bool| events.iter().filter(|event| is(&event.data)).count();
    let begun = count(|data| matches!(data, EventData::TurnStarted(_)));
    let completed = count(|data| matches!(data, EventData::TurnEnded(turn) if turn.status == TurnStatus::Completed));
    begun != completed || count(|data| matches!(data, EventData::Error(_) | EventData::AgentUnparsed(_))) > 0
}

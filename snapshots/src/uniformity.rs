//! Compares the data of the same scenario across agents. A client should not be able to tell the agents apart.
//!
//! Every scenario that is recorded with all compared agents is compared aspect by aspect. Data that the scenario
//! determines is compared by value: titles, inputs, outputs, permissions, questions, statuses. Data that each agent
//! chooses (ids, times, error messages, names of tools and models) is not compared. A difference is either listed as a
//! [`UniformityException`], which says what the agent does not report, or it is a bug.

mod aspects;
mod exceptions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use interlingua_convert::Agent;

use crate::{Corpus, CorpusEntry};

pub use aspects::{Aspect, collect_aspects, find_optional_keys};
pub use exceptions::{EXCEPTIONS, OPTIONAL_KEYS, OptionalKey, UniformityException};

/// The agents that are compared: those whose model can be scripted, so that the scenarios can be recorded with them.
/// Each is compared in its newest recorded version.
pub static COMPARED_AGENTS: LazyLock<Vec<Agent>> =
    LazyLock::new(|| Agent::ALL.into_iter().filter(|agent| agent.descriptor().has_custom_model).collect());

/// One aspect of one scenario, for each agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The scenario.
    pub scenario: String,
    /// The compared aspect.
    pub aspect: Aspect,
    /// The data of each agent, one line per value.
    pub lines: BTreeMap<Agent, Vec<String>>,
}

impl Comparison {
    /// Whether the lines of all agents are equal.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.lines.values().collect::<BTreeSet<_>>().len() <= 1
    }

    /// Whether the lines of all agents without an exception are equal.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.without_exceptions().collect::<BTreeSet<_>>().len() <= 1
    }

    /// Whether the lines of `agent` differ from those of the agents without an exception.
    #[must_use]
    pub fn differs(&self, agent: Agent) -> bool {
        let own = self.lines.get(&agent);
        self.without_exceptions().any(|lines| Some(lines) != own)
    }

    fn without_exceptions(&self) -> impl Iterator<Item = &Vec<String>> {
        let has_exception = |agent: Agent| EXCEPTIONS.iter().any(|exception| exception.covers(agent, self));
        self.lines.iter().filter(move |(agent, _)| !has_exception(**agent)).map(|(_, lines)| lines)
    }
}

/// Compares every aspect of every scenario that is recorded with all of [`COMPARED_AGENTS`].
#[must_use]
pub fn compare(corpus: &Corpus) -> Vec<Comparison> {
    let mut scenarios: BTreeMap<&str, BTreeMap<Agent, &CorpusEntry>> = BTreeMap::new();
    for &agent in &*COMPARED_AGENTS {
        let of_agent = corpus.entries().iter().filter(|entry| entry.recording.agent == agent);
        let newest = of_agent.clone().map(|entry| entry.recording.version_numbers()).max();
        for entry in of_agent.filter(|entry| Some(entry.recording.version_numbers()) == newest) {
            scenarios.entry(&entry.recording.scenario).or_default().insert(agent, entry);
        }
    }
    scenarios.retain(|_, entries| entries.len() == COMPARED_AGENTS.len());
    let mut comparisons = Vec::new();
    for (scenario, entries) in scenarios {
        let mut aspects: BTreeMap<Aspect, BTreeMap<Agent, Vec<String>>> = BTreeMap::new();
        for (agent, entry) in entries {
            let mut found = collect_aspects(&entry.converted.events);
            for &aspect in Aspect::ALL {
                aspects.entry(aspect).or_default().insert(agent, found.remove(&aspect).unwrap_or_default());
            }
        }
        let compared =
            aspects.into_iter().map(|(aspect, lines)| Comparison { scenario: scenario.to_owned(), aspect, lines });
        comparisons.extend(compared);
    }
    comparisons
}

/// Renders a Markdown table: for each aspect, the number of scenarios in which it is the same with every agent.
#[must_use]
pub fn render_table(comparisons: &[Comparison]) -> String {
    let scenarios: BTreeSet<&str> = comparisons.iter().map(|comparison| comparison.scenario.as_str()).collect();
    let mut text = format!(
        "| {} scenarios | occurs in | same | listed exceptions | different |\n|---|---|---|---|---|\n",
        scenarios.len()
    );
    for &aspect in Aspect::ALL {
        let of_aspect = comparisons.iter().filter(|comparison| comparison.aspect == aspect);
        let (mut occurs, mut same, mut excepted, mut different) = (0, 0, 0, 0);
        for comparison in of_aspect.filter(|comparison| comparison.lines.values().any(|lines| !lines.is_empty())) {
            occurs += 1;
            match (comparison.is_uniform(), comparison.is_explained()) {
                (true, _) => same += 1,
                (false, true) => excepted += 1,
                (false, false) => different += 1,
            }
        }
        let _ = writeln!(text, "| {} | {occurs} | {same} | {excepted} | {different} |", aspect.title());
    }
    text
}

//! Whether a client can tell the agents apart: the same scenario, played by different agents, has the same data.
//!
//! Every scenario that is recorded with all compared agents is looked at aspect by aspect. What the scenario fixes is
//! compared by value: titles, inputs, outputs, permissions, questions, statuses. What is an agent's own (ids, times, its
//! words for an error, the names of its tools and models) is not. A difference is an [`Exception`], which says what the
//! agent truly does not tell, or a fault.

mod aspects;
mod exceptions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::LazyLock;

use interlingua_convert::Agent;

use crate::{Corpus, CorpusEntry};

pub use aspects::{Aspect, lines, optional_keys};
pub use exceptions::{EXCEPTIONS, Exception, OPTIONAL_KEYS, OptionalKey};

/// The agents that are compared, each in the newest version that is recorded: those that can play the scenarios.
pub static COMPARED: LazyLock<Vec<Agent>> =
    LazyLock::new(|| Agent::ALL.into_iter().filter(|agent| agent.descriptor().has_custom_model).collect());

/// What one aspect of one scenario looks like with each agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The scenario.
    pub scenario: String,
    /// What is compared.
    pub aspect: Aspect,
    /// What each agent shows, a line for each piece of data.
    pub shown: BTreeMap<Agent, Vec<String>>,
}

impl Comparison {
    /// Whether all agents show the same.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.shown.values().collect::<BTreeSet<_>>().len() <= 1
    }

    /// Whether the agents without an exception show the same.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.without_exceptions().collect::<BTreeSet<_>>().len() <= 1
    }

    /// Whether `agent` shows something else than the agents without an exception.
    #[must_use]
    pub fn differs(&self, agent: Agent) -> bool {
        let own = self.shown.get(&agent);
        self.without_exceptions().any(|lines| Some(lines) != own)
    }

    fn without_exceptions(&self) -> impl Iterator<Item = &Vec<String>> {
        let is_excepted = |agent: Agent| EXCEPTIONS.iter().any(|exception| exception.covers(agent, self));
        self.shown.iter().filter(move |(agent, _)| !is_excepted(**agent)).map(|(_, lines)| lines)
    }
}

/// Compares every aspect of every scenario that is recorded with all compared agents.
#[must_use]
pub fn compare(corpus: &Corpus) -> Vec<Comparison> {
    let mut scenarios: BTreeMap<&str, BTreeMap<Agent, &CorpusEntry>> = BTreeMap::new();
    for &agent in &*COMPARED {
        let of_agent = corpus.entries().iter().filter(|entry| entry.recording.agent == agent);
        let newest = of_agent.clone().map(|entry| entry.recording.version_numbers()).max();
        for entry in of_agent.filter(|entry| Some(entry.recording.version_numbers()) == newest) {
            scenarios.entry(&entry.recording.scenario).or_default().insert(agent, entry);
        }
    }
    scenarios.retain(|_, entries| entries.len() == COMPARED.len());
    let mut comparisons = Vec::new();
    for (scenario, entries) in scenarios {
        let mut shown: BTreeMap<Aspect, BTreeMap<Agent, Vec<String>>> = BTreeMap::new();
        for (agent, entry) in entries {
            let mut found = lines(&entry.converted.events);
            for &aspect in Aspect::ALL {
                shown.entry(aspect).or_default().insert(agent, found.remove(&aspect).unwrap_or_default());
            }
        }
        let compared =
            shown.into_iter().map(|(aspect, shown)| Comparison { scenario: scenario.to_owned(), aspect, shown });
        comparisons.extend(compared);
    }
    comparisons
}

/// The table for a reader: for each aspect, in how many scenarios it is the same with every agent.
#[must_use]
pub fn table(comparisons: &[Comparison]) -> String {
    let scenarios: BTreeSet<&str> = comparisons.iter().map(|comparison| comparison.scenario.as_str()).collect();
    let mut text = format!(
        "| {} scenarios | shown in | same | listed exceptions | different |\n|---|---|---|---|---|\n",
        scenarios.len()
    );
    for &aspect in Aspect::ALL {
        let of_aspect = comparisons.iter().filter(|comparison| comparison.aspect == aspect);
        let (mut shown, mut same, mut excepted, mut different) = (0, 0, 0, 0);
        for comparison in of_aspect.filter(|comparison| comparison.shown.values().any(|lines| !lines.is_empty())) {
            shown += 1;
            match (comparison.is_uniform(), comparison.is_explained()) {
                (true, _) => same += 1,
                (false, true) => excepted += 1,
                (false, false) => different += 1,
            }
        }
        let _ = writeln!(text, "| {} | {shown} | {same} | {excepted} | {different} |", aspect.title());
    }
    text
}

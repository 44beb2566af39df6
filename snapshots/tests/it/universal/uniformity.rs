//! The same scenario has the same data with every agent, but for the listed exceptions.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_convert::Agent;
use interlingua_snapshots::uniformity::{
    COMPARED, Comparison, EXCEPTIONS, Exception, OPTIONAL_KEYS, compare, optional_keys, table,
};

use crate::corpus;

/// The lines of each agent that differ from those of another.
fn difference(comparison: &Comparison) -> String {
    let lines = comparison.shown.iter().map(|(agent, lines)| format!("  {agent}:\n    {}", lines.join("\n    ")));
    let lines: Vec<String> = lines.collect();
    format!("{} of {}:\n{}", comparison.aspect.title(), comparison.scenario, lines.join("\n"))
}

#[test]
fn the_same_scenario_has_the_same_data_with_every_agent() {
    let comparisons = compare(corpus());
    println!("{}", table(&comparisons));
    let unexplained: Vec<String> =
        comparisons.iter().filter(|comparison| !comparison.is_explained()).map(difference).collect();
    assert!(unexplained.is_empty(), "{} differences:\n{}", unexplained.len(), unexplained.join("\n"));
}

#[test]
fn every_exception_is_needed_in_each_of_its_scenarios() {
    let comparisons = compare(corpus());
    for exception in EXCEPTIONS {
        let differs = |comparison: &&Comparison| {
            exception.covers(exception.agent, comparison) && comparison.differs(exception.agent)
        };
        let needed: Vec<&str> = comparisons.iter().filter(differs).map(|found| found.scenario.as_str()).collect();
        assert!(!needed.is_empty(), "{} needs no exception: {}", exception.agent, exception.why);
        for scenario in exception.scenarios {
            let Exception { agent, aspect, why, .. } = exception;
            assert!(
                needed.contains(scenario),
                "{agent} needs no exception for {} of {scenario}: {why}",
                aspect.title()
            );
        }
    }
}

#[test]
fn most_scenarios_are_compared() {
    let comparisons = compare(corpus());
    let scenarios: BTreeSet<_> = comparisons.iter().map(|found| &found.scenario).collect();
    assert!(scenarios.len() >= 52, "{} scenarios are recorded with all of {:?}", scenarios.len(), *COMPARED);
}

#[test]
fn a_key_that_is_not_compared_is_one_that_some_agent_does_not_say() {
    let mut said: BTreeMap<&str, BTreeSet<Agent>> = BTreeMap::new();
    for entry in corpus().entries().iter().filter(|entry| COMPARED.contains(&entry.recording.agent)) {
        for key in optional_keys(&entry.converted.events) {
            said.entry(key).or_default().insert(entry.recording.agent);
        }
    }
    for optional in OPTIONAL_KEYS {
        let agents = said.get(optional.key).cloned().unwrap_or_default();
        assert!(!agents.is_empty(), "nobody says `{}`", optional.key);
    }
}

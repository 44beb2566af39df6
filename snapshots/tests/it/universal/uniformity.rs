//! The same scenario has the same data with every agent, except for the listed exceptions.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_convert::Agent;
use interlingua_snapshots::uniformity::{
    COMPARED_AGENTS, Comparison, EXCEPTIONS, OPTIONAL_KEYS, UniformityException, compare, find_optional_keys,
    render_table,
};

use crate::corpus;

/// Renders the lines of each agent, for a failure message.
fn render_difference(comparison: &Comparison) -> String {
    let lines = comparison.lines.iter().map(|(agent, lines)| format!("  {agent}:\n    {}", lines.join("\n    ")));
    let lines: Vec<String> = lines.collect();
    format!("{} of the scenario {}:\n{}", comparison.aspect.title(), comparison.scenario, lines.join("\n"))
}

#[test]
fn the_same_scenario_has_the_same_data_with_every_agent() {
    let comparisons = compare(corpus());
    println!("{}", render_table(&comparisons));
    let unexplained: Vec<String> =
        comparisons.iter().filter(|comparison| !comparison.is_explained()).map(render_difference).collect();
    assert!(
        unexplained.is_empty(),
        "{} differences between agents are not listed in snapshots/src/uniformity/exceptions.rs:\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
}

#[test]
fn every_exception_is_needed_in_each_of_its_scenarios() {
    let comparisons = compare(corpus());
    for exception in EXCEPTIONS {
        let differs = |comparison: &&Comparison| {
            exception.covers(exception.agent, comparison) && comparison.differs(exception.agent)
        };
        let needed: Vec<&str> = comparisons.iter().filter(differs).map(|found| found.scenario.as_str()).collect();
        assert!(
            !needed.is_empty(),
            "{} no longer needs the exception `{}`; remove it from snapshots/src/uniformity/exceptions.rs",
            exception.agent,
            exception.reason
        );
        for scenario in exception.scenarios {
            let UniformityException { agent, aspect, reason, .. } = exception;
            assert!(
                needed.contains(scenario),
                "{agent} no longer needs the exception `{reason}` for {} of {scenario}; remove the scenario from it",
                aspect.title()
            );
        }
    }
}

#[test]
fn most_scenarios_are_recorded_with_all_compared_agents() {
    let comparisons = compare(corpus());
    let scenarios: BTreeSet<_> = comparisons.iter().map(|found| &found.scenario).collect();
    assert!(
        scenarios.len() >= 52,
        "only {} scenarios are recorded with all of {:?}",
        scenarios.len(),
        *COMPARED_AGENTS
    );
}

#[test]
fn every_optional_key_is_used_by_some_agent() {
    let mut used_by: BTreeMap<&str, BTreeSet<Agent>> = BTreeMap::new();
    for entry in corpus().entries().iter().filter(|entry| COMPARED_AGENTS.contains(&entry.recording.agent)) {
        for key in find_optional_keys(&entry.converted.events) {
            used_by.entry(key).or_default().insert(entry.recording.agent);
        }
    }
    for optional in OPTIONAL_KEYS {
        let agents = used_by.get(optional.key).cloned().unwrap_or_default();
        assert!(!agents.is_empty(), "no agent uses the optional key `{}`; remove it", optional.key);
    }
}

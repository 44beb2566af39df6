//! Scenarios in which the events of older versions of agents come in another order than those of the recordings, so that the
//! trace is not compared.
//!
//! Scenarios that an older version cannot play at all say so in `[absent]`.

use interlingua_convert::Agent;
use semver::Version;

/// A difference of all versions before a version.
#[derive(Debug)]
pub(crate) struct OtherTrace {
    agent: Agent,
    /// First version without the difference.
    before: Version,
    scenarios: &'static [&'static str],
    pub(crate) reason: &'static str,
}

/// All known differences.
const OTHER_TRACES: [OtherTrace; 1] = [OtherTrace {
    agent: Agent::OpenCode,
    before: Version::new(1, 2, 0),
    scenarios: &["asks-which-colour"],
    reason: "its trace is not compared: before 1.2 the question comes before the text that precedes it",
}];

/// Finds the difference of a version of an agent in a scenario.
pub(crate) fn find_difference(agent: Agent, version: &str, scenario: &str) -> Option<&'static OtherTrace> {
    let version = Version::parse(version).ok()?;
    let applies =
        |older: &&OtherTrace| older.agent == agent && version < older.before && older.scenarios.contains(&scenario);
    const { &OTHER_TRACES }.iter().find(applies)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_difference_applies_only_to_versions_before_the_named_one() {
        let is_different = |version| find_difference(Agent::OpenCode, version, "asks-which-colour").is_some();
        assert_eq!(["1.1.34", "1.2.0", "1.18.33"].map(is_different), [true, false, false]);
        assert!(find_difference(Agent::OpenCode, "1.1.34", "greeting").is_none());
        assert!(find_difference(Agent::Codex, "0.130.0", "asks-which-colour").is_none());
    }

    #[test]
    fn every_listed_scenario_exists() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        for scenario in OTHER_TRACES.iter().flat_map(|older| older.scenarios) {
            assert!(folder.join(format!("{scenario}.toml")).is_file(), "{scenario}");
        }
    }
}

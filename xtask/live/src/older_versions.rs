//! Scenarios that older versions of agents cannot play, or play differently.
//!
//! A scenario that is not listed here must work with every version.

use interlingua_convert::Agent;
use semver::Version;

/// How an older version differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It cannot play the scenario, which is skipped.
    Skipped,
    /// Its events come in another order than those of the recordings, so the trace is not compared.
    OtherTrace,
}

/// A difference of all versions before a version.
#[derive(Debug)]
pub(crate) struct OlderVersions {
    agent: Agent,
    /// First version without the difference.
    before: Version,
    scenarios: &'static [&'static str],
    pub(crate) difference: Difference,
    pub(crate) reason: &'static str,
}

/// All known differences.
const OLDER_VERSIONS: [OlderVersions; 3] = [
    OlderVersions {
        agent: Agent::Claude,
        before: Version::new(2, 0, 71),
        scenarios: &["asks-two-questions", "asks-which-colour", "question-is-dismissed"],
        difference: Difference::Skipped,
        reason: "before 2.0.71 it offers no question tool when a host drives it",
    },
    OlderVersions {
        agent: Agent::Claude,
        before: Version::new(2, 1, 77),
        scenarios: &["interrupted-while-retrying", "overloaded-for-ever", "refused-for-a-wrong-key"],
        difference: Difference::Skipped,
        reason: "before 2.1.77 it retries for minutes without reporting it",
    },
    OlderVersions {
        agent: Agent::OpenCode,
        before: Version::new(1, 2, 0),
        scenarios: &["asks-which-colour"],
        difference: Difference::OtherTrace,
        reason: "its trace is not compared: before 1.2 the question comes before the text that precedes it",
    },
];

/// Finds the difference of a version of an agent in a scenario.
pub(crate) fn find_difference(agent: Agent, version: &str, scenario: &str) -> Option<&'static OlderVersions> {
    let version = Version::parse(version).ok()?;
    let applies =
        |older: &&OlderVersions| older.agent == agent && version < older.before && older.scenarios.contains(&scenario);
    const { &OLDER_VERSIONS }.iter().find(applies)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_difference_applies_only_to_versions_before_the_named_one() {
        let find = |version| find_difference(Agent::Claude, version, "asks-which-colour").map(|older| older.difference);
        assert_eq!([find("2.0.30"), find("2.0.71"), find("2.1.325")], [Some(Difference::Skipped), None, None]);
        assert!(find_difference(Agent::Claude, "2.0.30", "greeting").is_none());
        assert!(find_difference(Agent::Codex, "0.130.0", "asks-which-colour").is_none());
    }

    #[test]
    fn every_listed_scenario_exists() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        for scenario in OLDER_VERSIONS.iter().flat_map(|older| older.scenarios) {
            assert!(folder.join(format!("{scenario}.toml")).is_file(), "{scenario}");
        }
    }
}

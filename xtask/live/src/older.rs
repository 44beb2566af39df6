//! What older versions of agents do differently or cannot do.
//!
//! A version is compared by its number. What is not listed here must work with every version.

use interlingua_convert::Agent;
use semver::Version;

/// What an older version makes of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It cannot play it: it is skipped.
    Skipped,
    /// It plays it, but its events come in another order than those of the recordings: the trace is not compared.
    OtherTrace,
}

/// A difference of the versions before one.
#[derive(Debug)]
pub(crate) struct Older {
    agent: Agent,
    /// The first version without the difference.
    before: Version,
    scenarios: &'static [&'static str],
    pub(crate) difference: Difference,
    pub(crate) reason: &'static str,
}

/// All of them.
const OLDER: [Older; 3] = [
    Older {
        agent: Agent::Claude,
        before: Version::new(2, 0, 71),
        scenarios: &["asks-two-questions", "asks-which-colour", "question-is-dismissed"],
        difference: Difference::Skipped,
        reason: "before 2.0.71 it offers no tool to ask the user when it runs behind a host",
    },
    Older {
        agent: Agent::Claude,
        before: Version::new(2, 1, 77),
        scenarios: &["interrupted-while-retrying", "overloaded-for-ever", "refused-for-a-wrong-key"],
        difference: Difference::Skipped,
        reason: "before 2.1.77 it tries again for minutes and does not say so",
    },
    Older {
        agent: Agent::OpenCode,
        before: Version::new(1, 2, 0),
        scenarios: &["asks-which-colour"],
        difference: Difference::OtherTrace,
        reason: "its trace is not compared: before 1.2 it asks before it says what comes first",
    },
];

/// What this version of an agent makes of a scenario, if that is special.
pub(crate) fn difference(agent: Agent, version: &str, scenario: &str) -> Option<&'static Older> {
    let version = Version::parse(version).ok()?;
    let concerns =
        |older: &&Older| older.agent == agent && version < older.before && older.scenarios.contains(&scenario);
    const { &OLDER }.iter().find(concerns)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn only_versions_before_the_first_without_it_are_different() {
        let of = |version| difference(Agent::Claude, version, "asks-which-colour").map(|older| older.difference);
        assert_eq!([of("2.0.30"), of("2.0.71"), of("2.1.325")], [Some(Difference::Skipped), None, None]);
        assert!(difference(Agent::Claude, "2.0.30", "greeting").is_none());
        assert!(difference(Agent::Codex, "0.130.0", "asks-which-colour").is_none());
    }

    #[test]
    fn every_scenario_that_is_named_exists() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        for scenario in OLDER.iter().flat_map(|older| older.scenarios) {
            assert!(folder.join(format!("{scenario}.toml")).is_file(), "{scenario}");
        }
    }
}

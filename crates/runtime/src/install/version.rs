//! The versions of an agent.

use std::cmp::Ordering;

use interlingua_agents::Agent;
use semver::Version;

use crate::agents::VersionFit;

/// The version that the types of an agent were generated for.
pub(super) fn pinned_version(agent: Agent) -> Option<String> {
    interlingua_agent_schemas::find(agent.id()).map(|schemas| schemas.agent_version.to_owned())
}

/// Compares a version to the one that our types were generated for.
pub(super) fn compare_to_pinned(version: &str, pinned: &str) -> VersionFit {
    match compare(version, pinned) {
        Ordering::Less => VersionFit::Older,
        Ordering::Equal => VersionFit::Same,
        Ordering::Greater => VersionFit::Newer,
    }
}

/// Compares two versions by their numbers, then by whether they are releases. The suffix of a pre-release has no order:
/// Amp puts a commit there. A version that is not a semantic version is older than all others.
fn compare(one: &str, other: &str) -> Ordering {
    let key = |version: &str| {
        let version = Version::parse(version).ok()?;
        Some((version.major, version.minor, version.patch, version.pre.is_empty()))
    };
    key(one).cmp(&key(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_pinned_version() {
        for agent in Agent::ALL {
            let version = pinned_version(agent).unwrap_or_else(|| panic!("{agent} has no pinned version"));
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{agent} {version}");
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        for (older, newer) in [("2.1.9", "2.1.10"), ("0.166.0-alpha.1", "0.166.0"), ("0.0.17-ga", "0.0.18-gb")] {
            assert_eq!(compare(older, newer), Ordering::Less, "{older} {newer}");
        }
        assert_eq!(compare("0.0.1-gaa", "0.0.1-gbb"), Ordering::Equal);
    }

    #[test]
    fn a_version_is_newer_or_older_than_the_pinned_one_or_the_same() {
        assert_eq!(
            ["3.0.0", "1.9.9", "2.0.0"].map(|version| compare_to_pinned(version, "2.0.0")),
            [VersionFit::Newer, VersionFit::Older, VersionFit::Same]
        );
    }
}

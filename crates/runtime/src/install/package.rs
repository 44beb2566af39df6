//! The versions of an agent, and the command that installs one.

use std::cmp::Ordering;

use interlingua_agents::Agent;
use semver::Version;

use crate::agents::VersionFit;

/// The version that the generated types of an agent describe.
pub(super) fn described_version(agent: Agent) -> Option<String> {
    interlingua_agent_schemas::find(agent.id()).map(|schemas| schemas.agent_version.to_owned())
}

/// The command that installs an agent.
pub(super) fn install_command(agent: Agent, version: Option<&str>) -> String {
    match version {
        Some(version) => format!("interlingua agents install {agent}@{version}"),
        None => format!("interlingua agents install {agent}"),
    }
}

/// How a version stands to the one that our types were made for.
pub(super) fn fit(version: &str, pinned_version: &str) -> VersionFit {
    match compare(version, pinned_version) {
        Ordering::Less => VersionFit::Older,
        Ordering::Equal => VersionFit::Same,
        Ordering::Greater => VersionFit::Newer,
    }
}

/// Compares two versions by their numbers, then by whether they are releases. What follows the numbers of a pre-release
/// is no order: Amp puts a commit there. A version that is not a semantic one is older than all others.
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
    fn every_agent_has_a_version_that_its_types_were_made_for() {
        for agent in Agent::ALL {
            let version = described_version(agent).unwrap_or_else(|| panic!("{agent} has none"));
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
    fn a_newer_version_is_told_from_an_older() {
        assert_eq!(
            ["3.0.0", "1.9.9", "2.0.0"].map(|version| fit(version, "2.0.0")),
            [VersionFit::Newer, VersionFit::Older, VersionFit::Same]
        );
    }
}

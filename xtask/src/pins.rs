//! Determines which version of each package is pulled.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::npm::{Npm, NpmError};
use crate::recipes::{Package, PinPolicy, Recipe};

/// The versions that the user asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VersionRequest<'a> {
    /// The pinned versions in `source.toml`.
    Pinned,
    /// This version of the agent.
    Exact(&'a str),
    /// The newest versions, except for packages that are pinned manually.
    Latest,
}

/// Version of each package, by name.
pub(crate) type Versions = BTreeMap<&'static str, String>;

/// Determines the version of every package of `recipe`. Queries the registry only for versions that may change.
pub(crate) fn resolve_versions(
    npm: &Npm,
    recipe: &Recipe,
    pinned: &BTreeMap<String, String>,
    request: VersionRequest<'_>,
) -> Result<Versions> {
    let agent = match request {
        VersionRequest::Pinned => pinned_version(recipe.main_package(), pinned)?,
        VersionRequest::Exact(version) => exact_version(version)?,
        VersionRequest::Latest => find_newest(npm, recipe.main_package().name, None)?,
    };
    let ranges = match request {
        VersionRequest::Pinned => Ranges::default(),
        VersionRequest::Exact(_) | VersionRequest::Latest => Ranges::fetch(npm, recipe.main_package().name, &agent)?,
    };
    let mut versions = Versions::new();
    for package in recipe.packages {
        let version = match (package.pin_policy, request) {
            (PinPolicy::FollowsAgent, _) => agent.clone(),
            (PinPolicy::Manual, _) | (_, VersionRequest::Pinned) => pinned_version(package, pinned)?,
            (PinPolicy::NotNewerThanAgent, _) => find_newest_not_after(npm, package.name, &agent)?,
            (PinPolicy::Latest, VersionRequest::Latest) => find_newest(npm, package.name, ranges.get(package.name))?,
            // The versions of all platforms and of the package itself are the same.
            (PinPolicy::LatestWith(platform), VersionRequest::Latest) => find_newest(npm, platform, None)?,
            (PinPolicy::Latest | PinPolicy::LatestWith(_), VersionRequest::Exact(_)) => {
                match pinned.get(package.name) {
                    Some(version) => exact_version(version)?,
                    None => find_newest(npm, package.name, ranges.get(package.name))?,
                }
            }
        };
        versions.insert(package.name, version);
    }
    Ok(versions)
}

fn pinned_version(package: &Package, pinned: &BTreeMap<String, String>) -> Result<String> {
    let name = package.name;
    let version = pinned.get(name).with_context(|| {
        format!("source.toml does not pin a version of {name}: add `version` to [package.\"{name}\"]")
    })?;
    exact_version(version)
}

/// Returns `version` if it is an exact version. A range (`^1.2`) or a tag (`latest`) is an error.
pub(crate) fn exact_version(version: &str) -> Result<String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let parts = version.split(['-', '+']).next().unwrap_or_default().split('.');
    let are_numbers = parts.clone().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
    if parts.count() == 3 && are_numbers && version.chars().all(is_allowed) {
        Ok(version.to_owned())
    } else {
        bail!("{version:?} is not an exact version such as 1.2.3")
    }
}

/// The version ranges of other packages that the agent's package accepts.
#[derive(Default)]
struct Ranges(Vec<Value>);

impl Ranges {
    fn fetch(npm: &Npm, name: &str, version: &str) -> Result<Self> {
        let spec = format!("{name}@{version}");
        let kinds = ["peerDependencies", "dependencies"];
        let ranges = kinds.iter().filter_map(|kind| npm.view(&spec, kind).transpose());
        Ok(Self(ranges.collect::<Result<_>>()?))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|kind| kind.get(name)?.as_str())
    }
}

/// Finds the newest version of `name`, within `range` if there is one.
pub(crate) fn find_newest(npm: &Npm, name: &str, range: Option<&str>) -> Result<String> {
    let spec = range.map_or_else(|| name.to_owned(), |range| format!("{name}@{range}"));
    let found = match npm.view(&spec, "version")? {
        Some(Value::String(only)) => Some(only),
        // npm returns an array if several versions are in the range.
        Some(Value::Array(all)) => {
            let all = all.iter().filter_map(Value::as_str);
            all.max_by_key(|version| parse_release(version)).map(str::to_owned)
        }
        _ => None,
    };
    match found {
        Some(version) => exact_version(&version),
        None => Err(NpmError::NotFound(spec).into()),
    }
}

fn find_newest_not_after(npm: &Npm, name: &str, agent: &str) -> Result<String> {
    let published = match npm.view(name, "versions")? {
        Some(Value::Array(versions)) => versions,
        Some(only @ Value::String(_)) => vec![only],
        _ => Vec::new(),
    };
    let published: Vec<_> = published.iter().filter_map(Value::as_str).collect();
    match newest_not_after(&published, agent) {
        Some(version) => Ok(version.to_owned()),
        None => Err(NpmError::NotFound(format!("version of {name} that is not newer than {agent}")).into()),
    }
}

/// The newest release in `published` that is not newer than `agent`. A pre-release comes before its release.
fn newest_not_after<'a>(published: &[&'a str], agent: &str) -> Option<&'a str> {
    if let Some(same) = published.iter().find(|version| **version == agent) {
        return Some(same);
    }
    let core = agent.split('-').next().and_then(parse_release)?;
    let before = |version: [u64; 3]| {
        if agent.contains('-') { version < core } else { version <= core }
    };
    published
        .iter()
        .filter_map(|version| Some((parse_release(version)?, *version)))
        .filter(|(parsed, _)| before(*parsed))
        .max()
        .map(|(_, version)| version)
}

/// The three numbers of a version. What follows them, such as a commit, has no order.
pub(crate) fn version_numbers(version: &str) -> Option<[u64; 3]> {
    parse_release(version.split(['-', '+']).next()?)
}

/// The three numbers of a release. `None` for a pre-release or any other text.
fn parse_release(version: &str) -> Option<[u64; 3]> {
    let mut parts = version.split('.').map(|part| part.parse().ok());
    let release = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes::recipe;
    use interlingua_agents::Agent;

    #[test]
    fn pinned_versions_are_resolved_without_the_registry() {
        let recipe = recipe(Agent::OpenCode);
        let pinned = BTreeMap::from([("opencode-ai".to_owned(), "1.18.33".to_owned())]);
        let versions = resolve_versions(&Npm::default(), recipe, &pinned, VersionRequest::Pinned).unwrap();
        assert_eq!(versions["opencode-ai"], "1.18.33");
    }

    #[test]
    fn the_error_for_a_missing_pin_says_where_to_add_it() {
        let error =
            resolve_versions(&Npm::default(), recipe(Agent::OpenCode), &BTreeMap::new(), VersionRequest::Pinned)
                .unwrap_err();
        assert_eq!(
            error.to_string(),
            "source.toml does not pin a version of opencode-ai: add `version` to [package.\"opencode-ai\"]"
        );
    }

    #[test]
    fn ranges_tags_and_paths_are_not_exact_versions() {
        for version in ["latest", "^1.2.3", "1.2", "", "../../x", "1.2.3 || 2", "1.2.x", "file:x"] {
            assert!(exact_version(version).is_err(), "{version}");
        }
        for version in ["1.2.3", "0.1.0-20260126121723-gc94da34", "1.0.0+build.5"] {
            assert!(exact_version(version).is_ok(), "{version}");
        }
    }

    #[test]
    fn the_sdk_is_never_newer_than_its_agent() {
        let published = ["0.9.0", "0.163.0", "0.150.0", "0.167.0", "0.166.0-alpha.1"];
        assert_eq!(newest_not_after(&published, "0.166.0"), Some("0.163.0"));
        assert_eq!(newest_not_after(&published, "0.167.0"), Some("0.167.0"));
        assert_eq!(newest_not_after(&published, "0.163.0-alpha.2"), Some("0.150.0"));
        assert_eq!(newest_not_after(&published, "0.166.0-alpha.1"), Some("0.166.0-alpha.1"));
        assert_eq!(newest_not_after(&published, "0.1.0"), None);
    }
}

//! Which version of each package is pulled.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::npm::{Failure, Npm};
use crate::recipes::{Moves, Package, Recipe};

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// The versions in `source.toml`.
    Pinned,
    /// This version of the agent.
    Version(&'a str),
    /// The newest of everything that moves.
    Latest,
}

/// Package name → version.
pub(crate) type Versions = BTreeMap<&'static str, String>;

/// The version of every package of `recipe`. Asks the registry only where something may move.
pub(crate) fn resolve(
    npm: &Npm,
    recipe: &Recipe,
    pinned: &BTreeMap<String, String>,
    wanted: Wanted<'_>,
) -> Result<Versions> {
    let agent = match wanted {
        Wanted::Pinned => pin(recipe.main(), pinned)?,
        Wanted::Version(version) => exact(version)?,
        Wanted::Latest => newest(npm, recipe.main().name, None)?,
    };
    let ranges = match wanted {
        Wanted::Pinned => Ranges::default(),
        Wanted::Version(_) | Wanted::Latest => Ranges::of(npm, recipe.main().name, &agent)?,
    };
    let mut versions = Versions::new();
    for package in recipe.packages {
        let version = match (package.moves, wanted) {
            (Moves::WithAgent, _) => agent.clone(),
            (Moves::ByHand, _) | (_, Wanted::Pinned) => pin(package, pinned)?,
            (Moves::BehindAgent, _) => newest_not_after(npm, package.name, &agent)?,
            (Moves::WithLatest, Wanted::Latest) => newest(npm, package.name, ranges.get(package.name))?,
            (Moves::WithLatest, Wanted::Version(_)) => match pinned.get(package.name) {
                Some(version) => exact(version)?,
                None => newest(npm, package.name, ranges.get(package.name))?,
            },
        };
        versions.insert(package.name, version);
    }
    Ok(versions)
}

fn pin(package: &Package, pinned: &BTreeMap<String, String>) -> Result<String> {
    let name = package.name;
    let version = pinned
        .get(name)
        .with_context(|| format!("source.toml pins no version of {name}: give [package.\"{name}\"] a `version`"))?;
    exact(version)
}

/// `version` if it is one exact version, which a range (`^1.2`) or a tag (`latest`) is not.
pub(crate) fn exact(version: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    let parts = version.split(['-', '+']).next().unwrap_or_default().split('.');
    let numbers = parts.clone().all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
    if parts.count() == 3 && numbers && version.chars().all(plain) {
        Ok(version.to_owned())
    } else {
        bail!("{version:?} is not an exact version such as 1.2.3")
    }
}

/// The versions of other packages that the agent's package accepts.
#[derive(Default)]
struct Ranges(Vec<Value>);

impl Ranges {
    fn of(npm: &Npm, name: &str, version: &str) -> Result<Self> {
        let spec = format!("{name}@{version}");
        let kinds = ["peerDependencies", "dependencies"];
        let ranges = kinds.iter().filter_map(|kind| npm.view(&spec, kind).transpose());
        Ok(Self(ranges.collect::<Result<_>>()?))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|kind| kind.get(name)?.as_str())
    }
}

/// The newest version of `name`, within `range` if there is one.
pub(crate) fn newest(npm: &Npm, name: &str, range: Option<&str>) -> Result<String> {
    let spec = range.map_or_else(|| name.to_owned(), |range| format!("{name}@{range}"));
    let found = match npm.view(&spec, "version")? {
        Some(Value::String(only)) => Some(only),
        // One for each version in the range.
        Some(Value::Array(all)) => {
            let all = all.iter().filter_map(Value::as_str);
            all.max_by_key(|version| release(version)).map(str::to_owned)
        }
        _ => None,
    };
    match found {
        Some(version) => exact(&version),
        None => Err(Failure::NotFound(spec).into()),
    }
}

fn newest_not_after(npm: &Npm, name: &str, agent: &str) -> Result<String> {
    let published = match npm.view(name, "versions")? {
        Some(Value::Array(versions)) => versions,
        Some(only @ Value::String(_)) => vec![only],
        _ => Vec::new(),
    };
    let published: Vec<_> = published.iter().filter_map(Value::as_str).collect();
    match choose_not_after(&published, agent) {
        Some(version) => Ok(version.to_owned()),
        None => Err(Failure::NotFound(format!("{name} that is not newer than {agent}")).into()),
    }
}

/// The highest release among `published` that is not after `agent`. A pre-release comes before its release.
fn choose_not_after<'a>(published: &[&'a str], agent: &str) -> Option<&'a str> {
    if let Some(same) = published.iter().find(|version| **version == agent) {
        return Some(same);
    }
    let core = agent.split('-').next().and_then(release)?;
    let before = |version: [u64; 3]| {
        if agent.contains('-') { version < core } else { version <= core }
    };
    published
        .iter()
        .filter_map(|version| Some((release(version)?, *version)))
        .filter(|(parsed, _)| before(*parsed))
        .max()
        .map(|(_, version)| version)
}

/// The numbers of a release; `None` for a pre-release or anything else.
fn release(version: &str) -> Option<[u64; 3]> {
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
    fn pinned_versions_need_no_registry() {
        let recipe = recipe(Agent::OpenCode);
        let pinned = BTreeMap::from([("opencode-ai".to_owned(), "1.18.33".to_owned())]);
        let versions = resolve(&Npm::default(), recipe, &pinned, Wanted::Pinned).unwrap();
        assert_eq!(versions["opencode-ai"], "1.18.33");
    }

    #[test]
    fn a_missing_pin_says_where_to_write_it() {
        let error = resolve(&Npm::default(), recipe(Agent::OpenCode), &BTreeMap::new(), Wanted::Pinned).unwrap_err();
        assert_eq!(
            error.to_string(),
            "source.toml pins no version of opencode-ai: give [package.\"opencode-ai\"] a `version`"
        );
    }

    #[test]
    fn ranges_tags_and_paths_are_no_versions() {
        for version in ["latest", "^1.2.3", "1.2", "", "../../x", "1.2.3 || 2", "1.2.x", "file:x"] {
            assert!(exact(version).is_err(), "{version}");
        }
        for version in ["1.2.3", "0.1.0-20260126121723-gc94da34", "1.0.0+build.5"] {
            assert!(exact(version).is_ok(), "{version}");
        }
    }

    #[test]
    fn a_companion_stays_behind_its_agent() {
        let published = ["0.9.0", "0.163.0", "0.150.0", "0.167.0", "0.166.0-alpha.1"];
        assert_eq!(choose_not_after(&published, "0.166.0"), Some("0.163.0"));
        assert_eq!(choose_not_after(&published, "0.167.0"), Some("0.167.0"));
        assert_eq!(choose_not_after(&published, "0.163.0-alpha.2"), Some("0.150.0"));
        assert_eq!(choose_not_after(&published, "0.166.0-alpha.1"), Some("0.166.0-alpha.1"));
        assert_eq!(choose_not_after(&published, "0.1.0"), None);
    }
}

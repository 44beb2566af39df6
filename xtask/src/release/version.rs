//! The version of a release: where it is written, and the changelog.

use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};

use crate::pins::exact_version;
use crate::repository::Repository;

/// Heading of the changes since the last release.
const UNRELEASED: &str = "## Unreleased";
/// Files with the version, apart from CHANGELOG.md.
const VERSIONED_FILES: [&str; 2] = ["Cargo.toml", "sdks/typescript/package.json"];

/// How the version changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bump {
    Major,
    Minor,
    Patch,
    To(String),
}

impl FromStr for Bump {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "major" => Ok(Self::Major),
            "minor" => Ok(Self::Minor),
            "patch" => Ok(Self::Patch),
            version => exact_version(version).map(Self::To),
        }
    }
}

impl Bump {
    /// The version after `version`.
    pub(super) fn apply(&self, version: &str) -> Result<String> {
        let numbers: Option<Vec<u64>> = version.split('.').map(|number| number.parse().ok()).collect();
        let Some([major, minor, patch]) = numbers.as_deref() else {
            bail!("the current version {version} is not of the form 1.2.3; give the new version");
        };
        Ok(match self {
            Self::Major => format!("{}.0.0", major + 1),
            Self::Minor => format!("{major}.{}.0", minor + 1),
            Self::Patch => format!("{major}.{minor}.{}", patch + 1),
            Self::To(version) => version.clone(),
        })
    }
}

/// The version of the workspace.
pub(super) fn current(repository: &Repository) -> Result<String> {
    let manifest: toml::Table = read(repository, "Cargo.toml")?.parse().context("Cargo.toml is invalid")?;
    let version = manifest.get("workspace").and_then(|it| it.get("package")).and_then(|it| it.get("version"));
    version.and_then(toml::Value::as_str).map(str::to_owned).context("Cargo.toml has no workspace.package.version")
}

/// The files that a release changes: path in the repository, and new text.
pub(super) fn changed_files(
    repository: &Repository,
    old: &str,
    new: &str,
    date: &str,
) -> Result<Vec<(&'static str, String)>> {
    let mut files = Vec::new();
    for path in VERSIONED_FILES {
        files.push((path, with_version(&read(repository, path)?, old, new)?));
    }
    files.push(("CHANGELOG.md", close_changelog(&read(repository, "CHANGELOG.md")?, new, date)?));
    Ok(files)
}

fn read(repository: &Repository, path: &str) -> Result<String> {
    std::fs::read_to_string(repository.root().join(path)).with_context(|| format!("cannot read {path}"))
}

/// Replaces the version of the package itself, and the exact requirements (`=0.1.0`) of packages of this workspace.
fn with_version(text: &str, old: &str, new: &str) -> Result<String> {
    let replaced: Vec<String> = text
        .split_inclusive('\n')
        .map(|line| {
            let is_own_version =
                line.trim_start().starts_with("version = ") || line.trim_start().starts_with("\"version\": ");
            let line = line.replace(&format!("\"={old}\""), &format!("\"={new}\""));
            if is_own_version { line.replace(&format!("\"{old}\""), &format!("\"{new}\"")) } else { line }
        })
        .collect();
    let replaced = replaced.concat();
    ensure!(replaced != text || old == new, "the version {old} was not found");
    Ok(replaced)
}

/// Moves the unreleased changes below a heading with version and date.
fn close_changelog(text: &str, version: &str, date: &str) -> Result<String> {
    let (before, after) = text.split_once(UNRELEASED).with_context(|| format!("CHANGELOG.md has no `{UNRELEASED}`"))?;
    ensure!(section(after).contains("\n- "), "CHANGELOG.md has no changes under `{UNRELEASED}`");
    Ok(format!("{before}{UNRELEASED}\n\n## {version} - {date}{after}"))
}

/// The changes of a version in CHANGELOG.md, or the unreleased ones.
pub(super) fn release_notes(repository: &Repository, version: &str) -> Result<String> {
    let text = read(repository, "CHANGELOG.md")?;
    let headed =
        text.split_once(&format!("## {version} ")).map(|(_, after)| after.split_once('\n').unwrap_or_default().1);
    let notes = headed.or_else(|| text.split_once(UNRELEASED).map(|(_, after)| after));
    let notes = notes.with_context(|| format!("CHANGELOG.md has neither version {version} nor `{UNRELEASED}`"))?;
    Ok(format!("{}\n", section(notes).trim()))
}

/// The text up to the heading of the next version.
fn section(text: &str) -> &str {
    text.split("\n## ").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_grows_in_one_part() {
        for (bump, expected) in
            [("major", "1.0.0"), ("minor", "0.3.0"), ("patch", "0.2.4"), ("7.0.0-rc.1", "7.0.0-rc.1")]
        {
            assert_eq!(bump.parse::<Bump>().unwrap().apply("0.2.3").unwrap(), expected);
        }
        assert!("next".parse::<Bump>().is_err());
    }

    #[test]
    fn only_versions_of_this_workspace_are_replaced() {
        let text = "[workspace.package]\nversion = \"0.1.0\"\na = { path = \"a\", version = \"=0.1.0\" }\ninstant = \"0.1.0\"\n";
        let expected = "[workspace.package]\nversion = \"0.2.0\"\na = { path = \"a\", version = \"=0.2.0\" }\ninstant = \"0.1.0\"\n";
        assert_eq!(with_version(text, "0.1.0", "0.2.0").unwrap(), expected);
        assert!(with_version("version = \"3.0.0\"\n", "0.1.0", "0.2.0").is_err());
    }

    #[test]
    fn the_changelog_is_closed_once() {
        let text = "# Changelog\n\n## Unreleased\n\n### Added\n- A thing.\n\n## 0.1.0 - 2026-01-01\n- First.\n";
        let closed = close_changelog(text, "0.2.0", "2026-02-02").unwrap();
        assert!(
            closed.contains("## Unreleased\n\n## 0.2.0 - 2026-02-02\n\n### Added\n- A thing.\n\n## 0.1.0"),
            "{closed}"
        );
        assert!(close_changelog(&closed, "0.3.0", "2026-03-03").is_err());
    }
}

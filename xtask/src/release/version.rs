//! The version of a release: where it is written, and the changelog.

use std::process::Command;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};

use crate::pins::{exact_version, version_numbers};
use crate::repository::Repository;

/// Heading of the changes since the last release.
const UNRELEASED: &str = "## Unreleased";
/// Manifests with the version.
const MANIFESTS: [&str; 3] = ["Cargo.toml", "inspector/package.json", "sdks/typescript/package.json"];
/// npm's lock files of these manifests.
const NPM_LOCKS: [&str; 2] = ["inspector/package-lock.json", "sdks/typescript/package-lock.json"];
/// Cargo's lock files, of the workspace and of the fuzz targets.
const CARGO_LOCKS: [&str; 2] = ["Cargo.lock", "fuzz/Cargo.lock"];
/// What the names of this workspace's packages begin with.
const OWN_PACKAGE_PREFIX: &str = "interlingua";
/// Names of packages of this workspace that do not begin with it.
const OTHER_OWN_PACKAGES: [&str; 1] = ["xtask"];

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
    for path in MANIFESTS {
        let text = with_version(&read(repository, path)?, old, new).with_context(|| format!("cannot change {path}"))?;
        files.push((path, text));
    }
    for path in NPM_LOCKS {
        let text = read(repository, path)?;
        // The packages of others come after our own.
        let (own, others) = text.split_once("\"node_modules/").unwrap_or((&text, ""));
        let own = with_version(own, old, new).with_context(|| format!("cannot change {path}"))?;
        files.push((path, if others.is_empty() { own } else { format!("{own}\"node_modules/{others}") }));
    }
    for path in CARGO_LOCKS {
        files.push((path, with_locked_version(&read(repository, path)?, old, new)));
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

/// Replaces the versions of the packages of this workspace in a lock file of cargo.
fn with_locked_version(text: &str, old: &str, new: &str) -> String {
    let mut is_own = false;
    let lines = text.split_inclusive('\n').map(|line| {
        if let Some(name) = line.strip_prefix("name = \"").and_then(|rest| rest.trim_end().strip_suffix('"')) {
            is_own = is_own_package(name);
        }
        let is_version = line.trim_end() == format!("version = \"{old}\"");
        if is_own && is_version { format!("version = \"{new}\"\n") } else { line.to_owned() }
    });
    lines.collect()
}

fn is_own_package(name: &str) -> bool {
    let rest = name.strip_prefix(OWN_PACKAGE_PREFIX);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) || OTHER_OWN_PACKAGES.contains(&name)
}

/// Fails unless a release can be made: nothing is uncommitted, the version grows, and its tag is free.
pub(super) fn check_release(repository: &Repository, old: &str, new: &str) -> Result<()> {
    let parse = |version: &str| version_numbers(version).with_context(|| format!("{version} is not a version"));
    let (old_numbers, new_numbers) = (parse(old)?, parse(new)?);
    // A release comes after its pre-releases.
    let order = (new_numbers, !new.contains('-')).cmp(&(old_numbers, !old.contains('-')));
    ensure!(order.is_gt(), "{new} is not newer than the current version {old}");
    let changes = git(repository, &["status", "--porcelain"])?;
    ensure!(changes.is_empty(), "the working tree has changes; commit or stash them:\n{}", changes.trim_end());
    let tag = git(repository, &["tag", "--list", &format!("v{new}")])?;
    ensure!(tag.is_empty(), "the tag v{new} exists; delete it, or choose another version");
    Ok(())
}

fn git(repository: &Repository, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).current_dir(repository.root()).output();
    let output = output.context("cannot start git")?;
    let command = arguments.join(" ");
    ensure!(output.status.success(), "`git {command}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
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
    fn only_own_packages_of_a_lock_file_are_changed() {
        let package =
            |name: &str, version: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n");
        let lock = |own: &str| {
            package("instant", "0.1.0")
                + &package("interlingua", own)
                + &package("interlingua-agents", own)
                + &package("xtask", own)
        };
        assert_eq!(with_locked_version(&lock("0.1.0"), "0.1.0", "0.2.0"), lock("0.2.0"));
    }

    /// A repository with one commit.
    fn repository() -> (tempfile::TempDir, Repository) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("agent-schemas")).unwrap();
        std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        let repository = Repository::containing(folder.path()).unwrap();
        git(&repository, &["init", "--quiet"]).unwrap();
        git(&repository, &["add", "."]).unwrap();
        let author = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        git(&repository, &[&author[..], &["commit", "--quiet", "--message", "start"]].concat()).unwrap();
        (folder, repository)
    }

    #[test]
    fn a_release_needs_a_clean_tree_a_newer_version_and_a_free_tag() {
        let (folder, repository) = repository();
        let error = |new: &str| check_release(&repository, "0.2.0", new).unwrap_err().to_string();
        check_release(&repository, "0.2.0", "0.2.1").unwrap();
        check_release(&repository, "0.2.0-rc.1", "0.2.0").unwrap();
        assert!(error("0.1.9").contains("not newer") && error("0.2.0").contains("not newer"));
        git(&repository, &["tag", "v0.3.0"]).unwrap();
        assert!(error("0.3.0").contains("the tag v0.3.0 exists"));
        std::fs::write(folder.path().join("Cargo.toml"), "changed").unwrap();
        assert!(error("0.4.0").contains("the working tree has changes"));
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

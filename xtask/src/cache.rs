//! Installed packages, kept so that a second pull of the same versions downloads nothing.
//!
//! One folder per set of exact versions, named after them. A set is installed in a folder beside it and renamed when
//! it is complete: a folder with the final name is always whole, whatever was interrupted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::npm::Npm;

/// Overrides where the cache is.
pub(crate) const VARIABLE: &str = "INTERLINGUA_CACHE_DIR";

const PARTIAL: &str = ".partial-";
/// A partial installation of this age belongs to nobody any more.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);

/// The folder of installed packages.
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Exact versions that are installed side by side.
pub(crate) struct PackageSet {
    /// Name and version of each; at least one, the most important first.
    pub(crate) packages: Vec<(String, String)>,
    /// Whether optional dependencies (the native binaries) are installed too.
    pub(crate) optional: bool,
}

/// A set of packages on disk.
pub(crate) struct Installed {
    /// The folder that has `node_modules`.
    pub(crate) folder: PathBuf,
    lock: Value,
}

/// What npm resolved one package to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The exact version.
    pub(crate) version: String,
    /// The hash that npm checked the download against.
    pub(crate) integrity: String,
    /// The licence that the package states.
    pub(crate) licence: Option<String>,
}

impl Cache {
    /// The cache at `chosen`, else at `$INTERLINGUA_CACHE_DIR`, else in the user's cache folder.
    pub(crate) fn locate(chosen: Option<&Path>) -> Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = chosen
            .map(Path::to_owned)
            .or_else(|| variable(VARIABLE))
            .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("interlingua")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/interlingua")))
            .or_else(|| variable("LOCALAPPDATA").map(|home| home.join("interlingua")))
            .with_context(|| format!("there is no HOME to keep the cache in: set {VARIABLE}"))?;
        Ok(Self { folder: std::path::absolute(folder).context("cannot tell where the cache is")?.join("npm") })
    }

    /// The set on disk, installed by npm if it is not there yet.
    pub(crate) fn install(&self, npm: &Npm, set: &PackageSet) -> Result<Installed> {
        let folder = self.folder.join(set.folder_name());
        if !folder.is_dir() {
            self.fill(npm, set, &folder)?;
        }
        let broken = || format!("{} is damaged: remove it and run this again", folder.display());
        let lock = std::fs::read_to_string(folder.join("package-lock.json")).with_context(broken)?;
        let lock = serde_json::from_str(&lock).with_context(broken)?;
        let installed = Installed { folder, lock };
        for (name, version) in &set.packages {
            let found = installed.resolved(name)?.version;
            if found != *version {
                bail!("asked npm for {name}@{version} and got {found}");
            }
        }
        Ok(installed)
    }

    fn fill(&self, npm: &Npm, set: &PackageSet, folder: &Path) -> Result<()> {
        let place = || format!("cannot write the cache in {}", self.folder.display());
        std::fs::create_dir_all(&self.folder).with_context(place)?;
        self.sweep();
        let partial = tempfile::Builder::new().prefix(PARTIAL).tempdir_in(&self.folder).with_context(place)?;
        let wanted: serde_json::Map<_, _> =
            set.packages.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
        let manifest = json!({ "private": true, "dependencies": wanted });
        std::fs::write(partial.path().join("package.json"), format!("{manifest:#}")).with_context(place)?;
        npm.install(partial.path(), set.optional, &set.main(), &set.title())?;
        match std::fs::rename(partial.path(), folder) {
            Ok(()) => {
                // It lives under its final name now; there is nothing to remove.
                let _ = partial.keep();
                Ok(())
            }
            // Another process was faster: its installation is as good, ours is removed with `partial`.
            Err(_) if folder.is_dir() => Ok(()),
            Err(error) => Err(error).with_context(place),
        }
    }

    /// Removes what an interrupted run left behind. Best effort: it only takes space.
    fn sweep(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten() {
            let age = entry.metadata().and_then(|m| m.modified()).map(|time| time.elapsed().unwrap_or_default());
            if entry.file_name().to_string_lossy().starts_with(PARTIAL) && age.is_ok_and(|age| age > ABANDONED) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl PackageSet {
    /// The packages as one would ask npm for them.
    fn specs(&self) -> Vec<String> {
        let specs = self.packages.iter();
        specs.map(|(name, version)| format!("{name}@{version}")).collect()
    }

    fn main(&self) -> String {
        self.specs().into_iter().next().unwrap_or_default()
    }

    /// A short name for all of them.
    fn title(&self) -> String {
        match self.packages.len() {
            1 => self.main(),
            more => format!("{} and {} more", self.main(), more - 1),
        }
    }

    fn folder_name(&self) -> String {
        let name = self.specs().join(",").replace('/', "+");
        if self.optional { format!("{name},native") } else { name }
    }
}

impl Installed {
    /// The folder of one package.
    pub(crate) fn package(&self, name: &str) -> PathBuf {
        self.folder.join("node_modules").join(name)
    }

    /// What npm resolved `name` (its folder under `node_modules`) to.
    pub(crate) fn resolved(&self, name: &str) -> Result<Resolved> {
        let entry = self.lock.get("packages").and_then(|all| all.get(format!("node_modules/{name}")));
        let field = |key: &str| entry.and_then(|entry| entry.get(key)).and_then(Value::as_str).map(str::to_owned);
        match (field("version"), field("integrity")) {
            (Some(version), Some(integrity)) => Ok(Resolved { version, integrity, licence: field("license") }),
            _ => bail!("{} has no package {name} with version and integrity", self.folder.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(packages: &[(&str, &str)], optional: bool) -> PackageSet {
        let packages = packages.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect();
        PackageSet { packages, optional }
    }

    #[test]
    fn a_set_is_named_by_its_packages_and_versions() {
        let types = set(&[("@openai/codex-sdk", "0.163.0"), ("zod", "4.6.7")], false);
        assert_eq!(types.folder_name(), "@openai+codex-sdk@0.163.0,zod@4.6.7");
        assert_eq!(set(&[("zod", "4.6.7")], true).folder_name(), "zod@4.6.7,native");
    }

    #[test]
    fn a_complete_set_is_used_without_npm_and_a_wrong_version_is_noticed() {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::locate(Some(home.path())).unwrap();
        let folder = home.path().join("npm/zod@4.6.7");
        std::fs::create_dir_all(&folder).unwrap();
        let lock = |version: &str| json!({"packages": {"node_modules/zod": {"version": version, "integrity": "sha512-x", "license": "MIT"}}});
        let npm = Npm::default();
        std::fs::write(folder.join("package-lock.json"), lock("4.6.7").to_string()).unwrap();
        let installed = cache.install(&npm, &set(&[("zod", "4.6.7")], false)).unwrap();
        assert_eq!(installed.resolved("zod").unwrap().licence.as_deref(), Some("MIT"));
        std::fs::write(folder.join("package-lock.json"), lock("4.6.8").to_string()).unwrap();
        let error = cache.install(&npm, &set(&[("zod", "4.6.7")], false)).err().unwrap();
        assert_eq!(error.to_string(), "asked npm for zod@4.6.7 and got 4.6.8");
    }
}

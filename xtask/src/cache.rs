//! Cache of installed npm packages, so that a second pull of the same versions downloads nothing.
//!
//! There is one folder per set of exact versions, and it is named after them. A set is installed into a temporary
//! folder, which is renamed when the installation is complete. So a folder with its final name is complete, even if a
//! run was interrupted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::npm::Npm;

/// Environment variable with the folder of the cache.
pub(crate) const CACHE_DIR_VARIABLE: &str = "INTERLINGUA_CACHE_DIR";

/// Prefix of the folders of incomplete installations.
const PARTIAL_PREFIX: &str = ".partial-";
/// An incomplete installation that is older than this was abandoned, and is deleted.
const PARTIAL_MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The cache folder.
pub(crate) struct Cache {
    folder: PathBuf,
}

/// Packages of exact versions that are installed into one folder.
pub(crate) struct PackageSet {
    /// Name and version of each package. At least one; the main package comes first.
    pub(crate) packages: Vec<(String, String)>,
    /// Whether optional dependencies (the native programs) are installed too.
    pub(crate) with_optional: bool,
}

/// An installed set of packages.
pub(crate) struct Installation {
    /// The folder that contains `node_modules`.
    pub(crate) folder: PathBuf,
    /// The parsed `package-lock.json`.
    lock: Value,
}

/// A package as npm resolved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedPackage {
    /// The exact version.
    pub(crate) version: String,
    /// The hash against which npm checked the download.
    pub(crate) integrity: String,
    /// The licence that the package states.
    pub(crate) licence: Option<String>,
}

impl Cache {
    /// The cache in `folder`, or in `$INTERLINGUA_CACHE_DIR`, or in the user's cache folder.
    pub(crate) fn locate(folder: Option<&Path>) -> Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = folder
            .map(Path::to_owned)
            .or_else(|| variable(CACHE_DIR_VARIABLE))
            .or_else(|| variable("XDG_CACHE_HOME").map(|home| home.join("interlingua")))
            .or_else(|| variable("HOME").map(|home| home.join(".cache/interlingua")))
            .or_else(|| variable("LOCALAPPDATA").map(|home| home.join("interlingua")))
            .with_context(|| {
                format!("cannot find a folder for the cache, because HOME is not set: set {CACHE_DIR_VARIABLE}")
            })?;
        Ok(Self {
            folder: std::path::absolute(folder).context("cannot determine the folder of the cache")?.join("npm"),
        })
    }

    /// Returns the installation of a set. Installs it with npm if it is not in the cache.
    pub(crate) fn install(&self, npm: &Npm, set: &PackageSet) -> Result<Installation> {
        let folder = self.folder.join(set.folder_name());
        if !folder.is_dir() {
            self.install_into(npm, set, &folder)?;
        }
        let damaged = || format!("the cache folder {} is damaged: delete it and try again", folder.display());
        let lock = std::fs::read_to_string(folder.join("package-lock.json")).with_context(damaged)?;
        let lock = serde_json::from_str(&lock).with_context(damaged)?;
        let installed = Installation { folder, lock };
        for (name, version) in &set.packages {
            let found = installed.resolved(name)?.version;
            if found != *version {
                bail!("npm installed {name}@{found} instead of {version}");
            }
        }
        Ok(installed)
    }

    fn install_into(&self, npm: &Npm, set: &PackageSet, folder: &Path) -> Result<()> {
        let context = || format!("cannot write to the cache in {}", self.folder.display());
        std::fs::create_dir_all(&self.folder).with_context(context)?;
        self.delete_abandoned();
        let partial = tempfile::Builder::new().prefix(PARTIAL_PREFIX).tempdir_in(&self.folder).with_context(context)?;
        let dependencies: serde_json::Map<_, _> =
            set.packages.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
        let manifest = json!({ "private": true, "dependencies": dependencies });
        std::fs::write(partial.path().join("package.json"), format!("{manifest:#}")).with_context(context)?;
        npm.install(partial.path(), set.with_optional, &set.main_spec(), &set.title())?;
        match std::fs::rename(partial.path(), folder) {
            Ok(()) => {
                // The folder has its final name, so the temporary folder must not be deleted.
                let _ = partial.keep();
                Ok(())
            }
            // Another process has installed the same set. Ours is deleted together with `partial`.
            Err(_) if folder.is_dir() => Ok(()),
            Err(error) => Err(error).with_context(context),
        }
    }

    /// Deletes incomplete installations of interrupted runs. Ignores errors, because they only take space.
    fn delete_abandoned(&self) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else {
            return;
        };
        for entry in entries.flatten() {
            let age = entry.metadata().and_then(|m| m.modified()).map(|time| time.elapsed().unwrap_or_default());
            if entry.file_name().to_string_lossy().starts_with(PARTIAL_PREFIX)
                && age.is_ok_and(|age| age > PARTIAL_MAX_AGE)
            {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl PackageSet {
    /// The packages as `name@version`.
    fn specs(&self) -> Vec<String> {
        let specs = self.packages.iter();
        specs.map(|(name, version)| format!("{name}@{version}")).collect()
    }

    /// The main package as `name@version`.
    fn main_spec(&self) -> String {
        self.specs().into_iter().next().unwrap_or_default()
    }

    /// A short description of the set.
    fn title(&self) -> String {
        match self.packages.len() {
            1 => self.main_spec(),
            more => format!("{} and {} more", self.main_spec(), more - 1),
        }
    }

    fn folder_name(&self) -> String {
        let name = self.specs().join(",").replace('/', "+");
        if self.with_optional { format!("{name},native") } else { name }
    }
}

impl Installation {
    /// The folder of one package.
    pub(crate) fn package_folder(&self, name: &str) -> PathBuf {
        self.folder.join("node_modules").join(name)
    }

    /// The package that npm installed into the folder `name` below `node_modules`.
    pub(crate) fn resolved(&self, name: &str) -> Result<ResolvedPackage> {
        let entry = self.lock.get("packages").and_then(|all| all.get(format!("node_modules/{name}")));
        let field = |key: &str| entry.and_then(|entry| entry.get(key)).and_then(Value::as_str).map(str::to_owned);
        match (field("version"), field("integrity")) {
            (Some(version), Some(integrity)) => Ok(ResolvedPackage { version, integrity, licence: field("license") }),
            _ => bail!(
                "package-lock.json in {} has no version and integrity of the package {name}",
                self.folder.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(packages: &[(&str, &str)], with_optional: bool) -> PackageSet {
        let packages = packages.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect();
        PackageSet { packages, with_optional }
    }

    #[test]
    fn a_folder_is_named_after_packages_and_versions() {
        let types = set(&[("@openai/codex-sdk", "0.163.0"), ("zod", "4.6.7")], false);
        assert_eq!(types.folder_name(), "@openai+codex-sdk@0.163.0,zod@4.6.7");
        assert_eq!(set(&[("zod", "4.6.7")], true).folder_name(), "zod@4.6.7,native");
    }

    #[test]
    fn a_complete_set_is_used_without_npm_and_a_wrong_version_is_an_error() {
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
        assert_eq!(error.to_string(), "npm installed zod@4.6.8 instead of 4.6.7");
    }
}

//! The program of an agent in the folder of its npm package.
//!
//! Claude Code, OpenCode and Amp are native programs. The package that users install contains only a stub, and its
//! install script replaces the stub by the program of a *platform package*, such as `…-linux-x64`, which is an optional
//! dependency. Package managers may not run install scripts, so the program of the platform package is started directly.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::is_program;

/// Levels of dependencies in which platform packages are searched. Amp's is a dependency of a renamed package.
const MAX_DEPTH: usize = 3;

/// What is read of a `package.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Manifest {
    version: Option<String>,
    dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
    engines: BTreeMap<String, String>,
    os: Vec<String>,
    cpu: Vec<String>,
}

impl Manifest {
    fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read(folder.join("package.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn is_platform_package(&self) -> bool {
        !self.os.is_empty() || !self.cpu.is_empty()
    }
}

/// An installed npm package in a `node_modules` folder.
#[derive(Debug)]
pub(super) struct InstalledPackage<'a> {
    modules: &'a Path,
    name: &'static str,
}

impl<'a> InstalledPackage<'a> {
    /// The first of these packages that is installed.
    pub(super) fn find(modules: &'a Path, mut names: impl Iterator<Item = &'static str>) -> Option<Self> {
        let name = names.find(|name| modules.join(name).join("package.json").is_file())?;
        Some(Self { modules, name })
    }

    /// The version in its `package.json`.
    pub(super) fn version(&self) -> Option<String> {
        Manifest::read(&self.modules.join(self.name))?.version
    }

    /// The versions of Node.js that the package declares to need, such as `>=22.0.0`.
    pub(super) fn node_requirement(&self) -> Option<String> {
        Manifest::read(&self.modules.join(self.name))?.engines.remove("node")
    }

    /// The native program in one of the platform packages that npm chose for this machine.
    pub(super) fn native_program(&self, program: &str) -> Option<PathBuf> {
        let mut names = Vec::new();
        collect_platform_packages(self.modules, self.name, MAX_DEPTH, &mut names);
        // A baseline build is for processors without AVX2, and is installed beside the normal one.
        let is_baseline = |name: &String| name.contains("baseline");
        names.sort_by_key(|name| is_baseline(name) == has_avx2());
        names
            .iter()
            .map(|name| self.modules.join(name))
            .flat_map(|folder| [folder.join(program), folder.join("bin").join(program)])
            .find(|path| is_program(path))
    }
}

fn collect_platform_packages(modules: &Path, name: &str, depth: usize, found: &mut Vec<String>) {
    let Some(manifest) = Manifest::read(&modules.join(name)) else { return };
    for dependency in manifest.optional_dependencies.into_keys() {
        let is_platform = Manifest::read(&modules.join(&dependency)).is_some_and(|it| it.is_platform_package());
        if is_platform && !found.contains(&dependency) {
            found.push(dependency);
        }
    }
    if depth > 1 {
        for dependency in manifest.dependencies.keys() {
            collect_platform_packages(modules, dependency, depth - 1, found);
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::{Value, json};
    use tempfile::TempDir;

    use super::*;

    fn add_package(modules: &Path, name: &str, manifest: &Value) {
        std::fs::create_dir_all(modules.join(name)).unwrap();
        std::fs::write(modules.join(name).join("package.json"), manifest.to_string()).unwrap();
    }

    fn add_program(modules: &Path, path: &str) {
        let path = modules.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn native_program(modules: &TempDir, name: &'static str, program: &str) -> Option<String> {
        let package = InstalledPackage { modules: modules.path(), name };
        let found = package.native_program(program)?;
        Some(found.strip_prefix(modules.path()).unwrap().display().to_string())
    }

    #[test]
    fn the_program_is_taken_from_the_installed_platform_package() {
        let modules = tempfile::tempdir().unwrap();
        let platforms = json!({ "@a/agent-linux-x64": "1.0.0", "@a/agent-darwin-arm64": "1.0.0" });
        add_package(modules.path(), "@a/agent", &json!({ "version": "1.0.0", "optionalDependencies": platforms }));
        add_package(modules.path(), "@a/agent-linux-x64", &json!({ "os": ["linux"], "cpu": ["x64"] }));
        add_program(modules.path(), "@a/agent/bin/agent");
        assert_eq!(native_program(&modules, "@a/agent", "agent"), None, "the stub is not the program");
        add_program(modules.path(), "@a/agent-linux-x64/agent");
        assert_eq!(native_program(&modules, "@a/agent", "agent").as_deref(), Some("@a/agent-linux-x64/agent"));
    }

    #[test]
    fn a_renamed_package_leads_to_the_platform_package_of_its_dependency() {
        let modules = tempfile::tempdir().unwrap();
        add_package(modules.path(), "@old/agent", &json!({ "dependencies": { "@new/cli": "1.0.0" } }));
        add_package(modules.path(), "@new/cli", &json!({ "optionalDependencies": { "@new/cli-linux-x64": "1.0.0" } }));
        add_package(modules.path(), "@new/cli-linux-x64", &json!({ "os": ["linux"] }));
        add_program(modules.path(), "@new/cli-linux-x64/bin/agent");
        assert_eq!(native_program(&modules, "@old/agent", "agent").as_deref(), Some("@new/cli-linux-x64/bin/agent"));
    }

    #[test]
    fn the_baseline_build_is_for_processors_without_avx2() {
        let modules = tempfile::tempdir().unwrap();
        let platforms = json!({ "agent-linux-x64-baseline": "1", "agent-linux-x64": "1" });
        add_package(modules.path(), "agent", &json!({ "optionalDependencies": platforms }));
        for name in ["agent-linux-x64", "agent-linux-x64-baseline"] {
            add_package(modules.path(), name, &json!({ "os": ["linux"] }));
            add_program(modules.path(), &format!("{name}/bin/agent"));
        }
        let expected = if has_avx2() { "agent-linux-x64/bin/agent" } else { "agent-linux-x64-baseline/bin/agent" };
        assert_eq!(native_program(&modules, "agent", "agent").as_deref(), Some(expected));
    }

    #[test]
    fn a_package_of_scripts_has_no_native_program() {
        let modules = tempfile::tempdir().unwrap();
        let manifest = json!({ "engines": { "node": ">=18" }, "optionalDependencies": { "image-linux-x64": "1" } });
        add_package(modules.path(), "agent", &manifest);
        add_package(modules.path(), "image-linux-x64", &json!({ "os": ["linux"] }));
        assert_eq!(native_program(&modules, "agent", "agent"), None);
        let package = InstalledPackage::find(modules.path(), ["other", "agent"].into_iter()).unwrap();
        assert_eq!(package.node_requirement().as_deref(), Some(">=18"));
    }
}

//! The npm packages: `@interlingua/cli` with a launcher, `interlingua` with the TypeScript SDK, and one package per platform
//! with the program.
//!
//! The platform packages are optional dependencies of the others with `os` and `cpu`, so that npm installs only the one for
//! the machine. No package has an install script.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args as ClapArgs;
use serde_json::{Map, Value, json};

use super::{execute, release_folder, sdk, version};
use crate::repository::Repository;
use crate::{cargo, console};

/// Name of the package that users install.
const PACKAGE: &str = "@interlingua/cli";

/// Licences in every package.
const LICENCES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"];
/// What a package contains beside its manifest.
const FILES: [&str; 4] = ["bin", LICENCES[0], LICENCES[1], LICENCES[2]];

/// A platform that has a package.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Platform {
    /// `process.platform` and `process.arch` of Node. The launcher finds the package by them.
    os: &'static str,
    cpu: &'static str,
    /// The target of the program.
    pub(super) target: &'static str,
}

pub(super) const PLATFORMS: [Platform; 4] = [
    Platform { os: "linux", cpu: "x64", target: "x86_64-unknown-linux-musl" },
    Platform { os: "linux", cpu: "arm64", target: "aarch64-unknown-linux-musl" },
    Platform { os: "darwin", cpu: "x64", target: "x86_64-apple-darwin" },
    Platform { os: "darwin", cpu: "arm64", target: "aarch64-apple-darwin" },
];

impl Platform {
    fn package(&self) -> String {
        format!("{PACKAGE}-{}-{}", self.os, self.cpu)
    }

    /// The platform of this machine.
    fn host() -> Result<&'static Self> {
        let os = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        let cpu = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let host = PLATFORMS.iter().find(|platform| platform.os == os && platform.cpu == cpu);
        host.with_context(|| format!("there is no package for this machine ({os} {cpu})"))
    }

    fn manifest(&self, version: &str) -> Value {
        json!({
            "name": self.package(),
            "version": version,
            "description": format!("The interlingua program for {} {}", self.os, self.cpu),
            "license": "MIT OR Apache-2.0",
            "repository": { "type": "git", "url": "git+https://github.com/interlingua-dev/interlingua.git" },
            "os": [self.os],
            "cpu": [self.cpu],
            "preferUnplugged": true,
            "files": FILES,
        })
    }
}

#[derive(ClapArgs)]
pub(super) struct Args {
    /// Folder with the archives of `cargo xtask release build`, one per target
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    binaries: Option<PathBuf>,
    /// The program for this machine [default: target/debug/interlingua]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Folder for the packages [default: target/release-files]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Makes the packages of all platforms whose program is there, and the packages with the launcher and the SDK.
pub(super) fn run(repository: &Repository, args: &Args) -> Result<()> {
    let version = version::current(repository)?;
    let staging = tempfile::tempdir().context("cannot create a temporary folder")?;
    let programs = if let Some(folder) = &args.binaries {
        unpack_programs(repository, folder, &version, staging.path())?
    } else {
        let built = cargo::target_folder(repository).join("debug/interlingua");
        vec![(Platform::host()?, args.program.clone().unwrap_or(built))]
    };
    let output = match &args.output {
        Some(folder) => folder.clone(),
        None => release_folder(repository)?,
    };
    let output = std::path::absolute(output).context("cannot make the path of --output absolute")?;
    std::fs::create_dir_all(&output).with_context(|| format!("cannot create {}", output.display()))?;

    for (platform, program) in programs {
        let folder = staging.path().join(platform.package());
        write_package(repository, &folder, &platform.manifest(&version))?;
        copy(&program, &folder.join("bin/interlingua"))?;
        make_executable(&folder.join("bin/interlingua"))?;
        pack(repository, &folder, &output)?;
    }
    let folder = staging.path().join(PACKAGE);
    write_package(repository, &folder, &launcher_manifest(&version))?;
    copy(&repository.root().join("packaging/npm/interlingua.js"), &folder.join("bin/interlingua.js"))?;
    make_executable(&folder.join("bin/interlingua.js"))?;
    copy(&repository.root().join("packaging/npm/README.md"), &folder.join("README.md"))?;
    pack(repository, &folder, &output)?;
    let folder = staging.path().join("interlingua");
    sdk::write_package(repository, &folder, &version, platform_dependencies(&version))?;
    pack(repository, &folder, &output)
}

/// The platform packages as optional dependencies.
fn platform_dependencies(version: &str) -> Map<String, Value> {
    PLATFORMS.iter().map(|platform| (platform.package(), Value::from(version))).collect()
}

fn launcher_manifest(version: &str) -> Value {
    json!({
        "name": PACKAGE,
        "version": version,
        "description": "Claude Code, Codex, OpenCode and Amp as one stream of universal events",
        "keywords": ["coding-agent", "claude-code", "codex", "opencode", "amp", "cli"],
        "license": "MIT OR Apache-2.0",
        "repository": { "type": "git", "url": "git+https://github.com/interlingua-dev/interlingua.git" },
        "bin": { "interlingua": "bin/interlingua.js" },
        "files": FILES,
        "engines": { "node": ">=18" },
        "optionalDependencies": platform_dependencies(version),
    })
}

/// Takes the programs out of the archives in a folder. Every platform must have one.
fn unpack_programs(
    repository: &Repository,
    folder: &Path,
    version: &str,
    staging: &Path,
) -> Result<Vec<(&'static Platform, PathBuf)>> {
    let folder = std::path::absolute(folder).context("cannot make the path of --binaries absolute")?;
    let mut programs = Vec::new();
    for platform in &PLATFORMS {
        let name = format!("interlingua-{version}-{}", platform.target);
        let archive = folder.join(format!("{name}.tar.gz"));
        if !archive.is_file() {
            bail!(
                "{} is missing: build it with `cargo xtask release build --target {}`",
                archive.display(),
                platform.target
            );
        }
        let (from, to) = (archive.display().to_string(), staging.display().to_string());
        let member = format!("{name}/interlingua");
        execute(repository, "tar", &["-xzf", &from, "-C", &to, &member])?;
        programs.push((platform, staging.join(member)));
    }
    Ok(programs)
}

/// Creates a package with its manifest and the licences.
pub(super) fn write_package(repository: &Repository, folder: &Path, manifest: &Value) -> Result<()> {
    std::fs::create_dir_all(folder.join("bin")).with_context(|| format!("cannot create {}", folder.display()))?;
    for licence in LICENCES {
        copy(&repository.root().join(licence), &folder.join(licence))?;
    }
    write_manifest(folder, manifest)
}

/// Creates the folder of a package with its manifest.
pub(super) fn write_manifest(folder: &Path, manifest: &Value) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let text = format!("{manifest:#}\n");
    std::fs::write(folder.join("package.json"), text).with_context(|| format!("cannot write to {}", folder.display()))
}

/// Copies a file, into a folder that is created if it does not exist.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    std::fs::copy(from, to).map(drop).with_context(|| format!("cannot copy {}", from.display()))
}

#[cfg(unix)]
fn make_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(file, permissions).with_context(|| format!("cannot make {} executable", file.display()))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    bail!("packages are made on Linux or macOS, because they contain executable files")
}

fn pack(repository: &Repository, folder: &Path, output: &Path) -> Result<()> {
    let (folder, output) = (folder.display().to_string(), output.display().to_string());
    execute(repository, "npm", &["pack", "--silent", "--ignore-scripts", "--pack-destination", &output, &folder])?;
    console::print(format_args!(
        "packed {folder} into {output}\n",
        folder = folder.rsplit('/').next().unwrap_or_default()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_depends_on_exactly_its_own_version_and_runs_no_scripts() {
        let manifest = launcher_manifest("1.2.3");
        let platforms = manifest["optionalDependencies"].as_object().unwrap();
        assert_eq!(platforms.len(), PLATFORMS.len());
        assert!(platforms.values().all(|version| version == "1.2.3"));
        assert_eq!(platforms["@interlingua/cli-linux-x64"], "1.2.3");
        let all = PLATFORMS.iter().map(|platform| platform.manifest("1.2.3")).chain([manifest]);
        for manifest in all {
            assert!(manifest.get("scripts").is_none(), "{manifest}");
        }
    }
}

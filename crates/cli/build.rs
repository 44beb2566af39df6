//! Tells the program from which commit and for which target it is built.
//!
//! The commit comes from the variables `INTERLINGUA_COMMIT` and `INTERLINGUA_COMMIT_DATE`, or from git, or from the file
//! that cargo adds to a package. Builds without optimisation do not ask git, because each commit would make a new build.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Length of a commit in the version.
const COMMIT_LENGTH: usize = 10;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    set("TARGET", &env::var("TARGET").unwrap_or_default());
    let (commit, date) = from_environment()
        .or_else(|| is_optimised().then(from_git).flatten())
        .or_else(from_package)
        .unwrap_or_default();
    set("COMMIT", commit.get(..COMMIT_LENGTH).unwrap_or(&commit));
    set("COMMIT_DATE", &date);
}

fn set(name: &str, value: &str) {
    println!("cargo::rustc-env=INTERLINGUA_BUILD_{name}={value}");
}

fn is_optimised() -> bool {
    env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

/// The commit and its date, such as `2026-01-31`.
fn from_environment() -> Option<(String, String)> {
    let variable = |name: &str| {
        println!("cargo::rerun-if-env-changed={name}");
        env::var(name).ok().filter(|value| !value.is_empty())
    };
    let date = variable("INTERLINGUA_COMMIT_DATE").unwrap_or_default();
    Some((variable("INTERLINGUA_COMMIT")?, date))
}

fn from_git() -> Option<(String, String)> {
    let text = git(&["show", "--no-patch", "--format=%H %cs", "HEAD"])?;
    // Git appends to this file when the commit of the working tree changes.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).map(PathBuf::from).filter(|log| log.is_file()) {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    let (commit, date) = text.split_once(' ')?;
    Some((commit.to_owned(), date.to_owned()))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The commit of a package from a registry: `{"git": {"sha1": "…"}}`.
fn from_package() -> Option<(String, String)> {
    let folder = env::var_os("CARGO_MANIFEST_DIR")?;
    let text = fs::read_to_string(Path::new(&folder).join(".cargo_vcs_info.json")).ok()?;
    let commit = text.split('"').skip_while(|part| *part != "sha1").nth(2)?;
    Some((commit.to_owned(), String::new()))
}

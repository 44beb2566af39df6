//! Builds and runs other programs of this workspace.
//!
//! A program that links the generated types is built only when its task needs it. The tasks that do not need the types,
//! and that repair them, build even while the types do not.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};

use crate::repository::Repository;

/// Builds `binary` of `package`, runs it in the root of the repository, and returns its exit code.
pub(crate) fn run(package: &str, binary: &str, arguments: &[&str]) -> Result<ExitCode> {
    run_with_profile("dev", package, binary, arguments)
}

/// [`run`] with a cargo profile: `dev` builds faster, `release` runs faster.
pub(crate) fn run_with_profile(profile: &str, package: &str, binary: &str, arguments: &[&str]) -> Result<ExitCode> {
    let code = cargo(&run_arguments(profile, package, binary, arguments))?;
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Builds and runs `binary` of `package` and returns its standard output. `None` if it failed; it has then written the
/// reason to standard error.
pub(crate) fn capture(package: &str, binary: &str, arguments: &[&str]) -> Result<Option<Vec<u8>>> {
    output(command(&run_arguments("dev", package, binary, arguments))?)
}

/// [`capture`] of a program that prints colours as if to a terminal.
pub(crate) fn capture_in_colour(package: &str, binary: &str, arguments: &[&str]) -> Result<Option<Vec<u8>>> {
    let mut command = command(&run_arguments("dev", package, binary, arguments))?;
    command.env("CLICOLOR_FORCE", "1").env_remove("NO_COLOR");
    output(command)
}

fn output(mut command: Command) -> Result<Option<Vec<u8>>> {
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    Ok(output.status.success().then_some(output.stdout))
}

fn run_arguments<'a>(profile: &'a str, package: &'a str, binary: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "--quiet", "--profile", profile, "--package", package, "--bin", binary, "--"];
    [&run, arguments].concat()
}

/// Builds a package with a cargo profile. Returns whether the build succeeded.
pub(crate) fn build(profile: &str, package: &str) -> Result<bool> {
    Ok(cargo(&["build", "--profile", profile, "--package", package])? == Some(0))
}

/// Builds and runs benchmarks in one run. The whole workspace is selected, so that the generated types are built once for all
/// of them. Returns their exit code.
pub(crate) fn run_benches(names: &[&str], arguments: &[&str]) -> Result<ExitCode> {
    let is_success = cargo(&bench_arguments(names, arguments))? == Some(0);
    Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// [`run_benches`], but returns their standard output; `None` if one failed.
pub(crate) fn capture_benches(names: &[&str], arguments: &[&str]) -> Result<Option<Vec<u8>>> {
    output(command(&bench_arguments(names, arguments))?)
}

fn bench_arguments<'a>(names: &[&'a str], arguments: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["bench", "--quiet", "--workspace"];
    all.extend(names.iter().flat_map(|name| ["--bench", name]));
    all.push("--");
    all.extend(arguments);
    all
}

/// The version of the compiler, such as `rustc 1.90.0`.
pub(crate) fn compiler_version() -> Result<String> {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output().context("cannot start rustc")?;
    let version = String::from_utf8_lossy(&output.stdout);
    // Without commit and date.
    Ok(version.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// The folder in which cargo puts what it builds.
pub(crate) fn target_folder(repository: &Repository) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => repository.root().join(folder),
        None => repository.root().join("target"),
    }
}

/// Runs cargo in the root of the repository. Returns its exit code, or `None` if a signal killed it.
fn cargo(arguments: &[&str]) -> Result<Option<i32>> {
    Ok(command(arguments)?.status().context("cannot start cargo")?.code())
}

fn command(arguments: &[&str]) -> Result<Command> {
    let repository = Repository::find()?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(repository.root()).stdin(Stdio::null());
    Ok(command)
}

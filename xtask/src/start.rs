//! Starting a program of this workspace that does the work of a task.
//!
//! What links the generated types is built only when it is wanted, so that the tasks which need none of it, and mend
//! what is broken in it, always build.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result};

use crate::repository::Repository;

/// Builds and runs `binary` of `package` in the repository's root, and passes its exit code on.
pub(crate) fn start(package: &str, binary: &str, arguments: &[&str]) -> Result<ExitCode> {
    start_as("dev", package, binary, arguments)
}

/// The same, built with a profile: `dev` builds soon, `release` runs fast.
pub(crate) fn start_as(profile: &str, package: &str, binary: &str, arguments: &[&str]) -> Result<ExitCode> {
    let code = cargo(&run_arguments(profile, package, binary, arguments))?;
    Ok(code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Builds and runs `binary` of `package` and returns what it prints; `None` if it failed, which it has explained on
/// standard error.
pub(crate) fn capture(package: &str, binary: &str, arguments: &[&str]) -> Result<Option<Vec<u8>>> {
    let mut command = command(&run_arguments("dev", package, binary, arguments))?;
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    Ok(output.status.success().then_some(output.stdout))
}

fn run_arguments<'a>(profile: &'a str, package: &'a str, binary: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "--quiet", "--profile", profile, "--package", package, "--bin", binary, "--"];
    [&run, arguments].concat()
}

/// Builds a package with a profile; whether that worked.
pub(crate) fn build(profile: &str, package: &str) -> Result<bool> {
    Ok(cargo(&["build", "--profile", profile, "--package", package])? == Some(0))
}

/// Runs cargo in the repository's root; its exit code, if it was not ended by a signal.
fn cargo(arguments: &[&str]) -> Result<Option<i32>> {
    Ok(command(arguments)?.status().context("cannot start cargo")?.code())
}

fn command(arguments: &[&str]) -> Result<Command> {
    let repository = Repository::find()?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(repository.root()).stdin(Stdio::null());
    Ok(command)
}

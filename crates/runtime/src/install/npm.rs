//! Runs npm to install packages.
//!
//! npm's own configuration decides which registry is used, and through which proxy. Install scripts are not run: npm 12
//! blocks them by default, and `program` finds the native programs without them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interlingua_convert::Input;
use serde::Deserialize;
use tokio::time::{Instant, interval};

use crate::environment::Environment;
use crate::process::{Program, Supervisor};
use crate::process_environment::process_environment;

/// Interval between calls of `progress`.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// How long an installation may take.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// How long the registry may take to say which version a tag stands for. Also detects a missing network.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(9);

/// npm's error codes for a registry that does not answer.
const UNREACHABLE_CODES: [&str; 10] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ERR_SOCKET_TIMEOUT",
    "FETCH_ERROR",
    "ENOTCACHED",
];

/// Arguments of every npm command.
const COMMON_ARGS: [&str; 2] = ["--no-update-notifier", "--loglevel=error"];

/// The npm of this machine.
#[derive(Debug)]
pub(super) struct Npm<'a> {
    supervisor: &'a Supervisor,
    program: PathBuf,
}

/// Why npm did not do what it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NpmError {
    /// The registry does not have the package or the version.
    NoSuchVersion(String),
    /// Any other failure.
    Other(String),
}

impl NpmError {
    /// The reason, and the remedy if there is one.
    pub(super) fn into_message(self) -> String {
        match self {
            Self::NoSuchVersion(message) | Self::Other(message) => message,
        }
    }
}

impl<'a> Npm<'a> {
    /// Finds npm on this `PATH`.
    pub(super) fn find(supervisor: &'a Supervisor, path: Option<&OsStr>) -> Result<Self, String> {
        std::env::split_paths(path.unwrap_or_default())
            .map(|folder| folder.join("npm"))
            .find(|npm| super::is_program(npm))
            .map(|program| Self { supervisor, program })
            .ok_or_else(|| "npm is not on the PATH: install Node.js 20 or newer, which includes npm".to_owned())
    }

    /// The exact version that `spec` (`package@version` or `package@tag`) stands for.
    ///
    /// Left to itself, npm may install an older version than a tag names, and it retries for minutes if there is no
    /// network.
    pub(super) async fn resolve(&self, spec: &str) -> Result<String, NpmError> {
        let fetch_timeout = format!("--fetch-timeout={}", RESOLVE_TIMEOUT.as_millis());
        let args = ["view", spec, "version", "--json", "--fetch-retries=0", &fetch_timeout];
        let stdout = self.run(&args, &std::env::temp_dir(), spec, RESOLVE_TIMEOUT, || ()).await?;
        parse_version(&stdout).ok_or_else(|| NpmError::NoSuchVersion(format!("the npm registry has no {spec}")))
    }

    /// Installs a package into a folder, and calls `progress` at intervals with the number of bytes in the folder.
    pub(super) async fn install(
        &self,
        folder: &Path,
        spec: &str,
        mut progress: impl FnMut(u64) + Send,
    ) -> Result<(), String> {
        let folder_name =
            folder.to_str().ok_or("the path of the data folder is not UTF-8: choose another with --data-dir")?;
        let args = [
            "install",
            "--prefix",
            folder_name,
            "--save-exact",
            "--ignore-scripts",
            "--include=optional",
            "--no-audit",
            "--no-fund",
            // With npm's default retries, an offline machine waits for minutes.
            "--fetch-retries=2",
            "--fetch-retry-mintimeout=1000",
            "--fetch-retry-maxtimeout=5000",
            spec,
        ];
        let installed = self.run(&args, folder, spec, INSTALL_TIMEOUT, || progress(folder_size(folder))).await;
        progress(folder_size(folder));
        installed.map(drop).map_err(NpmError::into_message)
    }

    /// Runs npm in a folder, calls `on_tick` at intervals, and returns what it printed on standard output.
    async fn run(
        &self,
        args: &[&str],
        folder: &Path,
        spec: &str,
        timeout: Duration,
        mut on_tick: impl FnMut() + Send,
    ) -> Result<String, NpmError> {
        let program = Program {
            path: self.program.clone(),
            args: args.iter().chain(&COMMON_ARGS).map(|&arg| arg.to_owned()).collect(),
            env: process_environment(
                &["npm_config_*", "NPM_CONFIG_*", "NPM_TOKEN", "NODE_*"],
                &[],
                &Environment::default(),
            ),
            directory: folder.to_owned(),
        };
        let started = self.supervisor.start(program).await;
        let mut process = started.map_err(|error| NpmError::Other(error.to_string()))?;
        process.close_stdin();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let mut ticks = interval(PROGRESS_INTERVAL);
        let deadline = Instant::now() + timeout;
        loop {
            let output = tokio::select! {
                output = process.next() => output,
                now = ticks.tick() => {
                    on_tick();
                    if now > deadline {
                        return Err(NpmError::Other(explain_timeout(spec, timeout)));
                    }
                    continue;
                }
            };
            match output {
                Input::Received(line) => stdout.extend([line.as_str(), "\n"]),
                Input::Stderr(line) => stderr.extend([line.as_str(), "\n"]),
                Input::Exit { code: Some(0) } => return Ok(stdout),
                Input::Exit { .. } => return Err(explain_failure(&stderr, spec)),
                _ => {}
            }
        }
    }
}

/// Parses the output of `npm view SPEC version --json`: a string, or since npm 12 a list with one string. It is empty if
/// no version matches.
fn parse_version(stdout: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Printed {
        Version(String),
        List([String; 1]),
    }
    match serde_json::from_str(stdout).ok()? {
        Printed::Version(version) | Printed::List([version]) => Some(version),
    }
}

fn explain_timeout(spec: &str, timeout: Duration) -> String {
    if timeout == RESOLVE_TIMEOUT {
        let seconds = timeout.as_secs();
        return format!(
            "the npm registry did not answer within {seconds} s: check the network and npm's proxy settings"
        );
    }
    format!("npm did not finish installing {spec} within {} minutes", timeout.as_secs() / 60)
}

/// Turns npm's standard error into an error message with a remedy.
fn explain_failure(stderr: &str, spec: &str) -> NpmError {
    let lines = || stderr.lines().filter_map(|line| line.strip_prefix("npm error ")).map(str::trim);
    let code = lines().find_map(|line| line.strip_prefix("code ")).unwrap_or_default();
    if UNREACHABLE_CODES.contains(&code) {
        return NpmError::Other(format!(
            "npm cannot reach its registry ({code}): check the network and npm's proxy settings"
        ));
    }
    if ["E404", "ETARGET", "ENOVERSIONS"].contains(&code) {
        return NpmError::NoSuchVersion(format!("the npm registry has no {spec}"));
    }
    if code == "ENOSPC" {
        return NpmError::Other(format!("npm cannot install {spec}: the disk is full; free some space"));
    }
    let details = ["code ", "errno ", "syscall ", "path ", "A complete log"];
    let sentence = lines().find(|line| !line.is_empty() && !details.iter().any(|prefix| line.starts_with(prefix)));
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    NpmError::Other(format!("npm cannot install {spec}: {}", sentence.or(last).unwrap_or("it printed no reason")))
}

/// Number of bytes in a folder. Files come and go while npm works; those that cannot be read count as empty.
fn folder_size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => folder_size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(stderr: &str, spec: &str) -> String {
        explain_failure(stderr, spec).into_message()
    }

    #[test]
    fn an_unreachable_registry_is_reported() {
        let message = explain("npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n", "a@1");
        assert_eq!(message, "npm cannot reach its registry (EAI_AGAIN): check the network and npm's proxy settings");
    }

    #[test]
    fn the_version_is_read_as_every_npm_prints_it() {
        for stdout in ["\"1.2.3\"\n", "[\n  \"1.2.3\"\n]\n"] {
            assert_eq!(parse_version(stdout).as_deref(), Some("1.2.3"), "{stdout}");
        }
        for stdout in ["", "[]", "{}", "[\"1.2.3\", \"1.2.4\"]"] {
            assert_eq!(parse_version(stdout), None, "{stdout}");
        }
    }

    #[test]
    fn a_missing_version_is_named() {
        let error = explain_failure("npm error code ETARGET\nnpm error notarget No matching version found\n", "a@99");
        assert_eq!(error, NpmError::NoSuchVersion("the npm registry has no a@99".to_owned()));
    }

    #[test]
    fn any_other_failure_quotes_npm() {
        let stderr = "npm error code EACCES\nnpm error syscall mkdir\nnpm error permission denied\n";
        assert_eq!(explain(stderr, "a@1"), "npm cannot install a@1: permission denied");
        assert_eq!(explain("", "a@1"), "npm cannot install a@1: it printed no reason");
    }
}

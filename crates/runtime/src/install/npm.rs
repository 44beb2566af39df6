//! Runs npm to install packages.
//!
//! npm's own configuration decides which registry is used, and through which proxy. Install scripts are not run: npm 12
//! blocks them by default, and `program` finds the native programs without them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interlingua_agents::{NPM_MISSING, NpmFailure};
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

/// A release of a package, as the registry describes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// The exact version.
    pub(super) version: String,
    /// The versions of Node.js that it declares to need, such as `>=22.0.0`.
    pub(super) node: Option<String>,
    /// Whether its program is a script, which is run by Node.js.
    pub(super) program_is_script: bool,
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
            .ok_or_else(|| NPM_MISSING.to_owned())
    }

    /// The release that `spec` (`package@version` or `package@tag`) stands for. `program` is the name of its program.
    ///
    /// Left to itself, npm may install an older version than a tag names, and it retries for minutes if there is no
    /// network.
    pub(super) async fn resolve(&self, spec: &str, program: &str) -> Result<Release, NpmError> {
        let fetch_timeout = format!("--fetch-timeout={}", RESOLVE_TIMEOUT.as_millis());
        let args = ["view", spec, "version", "bin", "engines", "--json", "--fetch-retries=0", &fetch_timeout];
        let stdout = self.run(&args, &std::env::temp_dir(), spec, RESOLVE_TIMEOUT, || ()).await?;
        parse_release(&stdout, program)
            .ok_or_else(|| NpmError::NoSuchVersion(format!("the npm registry has no {spec}")))
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

/// Parses the output of `npm view SPEC version bin engines --json`: an object, or since npm 12 a list with one object. If
/// the package declares only its version, it is a string instead of an object. It is empty if no version matches.
fn parse_release(stdout: &str, program: &str) -> Option<Release> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Printed {
        One(Fields),
        List([Fields; 1]),
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Fields {
        Version(String),
        All {
            version: String,
            #[serde(default)]
            bin: BTreeMap<String, String>,
            #[serde(default)]
            engines: BTreeMap<String, String>,
        },
    }
    let (Printed::One(fields) | Printed::List([fields])) = serde_json::from_str(stdout).ok()?;
    Some(match fields {
        Fields::Version(version) => Release { version, node: None, program_is_script: false },
        Fields::All { version, bin, mut engines } => {
            let is_script = |path: &String| {
                let extension = Path::new(path).extension().and_then(OsStr::to_str);
                extension.is_some_and(|extension| ["js", "cjs", "mjs"].contains(&extension))
            };
            let program_is_script = bin.get(program).is_some_and(is_script);
            Release { version, node: engines.remove("node"), program_is_script }
        }
    })
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
    match NpmFailure::parse(stderr) {
        NpmFailure::NotFound(_) => NpmError::NoSuchVersion(format!("the npm registry has no {spec}")),
        failure @ NpmFailure::Unreachable(_) => NpmError::Other(failure.to_string()),
        failure => NpmError::Other(format!("npm cannot install {spec}: {failure}")),
    }
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
    fn a_release_is_read_as_every_npm_prints_it() {
        let release = |node: Option<&str>, program_is_script| {
            let node = node.map(str::to_owned);
            Some(Release { version: "1.2.3".to_owned(), node, program_is_script })
        };
        for stdout in ["\"1.2.3\"\n", "[\n  \"1.2.3\"\n]\n", r#"{"version": "1.2.3", "bin": {"a": "bin/a.exe"}}"#] {
            assert_eq!(parse_release(stdout, "a"), release(None, false), "{stdout}");
        }
        let script = r#"{"version": "1.2.3", "engines": {"node": ">=22"}, "bin": {"a": "dist/a.js", "b": "b.exe"}}"#;
        assert_eq!(parse_release(script, "a"), release(Some(">=22"), true));
        assert_eq!(parse_release(&format!("[{script}]"), "b"), release(Some(">=22"), false));
        for stdout in ["", "[]", "{}", "[\"1.2.3\", \"1.2.4\"]"] {
            assert_eq!(parse_release(stdout, "a"), None, "{stdout}");
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
        assert_eq!(explain(stderr, "a@1"), "npm cannot install a@1: EACCES, permission denied");
        assert_eq!(explain("", "a@1"), "npm cannot install a@1: it printed no reason");
    }
}

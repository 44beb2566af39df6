//! Runs the `npm` client and interprets its failures.
//!
//! All network access of this crate goes through npm. npm's own configuration determines the registry.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::progress::Progress;

const PROGRAM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// A failure of npm. Displayed as one line: what happened, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NpmError {
    /// npm is not on the `PATH`.
    Missing,
    /// The registry cannot be reached. Has npm's code for the reason.
    Unreachable(String),
    /// The registry does not have this package or version.
    NotFound(String),
    /// Any other failure, with npm's message.
    Other { command: String, message: String },
}

impl fmt::Display for NpmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "npm is not on the PATH: install Node.js 20 or newer, which includes it"),
            Self::Unreachable(code) => {
                write!(f, "npm cannot reach its registry ({code}): check the network and npm's proxy settings")
            }
            Self::NotFound(spec) => write!(f, "the npm registry has no {spec}"),
            Self::Other { command, message } => write!(f, "`npm {command}` failed: {message}"),
        }
    }
}

impl std::error::Error for NpmError {}

/// npm's error codes for a registry that does not answer.
const UNREACHABLE_CODES: [&str; 10] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ENETDOWN",
    "ERR_SOCKET_TIMEOUT",
    "ENOTCACHED",
];

/// npm's error codes for a package or version that does not exist.
const NOT_FOUND_CODES: [&str; 3] = ["E404", "ETARGET", "ENOVERSIONS"];

/// Arguments of every call: few and short retries, because with npm's defaults an offline machine waits for a minute;
/// and no output except errors.
const COMMON_ARGUMENTS: [&str; 5] = [
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
    "--loglevel=error",
    "--no-update-notifier",
];

/// The npm client of this machine.
#[derive(Default)]
pub(crate) struct Npm {
    /// The failure after which npm is no longer called: it is missing or offline. So the user waits for and reads one
    /// error instead of many.
    fatal_error: RefCell<Option<NpmError>>,
    /// Whether the registry has answered.
    has_reached_registry: Cell<bool>,
}

impl Npm {
    /// Reads one field of the registry's metadata of `spec` (`name` or `name@version`). `None` if the field is absent.
    pub(crate) fn view(&self, spec: &str, field: &str) -> Result<Option<Value>> {
        let subcommand = format!("view {spec} {field}");
        let output = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
        let mut command = Command::new(PROGRAM);
        command.args(["view", spec, field, "--json"]);
        command.stdout(output.reopen().context("cannot reopen a temporary file")?);
        self.run(command, &subcommand, spec, |child| child.wait().map(|status| status.success()))?;
        let text = std::fs::read_to_string(output.path()).with_context(|| format!("npm {subcommand}"))?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let value = serde_json::from_str(&text).with_context(|| format!("npm {subcommand}: the output is not JSON"))?;
        Ok(Some(unwrap_single(value)))
    }

    /// Installs the dependencies in `folder/package.json` into `folder`, without running scripts of packages.
    /// `main_spec` is one of the packages; `title` describes all of them in messages.
    pub(crate) fn install(&self, folder: &Path, with_optional: bool, main_spec: &str, title: &str) -> Result<()> {
        if !self.has_reached_registry.get() {
            // A small query first, because an offline npm takes long until an installation fails.
            self.view(main_spec, "version")?;
        }
        let mut command = Command::new(PROGRAM);
        command.current_dir(folder);
        command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]);
        if !with_optional {
            command.arg("--omit=optional");
        }
        command.stdout(Stdio::null());
        self.run(command, "install", title, |child| {
            let mut progress = Progress::start(title.to_owned());
            let success = loop {
                if let Some(status) = child.try_wait()? {
                    break status.success();
                }
                progress.tick(|| folder_size(folder));
                std::thread::sleep(Duration::from_millis(100));
            };
            progress.finish(success, || folder_size(folder));
            Ok(success)
        })
    }

    /// Runs `command`. `wait` waits for its exit and returns whether it succeeded. A failure becomes an [`NpmError`].
    fn run(
        &self,
        mut command: Command,
        subcommand: &str,
        subject: &str,
        wait: impl FnOnce(&mut Child) -> std::io::Result<bool>,
    ) -> Result<()> {
        if let Some(error) = self.fatal_error.borrow().clone() {
            return Err(error.into());
        }
        let stderr = tempfile::NamedTempFile::new().context("cannot create a temporary file")?;
        let stderr_file: File = stderr.reopen().context("cannot reopen a temporary file")?;
        command.args(COMMON_ARGUMENTS).stdin(Stdio::null()).stderr(stderr_file);
        let error = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => NpmError::Missing,
            Err(error) => return Err(error).context("cannot start npm"),
            Ok(mut child) => {
                if wait(&mut child).context("cannot wait for npm")? {
                    self.has_reached_registry.set(true);
                    return Ok(());
                }
                let stderr = std::fs::read(stderr.path()).context("cannot read the error output of npm")?;
                parse_error(&String::from_utf8_lossy(&stderr), subcommand, subject)
            }
        };
        if matches!(error, NpmError::Missing | NpmError::Unreachable(_)) {
            *self.fatal_error.borrow_mut() = Some(error.clone());
        }
        Err(error.into())
    }
}

/// The element of a list with one element. Since npm 12, `npm view` prints a list where it printed its only element.
fn unwrap_single(value: Value) -> Value {
    match value {
        Value::Array(mut list) if list.len() == 1 => list.swap_remove(0),
        other => other,
    }
}

/// Parses the error output of npm.
fn parse_error(stderr: &str, subcommand: &str, subject: &str) -> NpmError {
    let lines = || {
        stderr
            .lines()
            .filter_map(|line| line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! ")))
            .map(str::trim)
    };
    let code = lines().find_map(|line| line.strip_prefix("code ")).unwrap_or_default();
    if UNREACHABLE_CODES.contains(&code) {
        return NpmError::Unreachable(code.to_owned());
    }
    if NOT_FOUND_CODES.contains(&code) {
        let spec = lines().find_map(|line| line.strip_prefix("notarget No matching version found for "));
        return NpmError::NotFound(spec.map_or(subject, |spec| spec.trim_end_matches('.')).to_owned());
    }
    // npm prints details of the system call first. The first line after them is the message.
    let detail_prefixes = ["code ", "errno ", "syscall ", "path ", "A complete log"];
    let reason =
        lines().find(|line| !line.is_empty() && !detail_prefixes.iter().any(|prefix| line.starts_with(prefix)));
    let last_line = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    let message = match (code, reason) {
        ("", None) => last_line.unwrap_or("no error message").to_owned(),
        ("", Some(line)) => line.to_owned(),
        (code, None) => code.to_owned(),
        (code, Some(line)) => format!("{code}, {line}"),
    };
    NpmError::Other { command: subcommand.to_owned(), message }
}

/// Size of all files in `folder`. npm creates and deletes files meanwhile, so files that cannot be read count as empty.
fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
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

    #[test]
    fn an_unreachable_registry_is_detected() {
        let stderr = "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\nnpm error errno EAI_AGAIN\n";
        assert_eq!(parse_error(stderr, "install", "a@1"), NpmError::Unreachable("EAI_AGAIN".to_owned()));
        let old = "npm ERR! code ECONNREFUSED\n";
        assert_eq!(parse_error(old, "install", "a@1"), NpmError::Unreachable("ECONNREFUSED".to_owned()));
    }

    #[test]
    fn a_list_of_one_element_stands_for_the_element() {
        assert_eq!(unwrap_single(serde_json::json!(["1.2.3"])), "1.2.3");
        assert_eq!(unwrap_single(serde_json::json!("1.2.3")), "1.2.3");
        assert_eq!(unwrap_single(serde_json::json!(["1", "2"])), serde_json::json!(["1", "2"]));
    }

    #[test]
    fn a_missing_version_is_named() {
        let stderr =
            "npm error code ETARGET\nnpm error notarget No matching version found for @openai/codex-sdk@0.166.0.\n";
        assert_eq!(parse_error(stderr, "install", "a, b"), NpmError::NotFound("@openai/codex-sdk@0.166.0".to_owned()));
        assert_eq!(parse_error("npm error code E404\n", "view", "nix"), NpmError::NotFound("nix".to_owned()));
    }

    #[test]
    fn any_other_failure_has_the_message_of_npm() {
        let stderr = "npm error code EACCES\nnpm error syscall mkdir\nnpm error permission denied\n";
        let error = parse_error(stderr, "install", "a@1");
        assert_eq!(error.to_string(), "`npm install` failed: EACCES, permission denied");
        let silent = parse_error("", "install", "a@1");
        assert_eq!(silent.to_string(), "`npm install` failed: no error message");
        let other = parse_error("env: 'node': No such file or directory\n", "install", "a@1");
        assert_eq!(other.to_string(), "`npm install` failed: env: 'node': No such file or directory");
    }
}

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
use interlingua_agents::{NPM_MISSING, NpmFailure};
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
            Self::Missing => f.write_str(NPM_MISSING),
            Self::Unreachable(code) => NpmFailure::Unreachable(code.clone()).fmt(f),
            Self::NotFound(spec) => NpmFailure::NotFound(Some(spec.clone())).fmt(f),
            Self::Other { command, message } => write!(f, "`npm {command}` failed: {message}"),
        }
    }
}

impl std::error::Error for NpmError {}

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
    match NpmFailure::parse(stderr) {
        NpmFailure::Unreachable(code) => NpmError::Unreachable(code),
        NpmFailure::NotFound(spec) => NpmError::NotFound(spec.unwrap_or_else(|| subject.to_owned())),
        failure => NpmError::Other { command: subcommand.to_owned(), message: failure.to_string() },
    }
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
        assert_eq!(silent.to_string(), "`npm install` failed: it printed no reason");
        let other = parse_error("env: 'node': No such file or directory\n", "install", "a@1");
        assert_eq!(other.to_string(), "`npm install` failed: env: 'node': No such file or directory");
    }
}

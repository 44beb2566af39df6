//! The ordinary `npm` client, and what its failures mean.
//!
//! Everything that touches the network goes through here. Which registry is asked is npm's own configuration.

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

/// Why npm did not do what it was asked. One line each: what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no npm on the path.
    Missing,
    /// The registry cannot be reached; npm's own code for the reason.
    Unreachable(String),
    /// The registry answers that this does not exist.
    NotFound(String),
    /// Anything else, in npm's words.
    Other { asked: String, said: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(f, "npm is not on the PATH: install Node.js 20 or newer, which brings it"),
            Self::Unreachable(code) => {
                write!(f, "npm cannot reach its registry ({code}): check the network and npm's proxy settings")
            }
            Self::NotFound(what) => write!(f, "the registry has no {what}"),
            Self::Other { asked, said } => write!(f, "`npm {asked}` failed: {said}"),
        }
    }
}

impl std::error::Error for Failure {}

/// npm's codes for a registry that does not answer.
const UNREACHABLE: [&str; 10] = [
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

/// npm's codes for something that is not there.
const NOT_FOUND: [&str; 3] = ["E404", "ETARGET", "ENOVERSIONS"];

/// Given to every call: few and short retries (npm's own make an offline machine wait for a minute), no chatter.
const QUIET: [&str; 5] = [
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
    "--loglevel=error",
    "--no-update-notifier",
];

/// The npm client of this machine.
#[derive(Default)]
pub(crate) struct Npm {
    /// Set once npm turned out to be missing or offline: no later call is tried, so the user waits and reads once.
    down: RefCell<Option<Failure>>,
    /// Set once the registry has answered.
    reached: Cell<bool>,
}

impl Npm {
    /// One field of the registry's metadata of `spec` (`name` or `name@version`), or `None` where it has none.
    pub(crate) fn view(&self, spec: &str, field: &str) -> Result<Option<Value>> {
        let asked = format!("view {spec} {field}");
        let answer = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
        let mut command = Command::new(PROGRAM);
        command.args(["view", spec, field, "--json"]);
        command.stdout(answer.reopen().context("cannot reopen a temporary file")?);
        self.run(command, &asked, spec, |child| child.wait().map(|status| status.success()))?;
        let text = std::fs::read_to_string(answer.path()).with_context(|| format!("npm {asked}"))?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        serde_json::from_str(&text).map(Some).with_context(|| format!("npm {asked}: the answer is not JSON"))
    }

    /// Installs what `folder/package.json` depends on into `folder`, without running any package's scripts.
    /// `main` is one of those packages, `what` is what to call them all.
    pub(crate) fn install(&self, folder: &Path, optional: bool, main: &str, what: &str) -> Result<()> {
        if !self.reached.get() {
            // A small question first: an offline npm takes long to give up an installation.
            self.view(main, "version")?;
        }
        let mut command = Command::new(PROGRAM);
        command.current_dir(folder);
        command.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--save-exact"]);
        if !optional {
            command.arg("--omit=optional");
        }
        command.stdout(Stdio::null());
        self.run(command, "install", what, |child| {
            let mut progress = Progress::start(what.to_owned());
            let success = loop {
                if let Some(status) = child.try_wait()? {
                    break status.success();
                }
                progress.tick(|| bytes_in(folder));
                std::thread::sleep(Duration::from_millis(100));
            };
            progress.finish(success, || bytes_in(folder));
            Ok(success)
        })
    }

    /// Runs `command` to its end, which `wait` awaits, and turns npm's complaint into a [`Failure`].
    fn run(
        &self,
        mut command: Command,
        asked: &str,
        what: &str,
        wait: impl FnOnce(&mut Child) -> std::io::Result<bool>,
    ) -> Result<()> {
        if let Some(failure) = self.down.borrow().clone() {
            return Err(failure.into());
        }
        let complaint = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
        let sink: File = complaint.reopen().context("cannot reopen a temporary file")?;
        command.args(QUIET).stdin(Stdio::null()).stderr(sink);
        let failure = match command.spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => Failure::Missing,
            Err(error) => return Err(error).context("cannot start npm"),
            Ok(mut child) => {
                if wait(&mut child).context("cannot wait for npm")? {
                    self.reached.set(true);
                    return Ok(());
                }
                let said = std::fs::read(complaint.path()).context("cannot read what npm said")?;
                understand(&String::from_utf8_lossy(&said), asked, what)
            }
        };
        if matches!(failure, Failure::Missing | Failure::Unreachable(_)) {
            *self.down.borrow_mut() = Some(failure.clone());
        }
        Err(failure.into())
    }
}

/// The failure that npm's standard error describes.
fn understand(said: &str, asked: &str, what: &str) -> Failure {
    let lines = || {
        said.lines()
            .filter_map(|line| line.strip_prefix("npm error ").or_else(|| line.strip_prefix("npm ERR! ")))
            .map(str::trim)
    };
    let code = lines().find_map(|line| line.strip_prefix("code ")).unwrap_or_default();
    if UNREACHABLE.contains(&code) {
        return Failure::Unreachable(code.to_owned());
    }
    if NOT_FOUND.contains(&code) {
        let named = lines().find_map(|line| line.strip_prefix("notarget No matching version found for "));
        return Failure::NotFound(named.map_or(what, |spec| spec.trim_end_matches('.')).to_owned());
    }
    // npm starts with the system's view; the first line after that is the sentence.
    let system = ["code ", "errno ", "syscall ", "path ", "A complete log"];
    let reason = lines().find(|line| !line.is_empty() && !system.iter().any(|word| line.starts_with(word)));
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
    let said = match (code, reason) {
        ("", None) => last.unwrap_or("it gave no reason").to_owned(),
        ("", Some(line)) => line.to_owned(),
        (code, None) => code.to_owned(),
        (code, Some(line)) => format!("{code}, {line}"),
    };
    Failure::Other { asked: asked.to_owned(), said }
}

/// How much is in `folder` by now. Files come and go while npm works, so what cannot be read counts nothing.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offline_machine_is_recognised() {
        let said = "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\nnpm error errno EAI_AGAIN\n";
        assert_eq!(understand(said, "install", "a@1"), Failure::Unreachable("EAI_AGAIN".to_owned()));
        let old = "npm ERR! code ECONNREFUSED\n";
        assert_eq!(understand(old, "install", "a@1"), Failure::Unreachable("ECONNREFUSED".to_owned()));
    }

    #[test]
    fn a_version_that_does_not_exist_is_named() {
        let said =
            "npm error code ETARGET\nnpm error notarget No matching version found for @openai/codex-sdk@0.166.0.\n";
        assert_eq!(understand(said, "install", "a, b"), Failure::NotFound("@openai/codex-sdk@0.166.0".to_owned()));
        assert_eq!(understand("npm error code E404\n", "view", "nix"), Failure::NotFound("nix".to_owned()));
    }

    #[test]
    fn anything_else_is_told_in_npms_words() {
        let said = "npm error code EACCES\nnpm error syscall mkdir\nnpm error permission denied\n";
        let failure = understand(said, "install", "a@1");
        assert_eq!(failure.to_string(), "`npm install` failed: EACCES, permission denied");
        let silent = understand("", "install", "a@1");
        assert_eq!(silent.to_string(), "`npm install` failed: it gave no reason");
        let foreign = understand("env: 'node': No such file or directory\n", "install", "a@1");
        assert_eq!(foreign.to_string(), "`npm install` failed: env: 'node': No such file or directory");
    }
}

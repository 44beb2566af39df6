//! Installs packages with npm.
//!
//! npm's own configuration decides which registry is used, and through which proxy.

use std::path::Path;
use std::time::Duration;

use interlingua_convert::Input;
use tokio::time::{Instant, interval};

use crate::environment::Environment;
use crate::process::{Program, Supervisor};
use crate::process_environment::process_environment;

/// Interval between calls of `progress`.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// How long an installation may take.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(20 * 60);

/// npm's error codes for a registry that does not answer.
const UNREACHABLE_CODES: [&str; 9] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ERR_SOCKET_TIMEOUT",
    "ENOTCACHED",
];

/// Installs a package into a folder, and calls `progress` at intervals with the number of bytes in the folder.
pub(super) async fn install(
    supervisor: &Supervisor,
    folder: &Path,
    spec: &str,
    mut progress: impl FnMut(u64) + Send,
) -> Result<(), String> {
    let npm = find_npm().ok_or("npm is not on the PATH: install Node.js 20 or newer, which includes npm")?;
    let folder_name =
        folder.to_str().ok_or("the path of the data folder is not UTF-8: choose another with --data-dir")?;
    let args = [
        "install",
        "--prefix",
        folder_name,
        "--save-exact",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        // With npm's default retries, an offline machine waits for minutes.
        "--fetch-retries=2",
        "--fetch-retry-mintimeout=1000",
        "--fetch-retry-maxtimeout=5000",
        spec,
    ];
    let program = Program {
        path: npm,
        args: args.map(str::to_owned).to_vec(),
        env: process_environment(
            &["npm_config_*", "NPM_CONFIG_*", "NPM_TOKEN", "NODE_*"],
            &[],
            &Environment::default(),
        ),
        directory: folder.to_owned(),
    };
    let mut process = supervisor.start(program).await.map_err(|error| error.to_string())?;
    process.close_stdin();
    let mut stderr = String::new();
    let mut ticks = interval(PROGRESS_INTERVAL);
    let deadline = Instant::now() + INSTALL_TIMEOUT;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            now = ticks.tick() => {
                progress(folder_size(folder));
                if now > deadline {
                    let minutes = INSTALL_TIMEOUT.as_secs() / 60;
                    return Err(format!("npm did not finish installing {spec} within {minutes} minutes"));
                }
                continue;
            }
        };
        match output {
            Input::Stderr(line) => stderr.extend([line.as_str(), "\n"]),
            Input::Exit { code: Some(0) } => {
                progress(folder_size(folder));
                return Ok(());
            }
            Input::Exit { .. } => return Err(explain_failure(&stderr, spec)),
            _ => {}
        }
    }
}

fn find_npm() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("npm")).find(|npm| super::is_program(npm))
}

/// Turns npm's standard error into an error message with a remedy.
fn explain_failure(stderr: &str, spec: &str) -> String {
    let lines = || stderr.lines().filter_map(|line| line.strip_prefix("npm error ")).map(str::trim);
    let code = lines().find_map(|line| line.strip_prefix("code ")).unwrap_or_default();
    if UNREACHABLE_CODES.contains(&code) {
        return format!("npm cannot reach its registry ({code}): check the network and npm's proxy settings");
    }
    if ["E404", "ETARGET", "ENOVERSIONS"].contains(&code) {
        return format!("the npm registry has no {spec}");
    }
    if code == "ENOSPC" {
        return format!("npm cannot install {spec}: the disk is full");
    }
    let details = ["code ", "errno ", "syscall ", "path ", "A complete log"];
    let sentence = lines().find(|line| !line.is_empty() && !details.iter().any(|prefix| line.starts_with(prefix)));
    let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
    format!("npm cannot install {spec}: {}", sentence.or(last).unwrap_or("it printed no reason"))
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

    #[test]
    fn an_unreachable_registry_is_reported() {
        let message = explain_failure("npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n", "a@1");
        assert_eq!(message, "npm cannot reach its registry (EAI_AGAIN): check the network and npm's proxy settings");
    }

    #[test]
    fn a_missing_version_is_named() {
        let message = explain_failure("npm error code ETARGET\nnpm error notarget No matching version found\n", "a@99");
        assert_eq!(message, "the npm registry has no a@99");
    }

    #[test]
    fn any_other_failure_quotes_npm() {
        let stderr = "npm error code EACCES\nnpm error syscall mkdir\nnpm error permission denied\n";
        assert_eq!(explain_failure(stderr, "a@1"), "npm cannot install a@1: permission denied");
        assert_eq!(explain_failure("", "a@1"), "npm cannot install a@1: it printed no reason");
    }
}

//! npm, which fetches agents.
//!
//! Which registry is asked, and through which proxy, is npm's own configuration.

use std::path::Path;
use std::time::Duration;

use interlingua_convert::Input;
use tokio::time::{Instant, interval};

use crate::environment::Environment;
use crate::process::{Program, Supervisor};
use crate::variables::variables;

/// How often progress is told.
const TICK: Duration = Duration::from_millis(250);
/// How long npm may take.
const PATIENCE: Duration = Duration::from_secs(20 * 60);

/// npm's codes for a registry that does not answer.
const UNREACHABLE: [&str; 9] = [
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

/// Installs a package into a folder, and tells how many bytes are there by now.
pub(super) async fn install(
    supervisor: &Supervisor,
    folder: &Path,
    spec: &str,
    mut progress: impl FnMut(u64) + Send,
) -> Result<(), String> {
    let npm = find().ok_or("npm is not on the PATH: install Node.js 20 or newer, which brings it")?;
    let folder_name = folder.to_str().ok_or("the data folder has a name that is not UTF-8")?;
    let args = [
        "install",
        "--prefix",
        folder_name,
        "--save-exact",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        // npm's own patience makes an offline machine wait for minutes.
        "--fetch-retries=2",
        "--fetch-retry-mintimeout=1000",
        "--fetch-retry-maxtimeout=5000",
        spec,
    ];
    let program = Program {
        path: npm,
        args: args.map(str::to_owned).to_vec(),
        env: variables(&["npm_config_*", "NPM_CONFIG_*", "NPM_TOKEN", "NODE_*"], &[], &Environment::default()),
        directory: folder.to_owned(),
    };
    let mut process = supervisor.start(program).await.map_err(|error| error.to_string())?;
    process.close_input();
    let mut complaint = String::new();
    let mut ticks = interval(TICK);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            now = ticks.tick() => {
                progress(size(folder));
                if now > deadline {
                    return Err(format!("npm did not come to an end within {} minutes", PATIENCE.as_secs() / 60));
                }
                continue;
            }
        };
        match output {
            Input::Stderr(line) => complaint.extend([line.as_str(), "\n"]),
            Input::Exit { code: Some(0) } => {
                progress(size(folder));
                return Ok(());
            }
            Input::Exit { .. } => return Err(understood(&complaint, spec)),
            _ => {}
        }
    }
}

fn find() -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("npm")).find(|npm| super::is_program(npm))
}

/// What npm's complaint means, and what to do about it.
fn understood(complaint: &str, spec: &str) -> String {
    let lines = || complaint.lines().filter_map(|line| line.strip_prefix("npm error ")).map(str::trim);
    let code = lines().find_map(|line| line.strip_prefix("code ")).unwrap_or_default();
    if UNREACHABLE.contains(&code) {
        return format!("npm cannot reach its registry ({code}): check the network and npm's proxy settings");
    }
    if ["E404", "ETARGET", "ENOVERSIONS"].contains(&code) {
        return format!("the registry has no {spec}");
    }
    if code == "ENOSPC" {
        return "the disk is full".to_owned();
    }
    let systems = ["code ", "errno ", "syscall ", "path ", "A complete log"];
    let sentence = lines().find(|line| !line.is_empty() && !systems.iter().any(|word| line.starts_with(word)));
    let last = complaint.lines().map(str::trim).rfind(|line| !line.is_empty());
    format!("npm could not install {spec}: {}", sentence.or(last).unwrap_or("it gave no reason"))
}

/// How much is in a folder by now. Files come and go while npm works; what cannot be read counts nothing.
fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offline_machine_is_told_so() {
        let said = understood("npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n", "a@1");
        assert_eq!(said, "npm cannot reach its registry (EAI_AGAIN): check the network and npm's proxy settings");
    }

    #[test]
    fn a_version_that_nobody_published_is_named() {
        let said = understood("npm error code ETARGET\nnpm error notarget No matching version found\n", "a@99");
        assert_eq!(said, "the registry has no a@99");
    }

    #[test]
    fn anything_else_is_told_in_npms_words() {
        let said = understood("npm error code EACCES\nnpm error syscall mkdir\nnpm error permission denied\n", "a@1");
        assert_eq!(said, "npm could not install a@1: permission denied");
        assert_eq!(understood("", "a@1"), "npm could not install a@1: it gave no reason");
    }
}

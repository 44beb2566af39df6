//! Checks of the machine: npm, namespaces, the data directory and the port.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use interlingua_client::Client;

use super::Check;
use super::agent_checks::print_version;
use crate::server_file::find_server;

/// Oldest major version of npm that installs agents.
const MIN_NPM: u32 = 10;
/// Below this, there is little room for sessions, and none for another agent.
const LOW_DISK_BYTES: u64 = 1 << 30;

/// Checks npm and Node.js, which are needed to install agents. Some agents are scripts, which Node.js runs.
pub(super) async fn check_npm() -> Vec<Check> {
    let remedy = "install Node.js 22 or newer, which includes npm; agents that are installed already may not need it";
    let mut checks = Vec::new();
    for name in ["node", "npm"] {
        let version = match find_on_path(name) {
            Some(path) => print_version(&path).await,
            None => None,
        };
        checks.push(match version {
            None => Check::note(name, "not found on the PATH; agents cannot be installed", remedy),
            Some(version) if name == "npm" && major(&version).is_some_and(|major| major < MIN_NPM) => {
                Check::note(name, format!("{version} is older than {MIN_NPM}"), remedy)
            }
            Some(version) => Check::ok(name, version.trim_start_matches('v')),
        });
    }
    checks
}

fn major(version: &str) -> Option<u32> {
    version.trim_start_matches('v').split('.').next()?.parse().ok()
}

fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Checks whether programs can make user namespaces, in which some agents confine the commands that they run.
pub(super) async fn check_namespaces() -> Option<Check> {
    const SUBJECT: &str = "user namespaces";
    if !cfg!(target_os = "linux") {
        return None;
    }
    let Some(unshare) = find_on_path("unshare") else {
        return Some(Check::note(SUBJECT, "cannot be checked without `unshare`", "install the package util-linux"));
    };
    let mut command = tokio::process::Command::new(unshare);
    command.args(["--user", "--map-root-user", "true"]).stdin(std::process::Stdio::null());
    let is_available = command.output().await.is_ok_and(|output| output.status.success());
    if is_available {
        return Some(Check::ok(SUBJECT, "available to the sandboxes of agents"));
    }
    let detail = "not available; agents cannot confine the commands that they run";
    Some(Check::note(SUBJECT, detail, namespace_remedy(|file| fs::read_to_string(file).ok())))
}

/// What allows user namespaces, according to the settings of the kernel.
fn namespace_remedy(read: impl Fn(&str) -> Option<String>) -> String {
    const BLOCKING_SETTINGS: [(&str, &str, &str); 3] = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "15000"),
    ];
    let blocks = |(name, blocking, _): &&(&str, &str, &str)| {
        let file = format!("/proc/sys/{}", name.replace('.', "/"));
        read(&file).is_some_and(|value| value.trim() == *blocking)
    };
    match BLOCKING_SETTINGS.iter().find(blocks) {
        Some((name, _, allowing)) => format!("run `sudo sysctl -w {name}={allowing}`"),
        None => "a container may forbid them; the container itself is then the boundary around the agent".to_owned(),
    }
}

/// Checks that the data directory can be written, and that there is room.
pub(super) fn check_data_dir(data_dir: &Path) -> Vec<Check> {
    const SUBJECT: &str = "data directory";
    let path = data_dir.display();
    // The directory is created when it is needed. Until then, the nearest folder that exists counts.
    let existing = data_dir.ancestors().find(|folder| folder.exists()).unwrap_or(data_dir);
    if let Err(error) = tempfile::tempfile_in(existing) {
        let detail = format!("{path} cannot be written: {error}");
        return vec![Check::problem(
            SUBJECT,
            detail,
            "correct its owner and permissions, or choose another with --data-dir",
        )];
    }
    let state = if data_dir.is_dir() { "can be written" } else { "does not exist yet, and can be created" };
    let mut checks = vec![Check::ok(SUBJECT, format!("{path} {state}"))];
    match rustix::fs::statvfs(existing) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let detail = format!("{} MiB free", free >> 20);
            checks.push(if free < LOW_DISK_BYTES {
                Check::note("disk", detail, "free some space, or choose another disk with --data-dir")
            } else {
                Check::ok("disk", detail)
            });
        }
        Err(error) => checks.push(Check::note("disk", format!("cannot be measured: {error}"), "check it with `df`")),
    }
    checks
}

/// Checks the server on the data directory, or, if none runs, whether a port is free for one.
pub(super) async fn check_server(data_dir: &Path, port: u16) -> Check {
    if let Some(server) = find_server(data_dir) {
        let ready = match Client::builder(&server.address).build() {
            Ok(client) => client.ready().await.map(drop),
            Err(error) => Err(error),
        };
        return match ready {
            Ok(()) => Check::ok("server", format!("{} is ready", server.address)),
            Err(error) => Check::problem(
                "server",
                format!("{} (process {}) is not ready: {error}", server.address, server.pid),
                "look at its log",
            ),
        };
    }
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Check::ok("port", format!("{port} is free for `interlingua server`")),
        Err(error) => {
            let reason = match error.kind() {
                ErrorKind::AddrInUse => "another program listens on it".to_owned(),
                _ => error.to_string(),
            };
            let detail = format!("{port} cannot be used: {reason}");
            Check::note("port", detail, "choose another with `interlingua server --port PORT`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_is_a_note() {
        let data_dir = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let check = check_server(data_dir.path(), port).await;
        assert_eq!((check.subject.as_str(), check.state), ("port", State::Note), "{check:?}");
        drop(listener);
        assert_eq!(check_server(data_dir.path(), port).await.state, State::Ok);
    }

    #[test]
    fn a_data_directory_that_is_below_a_file_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        let states = |path: &Path| check_data_dir(path).into_iter().map(|check| check.state).collect::<Vec<_>>();
        assert_eq!(states(&folder.path().join("not/yet"))[0], State::Ok);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a check creates nothing");
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(states(&file.join("data")), [State::Problem]);
    }

    #[test]
    fn the_setting_that_blocks_namespaces_is_named() {
        let ubuntu = |file: &str| file.ends_with("apparmor_restrict_unprivileged_userns").then(|| "1\n".to_owned());
        assert_eq!(namespace_remedy(ubuntu), "run `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`");
        assert!(namespace_remedy(|_| None).contains("container"));
    }

    #[test]
    fn the_major_version_is_read_with_and_without_a_prefix() {
        assert_eq!(["v20.1.0", "10.9.2", "?"].map(major), [Some(20), Some(10), None]);
    }
}

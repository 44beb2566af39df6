//! Isolation from the network and from other processes.
//!
//! A program that runs real agents runs itself again in its own namespaces. The network has only a loopback device: an
//! agent cannot reach its vendor, and fixed ports are always free. The file system is that of the machine, but with an
//! empty `/workspace` and an empty `/home/agent`, so that paths are the same in every recording, even where an agent
//! splits them. Process ids start at 1, and all remaining processes are killed when the program exits.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

/// Environment variable of the isolated run: the directory in which the program was started.
const ISOLATED_VARIABLE: &str = "INTERLINGUA_ISOLATED";

const REQUIREMENTS: &str = "this needs Linux with permission to create user, network and mount namespaces, and \
                            `unshare`, `mount` and `pivot_root` (util-linux) and `ip` (iproute2): without them an agent \
                            could reach the network";

/// Exit code of [`SETUP`] if a requirement is missing.
const SETUP_FAILED: u8 = 125;

/// Exists only in a root that [`SETUP`] has created. There, the content of `/workspace` and `/home/agent` may be
/// removed.
const ROOT_MARKER: &str = "/.interlingua-isolated";

/// Sets up the isolated file system. The new root is assembled in `/mnt` from the directories of the old one.
const SETUP: &str = r#"
trap 'exit 125' EXIT
PATH=$PATH:/usr/sbin:/sbin
set -e
ip link set lo up
mount -t tmpfs tmpfs /mnt
mkdir -p /mnt/workspace /mnt/home/agent /mnt/.old /mnt/mnt /mnt/.interlingua-isolated
for part in /* /home/*; do
    case "$part" in /mnt | /home | /workspace | /home/agent | "/home/*") continue ;; esac
    if [ -L "$part" ]; then cp -P "$part" "/mnt$part"
    elif [ -d "$part" ]; then
        mkdir "/mnt$part"
        mount --rbind "$part" "/mnt$part"
    fi
done
cd /mnt
pivot_root . .old
umount -l /.old
cd /
trap - EXIT
exec "$@"
"#;

/// Runs this program again, isolated, and returns its exit code; `None` if this is the isolated run.
///
/// # Errors
/// When this machine does not meet the requirements.
pub fn enter() -> Result<Option<ExitCode>> {
    if let Some(directory) = std::env::var_os(ISOLATED_VARIABLE) {
        verify()?;
        std::env::set_current_dir(&directory).with_context(|| format!("cannot change to {}", directory.display()))?;
        return Ok(None);
    }
    if !cfg!(target_os = "linux") {
        bail!("{REQUIREMENTS}; this is {}", std::env::consts::OS);
    }
    let program = std::env::current_exe().context("cannot determine the path of this program")?;
    let directory = std::env::current_dir().context("cannot determine the current directory")?;
    let status = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--net",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--",
        ])
        .args(["sh", "-c", SETUP, "sh"])
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(ISOLATED_VARIABLE, directory)
        .status();
    match status {
        Ok(status) => match u8::try_from(status.code().unwrap_or(1)) {
            // The isolated run exits with 0, 1 or 2. Any other code comes from `unshare` or the setup.
            Ok(code @ 0..=2) => Ok(Some(ExitCode::from(code))),
            Ok(SETUP_FAILED) => bail!("{REQUIREMENTS}; see the error above"),
            _ => bail!("{REQUIREMENTS}; `unshare` exited with {status}"),
        },
        Err(error) => bail!("{REQUIREMENTS}; cannot start `unshare`: {error}"),
    }
}

/// Runs `work` until it is done, or until SIGINT or SIGTERM.
///
/// The isolated run is the first process of its namespace. The kernel ignores signals to it, even Ctrl-C, unless it has
/// a handler for them.
///
/// # Errors
/// When the work fails, or a signal ends it.
pub async fn run_until_signal<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
    }
}

/// Verifies that this run really is isolated, whatever the environment says.
fn verify() -> Result<()> {
    let devices = std::fs::read_to_string("/proc/net/dev").context("cannot read the list of network devices")?;
    let others: Vec<&str> = devices
        .lines()
        .skip(2)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .filter(|name| *name != "lo")
        .collect();
    if !others.is_empty() {
        bail!("{REQUIREMENTS}; {ISOLATED_VARIABLE} is set, but there are network devices: {}", others.join(", "));
    }
    if !Path::new(ROOT_MARKER).is_dir() {
        bail!("{REQUIREMENTS}; {ISOLATED_VARIABLE} is set, but {ROOT_MARKER} does not exist");
    }
    Ok(())
}

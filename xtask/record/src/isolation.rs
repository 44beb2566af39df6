//! A world with nobody in it.
//!
//! Whoever plays with real agents runs itself again in namespaces of its own. The network has a loopback device and nothing else: an
//! agent that calls home reaches nobody, and fixed ports are always free. The file system is that of the machine, but
//! with an empty `/workspace` and an empty `/home/agent`, so that paths are the same in every recording, even where an
//! agent cuts them in two. Process ids start anew, and everything that is left over ends with the program.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

/// Set in the inner run.
const INSIDE: &str = "INTERLINGUA_ISOLATED";

const NEEDS: &str = "this needs a Linux that lets you make user, network and mount namespaces, with `unshare`, \
                     `mount` and `pivot_root` (util-linux) and `ip` (iproute2): without them an agent could reach the \
                     network";

/// The exit code of [`SETUP`] when something of that is not to be had.
const NOT_TO_BE_HAD: u8 = 125;

/// There only in a root that [`SETUP`] made: what is in `/workspace` and `/home/agent` may be removed.
const MARK: &str = "/.interlingua-isolated";

/// Makes the world. A new root is put together from the parts of the old one; `/mnt` is only its scaffold.
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
/// When this machine does not let a program be alone.
pub fn enter() -> Result<Option<ExitCode>> {
    if std::env::var_os(INSIDE).is_some() {
        return arrive().map(|()| None);
    }
    if !cfg!(target_os = "linux") {
        bail!("{NEEDS}; this is {}", std::env::consts::OS);
    }
    let program = std::env::current_exe().context("cannot tell which program this is")?;
    let here = std::env::current_dir().context("cannot tell the current directory")?;
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
        .env(INSIDE, here)
        .status();
    match status {
        Ok(status) => match u8::try_from(status.code().unwrap_or(1)) {
            // The inner run says 0, 1 or 2; anything else is not its doing.
            Ok(code @ 0..=2) => Ok(Some(ExitCode::from(code))),
            Ok(NOT_TO_BE_HAD) => bail!("{NEEDS}; what is missing is said above"),
            _ => bail!("{NEEDS}; unshare ended with {status}"),
        },
        Err(error) => bail!("{NEEDS}; `unshare` cannot be started: {error}"),
    }
}

/// Does something in the isolated run until it is done, or somebody wants it to end.
///
/// The first process of such a world heeds no signal that it does not listen for, not even Ctrl-C.
///
/// # Errors
/// When the work fails, or is to end.
pub async fn unless_stopped<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    tokio::select! {
        done = work => done,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("told to end"),
    }
}

/// Makes sure that this is the world that was made, whatever the environment says, and goes back to where it was started.
fn arrive() -> Result<()> {
    let devices = std::fs::read_to_string("/proc/net/dev").context("cannot read which network devices there are")?;
    let others: Vec<&str> = devices
        .lines()
        .skip(2)
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name.trim())
        .filter(|name| *name != "lo")
        .collect();
    if !others.is_empty() {
        bail!("{NEEDS}; {INSIDE} is set, but there are {}", others.join(", "));
    }
    if !Path::new(MARK).is_dir() {
        bail!("{NEEDS}; {INSIDE} is set, but this is not the file system that it made");
    }
    let here = std::env::var_os(INSIDE).unwrap_or_default();
    std::env::set_current_dir(&here).with_context(|| format!("cannot go to {}", here.display()))
}

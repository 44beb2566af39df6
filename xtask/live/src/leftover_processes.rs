//! Finds processes that should have exited.
//!
//! This program is the first process of its own namespace, so every other process in `/proc` is its descendant.

use std::time::Duration;

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

/// How long processes may take to exit after their turn or their server has ended.
const EXIT_GRACE: Duration = Duration::from_secs(10);
/// Interval at which `/proc` is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of characters of a command line in an error.
const MAX_SHOWN_CHARS: usize = 120;

/// The command of the scenarios that never exits by itself.
const ENDLESS_COMMAND: &str = "tail -f /dev/null";

/// Waits until no endless command runs.
pub(crate) async fn wait_for_commands() -> Result<()> {
    let deadline = Instant::now() + EXIT_GRACE;
    while let Some((pid, name)) = others().into_iter().find(|(_, name)| name.contains(ENDLESS_COMMAND)) {
        if Instant::now() > deadline {
            bail!("a command still runs {} s after its turn: {pid} ({name})", EXIT_GRACE.as_secs());
        }
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Waits until this program has no descendants. If some remain, fails with their names and kills them.
pub(crate) async fn wait_for_all() -> Result<()> {
    let deadline = Instant::now() + EXIT_GRACE;
    loop {
        let others = others();
        if others.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            for (pid, _) in &others {
                // Fails if it has just exited.
                let _ = Pid::from_raw(*pid).map(|pid| kill_process(pid, Signal::KILL));
            }
            let names: Vec<String> = others.iter().map(|(pid, name)| format!("{pid} ({name})")).collect();
            bail!("processes still run {} s after the server exited: {}", EXIT_GRACE.as_secs(), names.join(", "));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Other live processes: id and command line.
fn others() -> Vec<(i32, String)> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != own).filter_map(|pid| Some((pid, command_line(pid)?))).collect()
}

/// The command line of a process; `None` if it is dead.
fn command_line(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    if is_dead(&stat) {
        return None;
    }
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
    Some(arguments.trim().chars().take(MAX_SHOWN_CHARS).collect())
}

/// Whether `/proc/PID/stat` shows a zombie or a dead process.
fn is_dead(stat: &str) -> bool {
    // The name, in parentheses, may contain anything.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('Z' | 'X') | None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_does_not_affect_its_state() {
        assert!(is_dead("7 (a) R b) Z 1 7"));
        assert!(!is_dead("7 (a) Z b) S 1 7"));
    }
}

//! Processes that are still there when nobody should be.
//!
//! This program is the first process of a world of its own, so every other process in `/proc` is one that it started, or
//! that came of one.

use std::time::Duration;

use anyhow::{Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{Instant, sleep};

/// How long processes may take to go once their server is gone.
const GRACE: Duration = Duration::from_secs(10);

/// What scenarios run that never ends by itself.
const ENDLESS: &str = "tail -f /dev/null";

/// Waits until no command runs any more that never ends by itself.
pub(crate) async fn no_command() -> Result<()> {
    let deadline = Instant::now() + GRACE;
    while let Some((pid, name)) = others().into_iter().find(|(_, name)| name.contains(ENDLESS)) {
        if Instant::now() > deadline {
            bail!("{} s after its turn a command still runs: {pid} ({name})", GRACE.as_secs());
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Waits until this program is alone; else says who is still there, and ends them.
pub(crate) async fn none() -> Result<()> {
    let deadline = Instant::now() + GRACE;
    loop {
        let others = others();
        if others.is_empty() {
            return Ok(());
        }
        if Instant::now() > deadline {
            for (pid, _) in &others {
                // It may have gone just now.
                let _ = Pid::from_raw(*pid).map(|pid| kill_process(pid, Signal::KILL));
            }
            let names: Vec<String> = others.iter().map(|(pid, name)| format!("{pid} ({name})")).collect();
            bail!("{} s after the server these processes were still there: {}", GRACE.as_secs(), names.join(", "));
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// The processes that are not this one and not dead.
fn others() -> Vec<(i32, String)> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != own).filter_map(|pid| Some((pid, alive(pid)?))).collect()
}

/// What a process was started as; `None` if it is dead.
fn alive(pid: i32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    if is_dead(&stat) {
        return None;
    }
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = String::from_utf8_lossy(&words).replace('\0', " ");
    Some(words.trim().chars().take(120).collect())
}

/// Whether a line of `/proc/PID/stat` is that of a process which only waits to be counted.
fn is_dead(stat: &str) -> bool {
    // The name, in parentheses, may hold anything.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('Z' | 'X') | None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_dead_whatever_its_name() {
        assert!(is_dead("7 (a) R b) Z 1 7"));
        assert!(!is_dead("7 (a) Z b) S 1 7"));
    }
}

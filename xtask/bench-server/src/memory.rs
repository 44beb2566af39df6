//! Memory use of a process.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::sleep;

/// Interval between two readings.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum number of readings.
const MAX_READINGS: usize = 20;

/// Resident memory of a process in KiB.
fn resident_memory(pid: u32) -> Result<u64> {
    read_status(pid, "VmRSS:")
}

/// The highest resident memory that a process had so far, in KiB.
pub(crate) fn peak_memory(pid: u32) -> Result<u64> {
    read_status(pid, "VmHWM:")
}

fn read_status(pid: u32, field: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let line = line.with_context(|| format!("{path} has no {field}"))?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Resident memory of a process in KiB, once it no longer changes.
pub(crate) async fn settled_memory(pid: u32) -> Result<u64> {
    let mut last = resident_memory(pid)?;
    // Polls, because no event reports that the process is idle.
    for _ in 0..MAX_READINGS {
        sleep(POLL_INTERVAL).await;
        let now = resident_memory(pid)?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}

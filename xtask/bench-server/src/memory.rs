//! How much memory a process has in use.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::sleep;

/// The resident memory of a process in KiB.
fn resident(pid: u32) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("the process has no memory")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// The same, once it no longer changes.
pub(crate) async fn settled(pid: u32) -> Result<u64> {
    let mut last = resident(pid)?;
    // There is nothing to wait for but the process itself coming to rest.
    for _ in 0..20 {
        sleep(Duration::from_millis(200)).await;
        let now = resident(pid)?;
        if now == last {
            break;
        }
        last = now;
    }
    Ok(last)
}

//! The processes of all agents of this program, as the server sees them.
//!
//! Every agent is a descendant of a supervisor, and so is everything that it starts: a supervisor adopts descendants
//! that lose their parent. So a process belongs to an agent exactly if it descends from one of our supervisors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The supervisors of this program, and whether they are still registered. They are children of the process, whichever
/// runtime started them.
static SUPERVISORS: Mutex<BTreeMap<u32, Registration>> = Mutex::new(BTreeMap::new());

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    Registered,
    /// Its handle was dropped, but the process may still run.
    Dropped,
}

fn supervisors() -> MutexGuard<'static, BTreeMap<u32, Registration>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a supervisor as running until it is dropped, or until the process is gone, whichever is later.
#[derive(Debug)]
pub(super) struct RunningSupervisor(u32);

impl RunningSupervisor {
    /// Must be called before the supervisor starts its agent.
    pub(super) fn register(pid: u32) -> Self {
        supervisors().insert(pid, Registration::Registered);
        Self(pid)
    }
}

impl Drop for RunningSupervisor {
    fn drop(&mut self) {
        let mut supervisors = supervisors();
        supervisors.insert(self.0, Registration::Dropped);
        remove_exited(&mut supervisors);
    }
}

fn remove_exited(supervisors: &mut BTreeMap<u32, Registration>) {
    let exists = |pid: u32| Path::new("/proc").join(pid.to_string()).exists();
    supervisors.retain(|pid, registration| *registration == Registration::Registered || exists(*pid));
}

/// Whether an agent runs.
#[must_use]
pub fn has_running_agents() -> bool {
    let mut supervisors = supervisors();
    remove_exited(&mut supervisors);
    !supervisors.is_empty()
}

/// Whether a process is one of our supervisors.
#[cfg(target_os = "linux")]
pub(super) fn is_supervisor(pid: u32) -> bool {
    supervisors().contains_key(&pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_supervisor_counts_until_it_is_gone() {
        let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
        let registered = RunningSupervisor::register(sleep.id());
        drop(registered);
        assert!(has_running_agents());
        assert!(supervisors().contains_key(&sleep.id()), "it still runs");
        sleep.kill().unwrap();
        sleep.wait().unwrap();
        let _ = has_running_agents();
        assert!(!supervisors().contains_key(&sleep.id()));
    }
}

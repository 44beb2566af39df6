//! The processes of all agents of this program, as the server sees them.
//!
//! Every agent is a descendant of a supervisor, and so is everything that it starts: a supervisor adopts descendants
//! that lose their parent. So a process belongs to an agent exactly if it descends from one of our supervisors.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::process_status::ProcessStatus;

/// The supervisors of this program by their pids. They are children of the process, whichever runtime started them.
static SUPERVISORS: Mutex<BTreeMap<u32, Supervisor>> = Mutex::new(BTreeMap::new());

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Supervisor {
    /// When it was started, because a later process may get its pid; `None` if the system does not say.
    started: Option<u64>,
    /// Whether its handle was dropped. The process may still run.
    is_dropped: bool,
}

impl Supervisor {
    /// Whether a process with this pid is the supervisor.
    fn is_alive(self, pid: u32) -> bool {
        ProcessStatus::read(pid).is_some_and(|status| self.started == Some(status.started))
    }
}

fn supervisors() -> MutexGuard<'static, BTreeMap<u32, Supervisor>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a supervisor as running until it is dropped, or until the process is gone, whichever is later.
#[derive(Debug)]
pub(super) struct RunningSupervisor(u32);

impl RunningSupervisor {
    /// Must be called before the supervisor starts its agent.
    pub(super) fn register(pid: u32) -> Self {
        let started = ProcessStatus::read(pid).map(|status| status.started);
        supervisors().insert(pid, Supervisor { started, is_dropped: false });
        Self(pid)
    }
}

impl Drop for RunningSupervisor {
    fn drop(&mut self) {
        let mut supervisors = supervisors();
        if let Some(supervisor) = supervisors.get_mut(&self.0) {
            supervisor.is_dropped = true;
        }
        remove_exited(&mut supervisors);
    }
}

fn remove_exited(supervisors: &mut BTreeMap<u32, Supervisor>) {
    supervisors.retain(|pid, supervisor| !supervisor.is_dropped || supervisor.is_alive(*pid));
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
pub(super) fn is_supervisor(pid: u32, started: u64) -> bool {
    supervisors().get(&pid).is_some_and(|supervisor| supervisor.started == Some(started))
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

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_with_the_pid_of_an_earlier_supervisor_is_another_one() {
        let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
        let started = ProcessStatus::read(sleep.id()).unwrap().started;
        drop(RunningSupervisor::register(sleep.id()));
        assert!(is_supervisor(sleep.id(), started) && !is_supervisor(sleep.id(), started + 1));
        // As if the supervisor had exited, and this process had got its pid.
        supervisors().get_mut(&sleep.id()).unwrap().started = Some(started - 1);
        let _ = has_running_agents();
        assert!(!supervisors().contains_key(&sleep.id()));
        sleep.kill().unwrap();
        sleep.wait().unwrap();
    }
}

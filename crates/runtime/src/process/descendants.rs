//! The descendants of this process.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::process_status::ProcessStatus;

/// Sends a signal to all descendants of this process. `agent` is the leader of a process group.
///
/// Orphans become children of this process, because it is a subreaper, so no descendant escapes by losing its parent.
/// On a system without subreapers, the signal goes to the agent's process group.
pub(super) fn signal_all(agent: Pid, signal: Signal) {
    // Signalling a process that has exited does nothing.
    if cfg!(target_os = "linux") {
        for process in list_descendants(rustix::process::getpid()) {
            let _ = kill_process(process, signal);
        }
    } else {
        let _ = kill_process_group(agent, signal);
    }
}

/// Lists all descendants of a process, parents first.
fn list_descendants(root: Pid) -> Vec<Pid> {
    let mut all: Vec<(Pid, i32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| {
            Some((Pid::from_raw(pid.cast_signed())?, ProcessStatus::read(pid)?.parent.cast_signed()))
        })
        .collect();
    let mut found = vec![root];
    let mut visited = 0;
    while let Some(process) = found.get(visited).copied() {
        visited += 1;
        all.retain(|(child, parent)| {
            let is_child = *parent == process.as_raw_nonzero().get();
            if is_child {
                found.push(*child);
            }
            !is_child
        });
    }
    found.remove(0);
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn grandchildren_are_listed_after_their_parents() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh cannot be started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = |pid: i32| Pid::from_raw(pid).unwrap();
        let (child_pid, grandchild) = (pid(i32::try_from(child.id()).unwrap()), pid(line.trim().parse().unwrap()));
        let found = list_descendants(rustix::process::getpid());
        let position = |wanted| found.iter().position(|process| *process == wanted);
        assert!(position(child_pid) < position(grandchild) && position(child_pid).is_some(), "{found:?}");
        kill_process(grandchild, Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}

//! The processes below this one.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Sends a signal to every process below this one. `agent` leads a process group of its own.
///
/// Orphans are this process's children, because it is a subreaper, so nothing escapes by losing its parent. Where the
/// system has no subreapers, what is still in the agent's process group is reached.
pub(super) fn signal_all(agent: Pid, signal: Signal) {
    // Whoever is gone needs no signal.
    if cfg!(target_os = "linux") {
        for process in below(rustix::process::getpid()) {
            let _ = kill_process(process, signal);
        }
    } else {
        let _ = kill_process_group(agent, signal);
    }
}

/// Every process below this one, parents first.
fn below(root: Pid) -> Vec<Pid> {
    let mut all: Vec<(Pid, i32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| Some((Pid::from_raw(pid)?, parent(pid)?)))
        .collect();
    let mut found = vec![root];
    let mut looked_at = 0;
    while let Some(process) = found.get(looked_at).copied() {
        looked_at += 1;
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

/// The parent of a process. Its name, which may hold anything, stands in parentheses before it.
fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(&stat[behind_name..]).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn grandchildren_are_found_below_their_parents() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = |pid: i32| Pid::from_raw(pid).unwrap();
        let (child_pid, grandchild) = (pid(i32::try_from(child.id()).unwrap()), pid(line.trim().parse().unwrap()));
        let found = below(rustix::process::getpid());
        let place = |wanted| found.iter().position(|process| *process == wanted);
        assert!(place(child_pid) < place(grandchild) && place(child_pid).is_some(), "{found:?}");
        kill_process(grandchild, Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}

//! The processes of all agents of this program, as the server sees them.
//!
//! Every agent is a descendant of a supervisor, and so is everything that it starts: a supervisor adopts descendants
//! that lose their parent. So a process belongs to an agent exactly if it descends from one of our supervisors.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// The supervisors of this program. They are children of the process, whichever runtime started them.
static SUPERVISORS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn supervisors() -> MutexGuard<'static, BTreeSet<u32>> {
    SUPERVISORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a supervisor as running until it is dropped, or until the process is gone, whichever is later.
#[derive(Debug)]
pub(super) struct RunningSupervisor(u32);

impl RunningSupervisor {
    /// Must be called before the supervisor starts its agent.
    pub(super) fn register(pid: u32) -> Self {
        supervisors().insert(pid);
        Self(pid)
    }
}

impl Drop for RunningSupervisor {
    fn drop(&mut self) {
        // One that still runs is removed by the scan that finds it gone.
        if !Path::new("/proc").join(self.0.to_string()).exists() {
            supervisors().remove(&self.0);
        }
    }
}

/// The sockets that agents and their descendants have open.
#[derive(Debug, Default)]
pub struct AgentSockets {
    inodes: HashSet<u64>,
    /// The supervisors and their descendants.
    processes: HashSet<u32>,
    has_unreadable: bool,
}

/// Whether an agent runs, as far as is known without looking at processes.
#[must_use]
pub fn has_running_agents() -> bool {
    !supervisors().is_empty()
}

impl AgentSockets {
    /// Looks at all processes of all agents. On systems without `/proc`, finds nothing.
    #[must_use]
    pub fn scan() -> Self {
        let mut found = Self::default();
        // A process whose parent exits during the scan becomes a child of a supervisor that was scanned already.
        loop {
            let known = found.processes.len();
            let supervisors: Vec<u32> = supervisors().iter().copied().collect();
            for supervisor in supervisors {
                if !found.scan_supervisor(supervisor) {
                    self::supervisors().remove(&supervisor);
                }
            }
            if found.processes.len() == known {
                return found;
            }
        }
    }

    /// Whether a socket belongs to an agent or its descendants.
    #[must_use]
    pub fn contains(&self, inode: u64) -> bool {
        self.inodes.contains(&inode)
    }

    /// Whether no agent runs.
    #[must_use]
    pub fn has_no_agents(&self) -> bool {
        self.processes.is_empty()
    }

    /// Whether the open files of some process of an agent could not be read.
    #[must_use]
    pub fn has_unreadable_process(&self) -> bool {
        self.has_unreadable
    }

    /// Whether a process that belongs to no agent has the socket open. Looks at all processes, so it is slow.
    #[must_use]
    pub fn is_open_elsewhere(&self, inode: u64) -> bool {
        let processes = fs::read_dir("/proc").into_iter().flatten();
        let mut pids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        pids.any(|pid| {
            let mut is_open = false;
            let read = !self.processes.contains(&pid) && read_sockets(pid, |found| is_open |= found == inode).is_ok();
            read && is_open
        })
    }

    /// Looks at the descendants of a supervisor that are not known yet. Returns whether the supervisor exists.
    fn scan_supervisor(&mut self, supervisor: u32) -> bool {
        let mut queue = Vec::new();
        if !read_children(supervisor, &mut queue) {
            return false;
        }
        self.processes.insert(supervisor);
        while let Some(pid) = queue.pop() {
            if !self.processes.insert(pid) {
                continue;
            }
            // The sockets come first: one that the process passes on meanwhile goes to a child that is read later.
            let found = |inode| {
                self.inodes.insert(inode);
            };
            match read_sockets(pid, found) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => self.has_unreadable = true,
                // A process that is gone has no sockets.
                Ok(()) | Err(_) => {}
            }
            read_children(pid, &mut queue);
        }
        true
    }
}

/// Adds the children of all threads of a process. Returns whether the process exists.
fn read_children(pid: u32, children: &mut Vec<u32>) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    for thread in threads.flatten() {
        let Ok(text) = fs::read_to_string(thread.path().join("children")) else { continue };
        children.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    true
}

/// Calls a function with the inode of every socket that a process has open.
#[cfg(target_os = "linux")]
fn read_sockets(pid: u32, mut found: impl FnMut(u64)) -> io::Result<()> {
    use std::mem::MaybeUninit;

    use rustix::fs::{CWD, Mode, OFlags, RawDir, openat, readlinkat_raw};

    let folder = openat(CWD, format!("/proc/{pid}/fd"), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut entries = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(&folder, &mut entries);
    while let Some(entry) = entries.next() {
        let mut target = [MaybeUninit::<u8>::uninit(); 64];
        // `.` and `..` are no links, and a file may be closed meanwhile.
        let Ok((target, _)) = readlinkat_raw(&folder, entry?.file_name(), &mut target[..]) else { continue };
        let inode = target.strip_prefix(b"socket:[").and_then(|rest| rest.strip_suffix(b"]"));
        if let Some(inode) = inode.and_then(|inode| std::str::from_utf8(inode).ok()?.parse().ok()) {
            found(inode);
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn read_sockets(_: u32, _: impl FnMut(u64)) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    fn inode(socket: &UnixStream) -> u64 {
        fs::metadata(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap().ino()
    }

    #[test]
    fn sockets_of_descendants_are_found_until_the_supervisor_is_gone() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (our_inode, their_inode) = (inode(&ours), inode(&theirs));
        // The shell plays the supervisor. Its child inherits descriptor 3.
        let mut shell = Command::new("sh")
            .args(["-c", "exec 3<&0 </dev/null; sleep 60 & echo $!; wait"])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let registered = RunningSupervisor::register(shell.id());
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        let sockets = AgentSockets::scan();
        assert!(sockets.processes.is_superset(&HashSet::from([shell.id(), child])), "{sockets:?}");
        assert!(sockets.contains(their_inode) && !sockets.contains(our_inode), "{sockets:?}");
        assert!(sockets.is_open_elsewhere(our_inode) && !sockets.is_open_elsewhere(their_inode));
        let child = rustix::process::Pid::from_raw(child.cast_signed()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        drop(registered);
        assert!(!supervisors().contains(&shell.id()));
        assert!(!AgentSockets::scan().contains(their_inode));
    }
}

//! Finds the process that has a socket open, and whether it belongs to an agent.
//!
//! A program that connects to the server is usually one that connected before, or one that was started just now. So the
//! processes in which sockets were found lately are searched first, then all others, the newest first. The agents with
//! their many processes need not be searched at all.

use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat, readlinkat_raw};

use super::agent_processes::is_supervisor;
use super::process_status::ProcessStatus;

/// Number of processes that are searched first.
const MAX_RECENT: usize = 16;

/// How often all processes are searched for a socket: it may pass from one process to another meanwhile.
const SEARCHES: usize = 2;

/// How often the ancestors of a process are read: one that exits meanwhile is replaced by another.
const MAX_ANCESTRY_ATTEMPTS: usize = 8;

/// Whose process has a socket open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketOwner {
    /// A process of an agent.
    Agent,
    /// A process that belongs to no agent.
    Other,
}

/// Finds the owners of sockets. Remembers in which processes it found some.
#[derive(Debug, Default)]
pub struct SocketOwners {
    /// Pids. They only decide which processes are searched first, so it does not matter if one is used again.
    recent: Mutex<VecDeque<u32>>,
}

impl SocketOwners {
    /// Finds the owners of sockets, given by their inodes. A socket that is open in no process that can be examined is
    /// missing in the result.
    #[must_use]
    pub fn find(&self, inodes: &[u64]) -> HashMap<u64, SocketOwner> {
        let mut search = Search { wanted: inodes.iter().copied().collect(), found: HashMap::new() };
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut clients: VecDeque<u32> = recent.into_iter().filter(|pid| search.process(*pid)).collect();
        for _ in 0..SEARCHES {
            if search.wanted.is_empty() {
                break;
            }
            for pid in processes_newest_first() {
                if search.process(pid) {
                    clients.push_back(pid);
                }
            }
        }
        self.remember(&clients);
        search.found
    }
}

impl SocketOwners {
    /// Moves processes to the front of those that are searched first.
    fn remember(&self, clients: &VecDeque<u32>) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|pid| !clients.contains(pid));
        for pid in clients {
            recent.push_front(*pid);
        }
        recent.truncate(MAX_RECENT);
    }
}

struct Search {
    wanted: HashSet<u64>,
    found: HashMap<u64, SocketOwner>,
}

impl Search {
    /// Searches a process. Returns whether it belongs to no agent and has some of the sockets.
    fn process(&mut self, pid: u32) -> bool {
        if self.wanted.is_empty() {
            return false;
        }
        let mut open = Vec::new();
        // A process that is gone or cannot be examined has no sockets that we could find.
        let _ = read_sockets(pid, |inode| {
            if self.wanted.contains(&inode) {
                open.push(inode);
            }
            open.len() < self.wanted.len()
        });
        if open.is_empty() {
            return false;
        }
        let owner = find_process_owner(pid);
        for inode in open {
            self.wanted.remove(&inode);
            self.found.insert(inode, owner);
        }
        owner == SocketOwner::Other
    }
}

/// Whether a process descends from one of our supervisors. One that is gone, or whose ancestors cannot be read, counts as
/// an agent.
#[must_use]
pub fn find_process_owner(pid: u32) -> SocketOwner {
    for _ in 0..MAX_ANCESTRY_ATTEMPTS {
        if let Some(owner) = walk_ancestors(pid) {
            return owner;
        }
    }
    SocketOwner::Agent
}

/// Looks for a supervisor among a process and its ancestors. `None` if one of them exited meanwhile.
fn walk_ancestors(pid: u32) -> Option<SocketOwner> {
    let (mut pid, mut child_started) = (pid, u64::MAX);
    loop {
        // 0 is the parent of the first process, and of one whose parent is outside of our container.
        if pid <= 1 || pid == std::process::id() {
            return Some(SocketOwner::Other);
        }
        let status = ProcessStatus::read(pid)?;
        if is_supervisor(pid, status.started) {
            return Some(SocketOwner::Agent);
        }
        // A parent that is younger than its child took over the pid of another process.
        if status.started > child_started {
            return None;
        }
        (pid, child_started) = (status.parent, status.started);
    }
}

/// Whether a process of an agent runs as this user: a program that changes its user when it starts, such as `sudo`. Its
/// sockets belong to the other user.
#[must_use]
pub fn agents_run_as(user: u32) -> bool {
    processes_newest_first().into_iter().any(|pid| has_user(pid, user) && find_process_owner(pid) == SocketOwner::Agent)
}

/// Whether a user is one of those of a process: real, effective, saved, and for files.
fn has_user(pid: u32, user: u32) -> bool {
    let status = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Uid:"));
    let users = line.and_then(|users| std::str::from_utf8(users).ok()).unwrap_or_default();
    users.split_ascii_whitespace().any(|found| found.parse() == Ok(user))
}

/// All processes, those with the highest pids first.
fn processes_newest_first() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let mut pids: Vec<u32> = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by(|left, right| right.cmp(left));
    pids
}

/// Calls a function with the inode of every socket that a process has open, until it returns false.
fn read_sockets(pid: u32, mut found: impl FnMut(u64) -> bool) -> io::Result<()> {
    let folder = openat(CWD, format!("/proc/{pid}/fd"), OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let mut entries = [MaybeUninit::uninit(); 2048];
    let mut entries = RawDir::new(&folder, &mut entries);
    while let Some(entry) = entries.next() {
        let mut target = [MaybeUninit::<u8>::uninit(); 64];
        // `.` and `..` are no links, and a file may be closed meanwhile.
        let Ok((target, _)) = readlinkat_raw(&folder, entry?.file_name(), &mut target[..]) else { continue };
        let inode = target.strip_prefix(b"socket:[").and_then(|rest| rest.strip_suffix(b"]"));
        if let Some(inode) = inode.and_then(|inode| std::str::from_utf8(inode).ok()?.parse().ok())
            && !found(inode)
        {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::agent_processes::RunningSupervisor;
    use std::io::{BufRead as _, BufReader};
    use std::os::fd::{AsRawFd as _, OwnedFd};
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};

    fn inode(socket: &UnixStream) -> u64 {
        fs::metadata(format!("/proc/self/fd/{}", socket.as_raw_fd())).unwrap().ino()
    }

    /// Starts a shell that plays the supervisor. Its descendant has the socket open as its standard input.
    fn start_shell(socket: UnixStream, script: &str) -> (std::process::Child, u32) {
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::from(OwnedFd::from(socket)))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        (shell, line.trim().parse().unwrap())
    }

    #[test]
    fn a_socket_of_a_descendant_belongs_to_an_agent() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (our_inode, their_inode) = (inode(&ours), inode(&theirs));
        let (mut shell, child) = start_shell(theirs, "exec 3<&0 </dev/null; sleep 60 & echo $!; wait");
        let registered = RunningSupervisor::register(shell.id());
        let owners = SocketOwners::default();
        for _ in 0..2 {
            let found = owners.find(&[our_inode, their_inode, u64::MAX]);
            assert_eq!(
                found,
                HashMap::from([(our_inode, SocketOwner::Other), (their_inode, SocketOwner::Agent)]),
                "the socket that does not exist must be missing"
            );
        }
        assert_eq!(owners.recent.lock().unwrap().len(), 1, "agents are not remembered");
        let child = rustix::process::Pid::from_raw(child.cast_signed()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        drop(registered);
        assert_eq!(owners.find(&[their_inode]), HashMap::new());
    }

    #[test]
    fn the_users_of_agents_are_found() {
        let user = rustix::process::geteuid().as_raw();
        let (_ours, theirs) = UnixStream::pair().unwrap();
        let (mut shell, child) = start_shell(theirs, "sleep 60 & echo $!; wait");
        let registered = RunningSupervisor::register(shell.id());
        assert!(has_user(child, user) && !has_user(child, user + 1));
        assert!(agents_run_as(user));
        assert!(!agents_run_as(u32::MAX - 1), "no process has this user");
        let child = rustix::process::Pid::from_raw(child.cast_signed()).unwrap();
        rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
        drop(registered);
    }

    #[test]
    fn a_process_without_a_supervisor_is_another_client() {
        let (_ours, theirs) = UnixStream::pair().unwrap();
        let their_inode = inode(&theirs);
        let (mut shell, _) = start_shell(theirs, "echo $$; exec sleep 60");
        assert_eq!(SocketOwners::default().find(&[their_inode]), HashMap::from([(their_inode, SocketOwner::Other)]));
        shell.kill().unwrap();
        shell.wait().unwrap();
    }
}

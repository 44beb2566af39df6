//! When a session or server ends, in any way, its agents and all their descendants end too.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use interlingua_client::CreateSessionRequest;
use rustix::process::Pid;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::server_process::ServerProcess;

/// A stand-in for Claude Code in the middle of a turn. It records the process ids of its supervisor, of itself, and of
/// a descendant that has no parent, is in another session and ignores SIGTERM.
const AGENT: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 1.0.0 && exit
setsid sh -c 'trap "" TERM HUP INT; echo $$ >> "$PIDS"; while :; do sleep 0.1; done' > /dev/null 2>&1 < /dev/null &
echo $PPID $$ >> "$PIDS"
read line
read line
while [ $(wc -w < "$PIDS") -lt 3 ]; do sleep 0.01; done
echo '{"type":"system","subtype":"init","session_id":"5e55","cwd":"/","tools":[]}'
sleep 600
"#;

pub(crate) struct RunningAgent {
    dir: TempDir,
    pub(crate) server: ServerProcess,
}

impl RunningAgent {
    /// Starts a server and a turn of the agent.
    async fn start() -> Self {
        Self::start_with(|command| command.stdin(Stdio::null())).await
    }

    /// Starts a turn of the agent on a server whose command is changed by `configure`.
    pub(crate) async fn start_with(configure: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join("claude");
        std::fs::write(&agent, AGENT).unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["server", "--no-token", "--port", "0", "--data-dir"]).arg(dir.path().join("data"));
        command.env("PATH", format!("{}:/usr/bin:/bin", dir.path().display()));
        // Agents that are installed on this machine are not found.
        command.env("XDG_DATA_HOME", dir.path().join("default"));
        let server = ServerProcess::spawn(configure(&mut command));
        let mut create = CreateSessionRequest::new("claude");
        create.env.insert("PIDS".to_owned(), dir.path().join("pids").to_str().unwrap().to_owned());
        create.directory = Some("/".to_owned());
        server.client.create_session("s", &create).await.unwrap();
        server.send("s", "work").await;
        server.follow("s", 0).await.until("turn.started").await;
        Self { dir, server }
    }

    pub(crate) fn processes(&self) -> Vec<Pid> {
        let pids = std::fs::read_to_string(self.dir.path().join("pids")).unwrap();
        let pids: Vec<Pid> = pids.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect();
        assert_eq!(pids.len(), 3, "expected a supervisor, an agent and its descendant");
        pids
    }
}

pub(crate) fn is_alive(process: Pid) -> bool {
    // A zombie still has an entry, but its command line is empty.
    let command = std::fs::read(Path::new("/proc").join(process.as_raw_nonzero().to_string()).join("cmdline"));
    command.is_ok_and(|command| !command.is_empty())
}

/// Waits until a process has ended. It is not a child of this one, so it must be polled.
async fn wait_for_exit(process: Pid) {
    let ended = async {
        while is_alive(process) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), ended).await.expect("the process is still running");
}

#[tokio::test]
async fn terminate_ends_all_processes_of_the_session() {
    let agent = RunningAgent::start().await;
    let processes = agent.processes();
    assert!(processes.iter().all(|process| is_alive(*process)));
    agent.server.client.terminate("s").await.unwrap();
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

#[tokio::test]
async fn delete_ends_all_processes_of_the_session() {
    let agent = RunningAgent::start().await;
    let processes = agent.processes();
    agent.server.client.delete_session("s").await.unwrap();
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

#[tokio::test]
async fn a_stopped_server_leaves_no_agents() {
    for signal in ["TERM", "INT"] {
        let mut agent = RunningAgent::start().await;
        let processes = agent.processes();
        agent.server.signal(signal);
        assert!(agent.server.wait().success());
        assert!(!processes.iter().any(|process| is_alive(*process)), "{signal}: {processes:?}");
    }
}

#[tokio::test]
async fn a_killed_server_leaves_no_agents() {
    let mut agent = RunningAgent::start().await;
    let processes = agent.processes();
    agent.server.signal("KILL");
    agent.server.wait();
    for process in processes {
        wait_for_exit(process).await;
    }
}

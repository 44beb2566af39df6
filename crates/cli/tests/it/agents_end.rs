//! Agents end with their server and their session, in whatever way those end, and so does everything that they started.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use interlingua_client::CreateSessionRequest;
use rustix::process::Pid;
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

use crate::running::Running;

/// A program that passes for Claude Code in the middle of a turn. It writes down its supervisor, itself, and something
/// that it started: without a parent, in a session of its own, heeding no SIGTERM.
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

struct Scene {
    folder: TempDir,
    server: Running,
}

impl Scene {
    /// A server whose agent is in the middle of a turn.
    async fn begin() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("claude");
        std::fs::write(&agent, AGENT).unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["server", "--no-token", "--port", "0", "--data-dir"]).arg(folder.path().join("data"));
        command.env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()));
        let server = Running::spawn(command);
        let mut create = CreateSessionRequest::new("claude");
        create.env.insert("PIDS".to_owned(), folder.path().join("pids").to_str().unwrap().to_owned());
        create.directory = Some("/".to_owned());
        server.client.create_session("s", &create).await.unwrap();
        server.send("s", "work").await;
        server.follow("s", 0).await.until("turn.started").await;
        Self { folder, server }
    }

    fn processes(&self) -> Vec<Pid> {
        let pids = std::fs::read_to_string(self.folder.path().join("pids")).unwrap();
        let pids: Vec<Pid> = pids.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()).unwrap()).collect();
        assert_eq!(pids.len(), 3, "a supervisor, an agent and what it started");
        pids
    }
}

fn is_alive(process: Pid) -> bool {
    // Of one that is dead but was not noticed yet, the system still knows the command, which is empty.
    let command = std::fs::read(Path::new("/proc").join(process.as_raw_nonzero().to_string()).join("cmdline"));
    command.is_ok_and(|command| !command.is_empty())
}

/// Waits until a process that is nobody's child here has ended, which nothing tells us.
async fn gone(process: Pid) {
    let ended = async {
        while is_alive(process) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), ended).await.expect("it is ended");
}

#[tokio::test]
async fn terminate_ends_everything_below_the_session() {
    let scene = Scene::begin().await;
    let processes = scene.processes();
    assert!(processes.iter().all(|process| is_alive(*process)));
    scene.server.client.terminate("s").await.unwrap();
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

#[tokio::test]
async fn delete_ends_everything_below_the_session() {
    let scene = Scene::begin().await;
    let processes = scene.processes();
    scene.server.client.delete_session("s").await.unwrap();
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_leaves_no_agents() {
    for signal in ["TERM", "INT"] {
        let mut scene = Scene::begin().await;
        let processes = scene.processes();
        scene.server.signal(signal);
        assert!(scene.server.wait().success());
        assert!(!processes.iter().any(|process| is_alive(*process)), "{signal}: {processes:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_killed_leaves_no_agents() {
    let mut scene = Scene::begin().await;
    let processes = scene.processes();
    scene.server.signal("KILL");
    scene.server.wait();
    for process in processes {
        gone(process).await;
    }
}

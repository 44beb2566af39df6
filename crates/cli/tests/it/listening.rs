//! How a program starts a server of its own, finds it, and ends it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use interlingua_client::{Client, CreateSessionRequest, MessageRequest};
use serde_json::{Value, json};

use crate::agent_cleanup::{RunningAgent, is_alive};
use crate::server_process::ServerProcess;

/// A server whose standard input and output are connected to this process.
struct OwnServer {
    child: Child,
    address: String,
    stdout: BufReader<std::process::ChildStdout>,
}

impl OwnServer {
    fn start(data_dir: &Path, arguments: &[&str]) -> Self {
        Self::start_with_log(data_dir, arguments, Stdio::null())
    }

    fn start_with_log(data_dir: &Path, arguments: &[&str], stderr: Stdio) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["server", "--no-token", "--print-address", "--data-dir"]).arg(data_dir).args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let printed: Value = serde_json::from_str(&line).unwrap();
        let address = printed["address"].as_str().unwrap().to_owned();
        assert_eq!(printed, json!({ "address": address }), "the line has other fields");
        Self { child, address, stdout }
    }

    fn client(&self) -> Client {
        Client::builder(self.address.clone()).build().unwrap()
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn the_printed_address_is_that_of_a_ready_server_on_a_free_port() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = OwnServer::start(first.path(), &["--port", "0"]);
    let second = OwnServer::start(second.path(), &["--port", "0"]);
    assert_ne!(first.address, second.address);
    for mut server in [first, second] {
        assert!(server.address.starts_with("http://127.0.0.1:"), "{}", server.address);
        server.client().health().await.unwrap();
        server.child.kill().unwrap();
        let mut rest = String::new();
        server.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "standard output has more than the address");
    }
}

#[tokio::test]
async fn the_server_stops_when_its_standard_input_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = OwnServer::start(dir.path(), &["--port", "0", "--exit-with-parent"]);
    let client = server.client();
    client.create_session("s", &CreateSessionRequest::new("mock")).await.unwrap();
    client.send_message("s", &MessageRequest::new("permission")).await.unwrap();
    // Input is ignored.
    std::io::Write::write_all(server.child.stdin.as_mut().unwrap(), b"anything\n").unwrap();
    client.health().await.unwrap();
    drop(server.child.stdin.take());
    assert!(server.child.wait().unwrap().success());
    assert!(!dir.path().join("server.json").exists());
}

#[tokio::test]
async fn a_server_works_without_the_reader_of_its_log_and_on_a_full_disk() {
    for format in ["text", "json"] {
        let full_disk = std::fs::File::options().write(true).open("/dev/full").ok().map(Stdio::from);
        for stderr in [Some(Stdio::piped()), full_disk].into_iter().flatten() {
            let dir = tempfile::tempdir().unwrap();
            let arguments = ["--port", "0", "--log-format", format, "--log", "debug"];
            let mut server = OwnServer::start_with_log(dir.path(), &arguments, stderr);
            drop(server.child.stderr.take());
            let client = server.client();
            client.create_session("s", &CreateSessionRequest::new("mock")).await.unwrap();
            client.send_message("s", &MessageRequest::new("echo hello")).await.unwrap();
            client.terminate("s").await.unwrap();
            client.delete_session("s").await.unwrap();
            let pid = rustix::process::Pid::from_child(&server.child);
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            assert!(server.child.wait().unwrap().success(), "{format}");
        }
    }
}

#[tokio::test]
async fn without_the_option_the_server_does_not_read_its_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(dir.path(), &[]);
    // Its standard input is empty.
    server.create("s").await;
    server.send("s", "echo hello").await;
    server.follow("s", 0).await.until("turn.ended").await;
}

#[tokio::test]
async fn a_server_that_loses_its_parent_stops_its_agents_first() {
    let mut agent = RunningAgent::start_with(|command| command.arg("--exit-with-parent").stdin(Stdio::piped())).await;
    let processes = agent.processes();
    assert!(processes.iter().all(|process| is_alive(*process)));
    // What the operating system does when the parent is killed.
    agent.server.close_stdin();
    assert!(agent.server.wait().success());
    assert!(!processes.iter().any(|process| is_alive(*process)), "{processes:?}");
}

#[tokio::test]
async fn the_file_in_the_data_directory_leads_to_the_running_server() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("server.json");
    let mut server = ServerProcess::start(dir.path(), &[]);
    let found: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let address = server.client.base_url().as_str().trim_end_matches('/');
    assert_eq!(found, json!({ "address": address, "pid": server.pid() }));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let list = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["sessions", "list", "--data-dir"]).arg(dir.path()).stdin(Stdio::null());
        command.env_remove("INTERLINGUA_TOKEN").env_remove("INTERLINGUA_ENDPOINT").output().unwrap()
    };
    server.create("found").await;
    assert!(String::from_utf8(list().stdout).unwrap().contains("found"));

    // A file that a killed server left behind does not count.
    server.signal("KILL");
    server.wait();
    assert!(file.exists());
    let refused = list();
    assert_eq!(refused.status.code(), Some(2));
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("no server runs on the data directory"), "{stderr}");

    let mut server = ServerProcess::start(dir.path(), &[]);
    assert!(String::from_utf8(list().stdout).unwrap().contains("found"));
    server.signal("TERM");
    assert!(server.wait().success());
    assert!(!file.exists());
}

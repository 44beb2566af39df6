//! The server as a child process, for tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use interlingua_client::{Client, CreateSessionRequest, EventQuery, FrameStream, MessageRequest};
use serde_json::Value;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A server that runs until it is stopped, killed or dropped.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) client: Client,
}

impl ServerProcess {
    /// Starts a server without a token in a data directory, with additional arguments.
    pub(crate) fn start(data_dir: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["server", "--no-token", "--port", "0", "--data-dir"]).arg(data_dir).args(arguments);
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// Starts a server with any command that prints its address.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut output = String::new();
        let base = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the server ended before it listened:\n{output}");
            if let Some((_, address)) = line.trim().split_once("listens on ") {
                break address.to_owned();
            }
            output.push_str(&line);
        };
        // The pipe must be read, or the server blocks when it is full.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        let http = reqwest::Client::builder().timeout(REQUEST_TIMEOUT).build().unwrap();
        Self { child, client: Client::builder(base).http_client(http).build().unwrap() }
    }

    /// A command of `interlingua sessions` for this server.
    pub(crate) fn sessions_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["sessions", "--endpoint", self.client.base_url().as_str()]).args(arguments);
        command.env_remove("INTERLINGUA_TOKEN").stdin(Stdio::null());
        command
    }

    pub(crate) async fn create(&self, id: &str) {
        self.client.create_session(id, &CreateSessionRequest::new("mock")).await.unwrap();
    }

    pub(crate) async fn send(&self, id: &str, message: &str) {
        self.client.send_message(id, &MessageRequest::new(message)).await.unwrap();
    }

    /// Follows a session over one connection, after the event with sequence `after`.
    pub(crate) async fn follow(&self, id: &str, after: u64) -> EventLines {
        EventLines(self.client.event_frames(id, EventQuery::after(after)).await.unwrap())
    }

    /// Sends a signal to the process.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Process id of the server.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the server's standard input.
    pub(crate) fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The events of a stream as JSON text.
pub(crate) struct EventLines(FrameStream);

impl EventLines {
    /// The next event; `None` when the stream ended or was interrupted.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let event = self.0.next_event().await.ok().flatten()?;
        Some(String::from_utf8(event.data).unwrap())
    }

    /// The events up to and including the first one of a type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<String> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().await.expect("the stream ended before the event"));
            if event_type(events.last().unwrap()) == kind {
                return events;
            }
        }
    }
}

pub(crate) fn event_type(event: &str) -> String {
    let event: Value = serde_json::from_str(event).unwrap();
    event["type"].as_str().unwrap().to_owned()
}

/// Checks the lifecycle rules. The events must start with the session's first one.
pub(crate) fn check_rules(events: &[String]) {
    let mut checker = interlingua_schema::Checker::new();
    for event in events {
        let violations = checker.push_line(event).unwrap();
        assert!(violations.is_empty(), "{violations:?}");
    }
}

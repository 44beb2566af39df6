//! The server as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use interlingua_client::{Client, CreateSessionRequest, EventQuery, FrameStream, MessageRequest};
use serde_json::Value;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A server that runs until it is stopped, killed or dropped.
pub(crate) struct Running {
    child: Child,
    pub(crate) client: Client,
}

impl Running {
    /// Starts one without a token on a data folder.
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interlingua"));
        command.args(["server", "--no-token", "--port", "0", "--data-dir"]).arg(folder).args(more);
        Self::spawn(command)
    }

    /// Starts one with a command of any kind that says where it listens.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut all = String::new();
        let base = loop {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "the server ended before it listened:\n{all}");
            if let Some((_, address)) = line.trim().split_once("listens on ") {
                break address.to_owned();
            }
            all.push_str(&line);
        };
        // Somebody has to read what it says, or it will wait for that one day.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let http = reqwest::Client::builder().timeout(REQUEST_TIMEOUT).build().unwrap();
        Self { child, client: Client::builder(base).http_client(http).build().unwrap() }
    }

    pub(crate) async fn create(&self, id: &str) {
        self.client.create_session(id, &CreateSessionRequest::new("mock")).await.unwrap();
    }

    pub(crate) async fn send(&self, id: &str, message: &str) {
        self.client.send_message(id, &MessageRequest::new(message)).await.unwrap();
    }

    /// Follows a session after an event, over one connection.
    pub(crate) async fn follow(&self, id: &str, after: u64) -> Lines {
        Lines(self.client.event_frames(id, EventQuery::after(after)).await.unwrap())
    }

    /// Sends the process a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The events of a stream, as the text that was sent.
pub(crate) struct Lines(FrameStream);

impl Lines {
    /// The next event; `None` when the stream is over, in whatever way.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let event = self.0.next_event().await.ok().flatten()?;
        Some(String::from_utf8(event.data).unwrap())
    }

    /// The events up to and including the first of a type.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<String> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().await.expect("the stream ended too early"));
            if kind_of(events.last().unwrap()) == kind {
                return events;
            }
        }
    }
}

pub(crate) fn kind_of(event: &str) -> String {
    let event: Value = serde_json::from_str(event).unwrap();
    event["type"].as_str().unwrap().to_owned()
}

/// Whether these events, which begin with the session's first, keep every rule of the universal schema.
pub(crate) fn check(events: &[String]) {
    let mut checker = interlingua_schema::Checker::new();
    for event in events {
        let violations = checker.push_line(event).unwrap();
        assert!(violations.is_empty(), "{violations:?}");
    }
}

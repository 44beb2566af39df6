//! Replays the host's side over HTTP, with an event stream.

use std::collections::HashMap;
use std::process::Stdio;

use interlingua_sse::{Decoder, Frame};
use interlingua_wirelog::{Input, Record};
use reqwest::{Client, Method};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::lines::{Lines, exit_code};
use super::{HostError, RecordBuffer, STEP_TIMEOUT};

/// Status and body of a reply.
type Reply = (u16, String);

/// A running server.
struct Server {
    child: Child,
    address: String,
    client: Client,
    events: Option<UnboundedReceiver<String>>,
    calls: HashMap<u64, JoinHandle<Result<Reply, reqwest::Error>>>,
}

/// Replays the records of one server.
pub(super) async fn replay(
    records: impl Iterator<Item = (usize, &Record)>,
    command: Command,
    buffer: &mut RecordBuffer,
) -> Result<(), HostError> {
    let mut server = Server::start(command).await.map_err(|found| HostError {
        number: 0,
        expected: "a server that prints its address".to_owned(),
        found,
    })?;
    for (index, record) in records {
        let failed = |found| HostError { number: index + 1, expected: format!("{:?}", record.input), found };
        match &record.input {
            Input::Received(_) => {
                let line = server.next_event().await.map_err(failed)?;
                buffer.push(Input::Received(line));
            }
            Input::Request { call, method, path, body } => {
                // A GET changes nothing, so the server does not wait for it.
                if method != "GET"
                    && let Some(line) = server.events.as_mut().and_then(|events| events.try_recv().ok())
                {
                    return Err(failed(format!("an event that the server sent without waiting for it: {line}")));
                }
                buffer.push(record.input.clone());
                server.send(*call, method, path, body.as_deref()).map_err(failed)?;
            }
            Input::Reply { call, .. } => {
                let (status, body) = server.receive_reply(*call).await.map_err(failed)?;
                buffer.push(Input::Reply { call: *call, status, body: to_json(&body) });
            }
            Input::Exit { .. } => {
                let status = timeout(STEP_TIMEOUT, server.child.wait()).await;
                let status = status.map_err(|_| failed(format!("a server that still runs after {STEP_TIMEOUT:?}")))?;
                for line in server.read_remaining_events().await {
                    buffer.push(Input::Received(line));
                }
                let code = exit_code(status.map_err(|error| failed(error.to_string()))?);
                buffer.push(Input::Exit { code });
                return Ok(());
            }
            // What a server prints is not part of the conversation, and contains the address of the recorded server.
            Input::Stderr(_) => buffer.push(record.input.clone()),
            Input::Sent(_) | Input::Unreadable { .. } | Input::Close => {}
        }
    }
    let _ = server.child.kill().await;
    for line in server.read_remaining_events().await {
        buffer.push(Input::Received(line));
    }
    Ok(())
}

/// A body in the form of a recording: JSON as it is, other text as a JSON string, an empty body as `None`.
fn to_json(body: &str) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
    Some(if is_json { body.to_owned() } else { serde_json::json!(body).to_string() })
}

impl Server {
    async fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let mut output = Lines::spawn(child.stdout.take().ok_or("a process without pipes")?);
        let address = loop {
            let line = output.next().await?;
            if let Some((_, address)) = line.split_once("listening on ") {
                break address.trim().to_owned();
            }
        };
        let client = Client::builder().no_proxy().build().map_err(|error| error.to_string())?;
        Ok(Self { child, address, client, events: None, calls: HashMap::new() })
    }

    /// The next payload of the event stream, which is opened by the first call.
    async fn next_event(&mut self) -> Result<String, String> {
        if self.events.is_none() {
            let response = self.client.get(format!("{}/event", self.address)).send().await;
            self.events = Some(spawn_event_reader(response.map_err(|error| error.to_string())?));
        }
        let events = self.events.as_mut().ok_or("no event stream")?;
        match timeout(STEP_TIMEOUT, events.recv()).await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err("the end of the event stream".to_owned()),
            Err(_) => Err(format!("nothing in {STEP_TIMEOUT:?}")),
        }
    }

    fn send(&mut self, call: u64, method: &str, path: &str, body: Option<&str>) -> Result<(), String> {
        let method: Method = method.parse().map_err(|_| format!("an invalid HTTP method: {method}"))?;
        let mut request = self.client.request(method, format!("{}{path}", self.address));
        if let Some(body) = body.filter(|body| *body != "null") {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        let reply = tokio::spawn(async move {
            let response = request.send().await?;
            Ok((response.status().as_u16(), response.text().await?))
        });
        self.calls.insert(call, reply);
        Ok(())
    }

    async fn receive_reply(&mut self, call: u64) -> Result<Reply, String> {
        let reply = self.calls.remove(&call).ok_or("no request to reply to")?;
        match timeout(STEP_TIMEOUT, reply).await {
            Ok(Ok(reply)) => reply.map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no reply in {STEP_TIMEOUT:?}")),
        }
    }

    async fn read_remaining_events(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(events) = &mut self.events {
            match events.recv().await {
                Some(line) => lines.push(line),
                None => break,
            }
        }
        lines
    }
}

/// Spawns a task that decodes an event stream, and returns its payloads.
fn spawn_event_reader(mut response: reqwest::Response) -> UnboundedReceiver<String> {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut decoder = Decoder::default();
        while let Ok(Some(chunk)) = response.chunk().await {
            decoder.push(&chunk);
            while let Some(frame) = decoder.next_frame() {
                if let Ok(Frame::Event(event)) = frame
                    && sender.send(String::from_utf8_lossy(&event.data).into_owned()).is_err()
                {
                    return;
                }
            }
        }
    });
    receiver
}

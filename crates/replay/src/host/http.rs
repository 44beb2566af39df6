//! Talking over HTTP, with an event stream beside it.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

use interlingua_sse::{Decoder, Frame};
use interlingua_wirelog::{Input, Record};
use reqwest::{Client, Method};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::lines::{Lines, code};
use super::{HostError, Tape};

type Reply = (u16, String);

/// A server that runs.
struct Server {
    child: Child,
    address: String,
    client: Client,
    events: Option<UnboundedReceiver<String>>,
    calls: HashMap<u64, JoinHandle<Result<Reply, reqwest::Error>>>,
}

/// Plays the host with one server.
pub(super) async fn converse(
    records: impl Iterator<Item = (usize, &Record)>,
    command: Command,
    limit: Duration,
    tape: &mut Tape,
) -> Result<(), HostError> {
    let mut server = Server::start(command, limit).await.map_err(|found| HostError {
        number: 0,
        expected: "a server that says where it listens".to_owned(),
        found,
    })?;
    for (at, record) in records {
        let failed = |found| HostError { number: at + 1, expected: format!("{:?}", record.input), found };
        match &record.input {
            Input::Received(_) => {
                let line = server.event(limit).await.map_err(failed)?;
                tape.take_down(Input::Received(line));
            }
            Input::Request { call, method, path, body } => {
                // What only looks changes nothing, so nothing waits for it.
                if method != "GET"
                    && let Some(line) = server.events.as_mut().and_then(|events| events.try_recv().ok())
                {
                    return Err(failed(format!("the server not waiting for it but saying {line}")));
                }
                tape.take_down(record.input.clone());
                server.send(*call, method, path, body.as_deref()).map_err(failed)?;
            }
            Input::Reply { call, .. } => {
                let (status, body) = server.reply(*call, limit).await.map_err(failed)?;
                tape.take_down(Input::Reply { call: *call, status, body: json(&body) });
            }
            Input::Exit { .. } => {
                let status = timeout(limit, server.child.wait()).await;
                let status = status.map_err(|_| failed(format!("a server that is there after {limit:?}")))?;
                for line in server.rest().await {
                    tape.take_down(Input::Received(line));
                }
                let code = code(status.map_err(|error| failed(error.to_string()))?);
                tape.take_down(Input::Exit { code });
                return Ok(());
            }
            // What a server prints is beside the conversation, and names an address that is not ours.
            Input::Stderr(_) => tape.take_down(record.input.clone()),
            Input::Sent(_) | Input::Unreadable { .. } | Input::Close => {}
        }
    }
    let _ = server.child.kill().await;
    for line in server.rest().await {
        tape.take_down(Input::Received(line));
    }
    Ok(())
}

/// A body as a recording has it: JSON, text that is none as a JSON string, and nothing as nothing.
fn json(body: &str) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
    Some(if is_json { body.to_owned() } else { serde_json::json!(body).to_string() })
}

impl Server {
    async fn start(mut command: Command, limit: Duration) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let mut output = Lines::of(child.stdout.take().ok_or("a process without pipes")?);
        let address = loop {
            let line = output.next(limit).await?;
            if let Some((_, address)) = line.split_once("listening on ") {
                break address.trim().to_owned();
            }
        };
        let client = Client::builder().no_proxy().build().map_err(|error| error.to_string())?;
        Ok(Self { child, address, client, events: None, calls: HashMap::new() })
    }

    /// The next payload of the event stream, which is opened when it is first needed.
    async fn event(&mut self, limit: Duration) -> Result<String, String> {
        if self.events.is_none() {
            let response = self.client.get(format!("{}/event", self.address)).send().await;
            self.events = Some(payloads(response.map_err(|error| error.to_string())?));
        }
        let events = self.events.as_mut().ok_or("no event stream")?;
        match timeout(limit, events.recv()).await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err("the end of the event stream".to_owned()),
            Err(_) => Err(format!("nothing in {limit:?}")),
        }
    }

    fn send(&mut self, call: u64, method: &str, path: &str, body: Option<&str>) -> Result<(), String> {
        let method: Method = method.parse().map_err(|_| format!("a method that HTTP does not have: {method}"))?;
        let mut request = self.client.request(method, format!("{}{path}", self.address));
        if let Some(body) = body.filter(|body| *body != "null") {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        let call_made = tokio::spawn(async move {
            let response = request.send().await?;
            Ok((response.status().as_u16(), response.text().await?))
        });
        self.calls.insert(call, call_made);
        Ok(())
    }

    async fn reply(&mut self, call: u64, limit: Duration) -> Result<Reply, String> {
        let made = self.calls.remove(&call).ok_or("no request to reply to")?;
        match timeout(limit, made).await {
            Ok(Ok(reply)) => reply.map_err(|error| error.to_string()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no reply in {limit:?}")),
        }
    }

    async fn rest(&mut self) -> Vec<String> {
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

/// The payloads of an event stream as they come.
fn payloads(mut response: reqwest::Response) -> UnboundedReceiver<String> {
    let (send, receive) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut decoder = Decoder::default();
        while let Ok(Some(chunk)) = response.chunk().await {
            decoder.push(&chunk);
            while let Some(frame) = decoder.next_frame() {
                if let Ok(Frame::Event(event)) = frame
                    && send.send(String::from_utf8_lossy(&event.data).into_owned()).is_err()
                {
                    return;
                }
            }
        }
    });
    receive
}

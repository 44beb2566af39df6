//! The HTTP server that sessions share.

use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlingua_convert::Input;
use interlingua_protocol::opencode::{
    DEFAULT_USERNAME, HttpCall, HttpReply, PASSWORD_VARIABLE, Request, Requests, USERNAME_VARIABLE, find_listening_url,
};
use interlingua_wirelog::MAX_LINE_BYTES;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, RequestBuilder, Url};
use semver::Version;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::event_stream::EventStream;
use crate::driver::ServeError;
use crate::drivers::shared_servers::{EndReason, RunningServer, SharedServer, StderrTail};
use crate::process::{Process, Program, Supervisor};

/// How long the server may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the server may take to answer a request.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to wait for the exit of a server whose event stream has ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A running server. It is ended when the last session drops it.
pub(super) struct HttpServer {
    client: Client,
    base: Url,
    password: String,
    version: Option<Version>,
    exit: watch::Receiver<Option<ServerExit>>,
    calls: AtomicU64,
    /// Requests to end the server. Closed when the last session drops it.
    end_requests: mpsc::Sender<()>,
}

/// How a server exited.
#[derive(Clone, Debug)]
pub(super) struct ServerExit {
    pub(super) code: Option<i32>,
    /// The last lines of standard error.
    pub(super) stderr: Vec<String>,
}

impl SharedServer for HttpServer {
    fn is_alive(&self) -> bool {
        self.exit.borrow().is_none()
    }
}

impl HttpServer {
    /// Starts a server with a random password.
    pub(super) async fn start(
        supervisor: &Supervisor,
        mut program: Program,
        version: Option<Version>,
        running: RunningServer,
    ) -> Result<Arc<Self>, ServeError> {
        let failed = |running: RunningServer, reason: String| {
            running.record_crash(&reason);
            Err(ServeError::Unavailable(reason))
        };
        let password = match generate_password() {
            Ok(password) => password,
            Err(error) => return failed(running, format!("cannot generate a password for OpenCode: {error}")),
        };
        program.env.retain(|(name, _)| name != PASSWORD_VARIABLE && name != USERNAME_VARIABLE);
        program.env.push((PASSWORD_VARIABLE.into(), password.as_str().into()));
        let mut process = match supervisor.start(program).await {
            Ok(process) => process,
            Err(error) => return failed(running, error.to_string()),
        };
        let mut stderr = StderrTail::default();
        let base = match timeout(START_TIMEOUT, wait_until_listening(&mut process, &mut stderr)).await {
            Ok(Ok(base)) => base,
            Ok(Err(reason)) => return failed(running, reason),
            Err(_) => return failed(running, format!("OpenCode did not start to listen within {START_TIMEOUT:?}")),
        };
        // The server is on this machine: no proxy.
        let client = match Client::builder().no_proxy().build() {
            Ok(client) => client,
            Err(error) => return failed(running, error.to_string()),
        };
        running.set_base_url(base.as_str().trim_end_matches('/'));
        let (end_requests, end_receiver) = mpsc::channel(1);
        let (exited, exit) = watch::channel(None);
        tokio::spawn(watch_process(process, stderr, exited, end_receiver, running));
        Ok(Arc::new(Self { client, base, password, version, exit, calls: AtomicU64::new(0), end_requests }))
    }

    /// A number for a request. It is unique on this server.
    pub(super) fn next_call_number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Encodes a request for the version of the server.
    pub(super) fn to_call(&self, request: &Request) -> HttpCall {
        request.to_call(self.version.as_ref())
    }

    /// Sends a request and waits for the reply.
    pub(super) async fn send(&self, call: HttpCall) -> Result<HttpReply, String> {
        let failed = |error: reqwest::Error| format!("OpenCode did not answer: {}", error.without_url());
        let mut response = self.build(call)?.timeout(REPLY_TIMEOUT).send().await.map_err(failed)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_LINE_BYTES {
                return Err(format!("OpenCode's reply is longer than {MAX_LINE_BYTES} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        Ok(HttpReply::new(response.status().as_u16(), content_type, String::from_utf8_lossy(&body)))
    }

    /// Subscribes to the events of a directory. No event is missed that happens after this returns.
    pub(super) async fn subscribe(&self, requests: &Requests) -> Result<EventStream, String> {
        let failed = |error: reqwest::Error| format!("cannot subscribe to OpenCode's events: {}", error.without_url());
        let request = self.build(self.to_call(&requests.subscribe().into()))?;
        let response = timeout(REPLY_TIMEOUT, request.send()).await;
        let response = response.map_err(|_| format!("no answer to the event subscription within {REPLY_TIMEOUT:?}"))?;
        let response = response.and_then(reqwest::Response::error_for_status).map_err(failed)?;
        Ok(EventStream::new(response))
    }

    fn build(&self, call: HttpCall) -> Result<RequestBuilder, String> {
        let HttpCall { method, path, body } = call;
        let url = self.base.join(&path).map_err(|error| format!("invalid path {path}: {error}"))?;
        let method =
            Method::from_bytes(method.as_bytes()).map_err(|error| format!("invalid method {method}: {error}"))?;
        let request = self.client.request(method, url).basic_auth(DEFAULT_USERNAME, Some(&self.password));
        Ok(match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body),
            None => request,
        })
    }

    /// How the server exited, if it has or is about to.
    pub(super) async fn exit(&self) -> Option<ServerExit> {
        let mut exit = self.exit.clone();
        let exit = timeout(EXIT_TIMEOUT, exit.wait_for(Option::is_some)).await;
        exit.ok().and_then(|exit| exit.ok().and_then(|exit| exit.clone()))
    }

    /// Ends a server that does not answer any more, for all its sessions.
    pub(super) fn end(&self) {
        // If the channel is full, another session has asked already.
        let _ = self.end_requests.try_send(());
    }
}

fn generate_password() -> std::io::Result<String> {
    let mut random = [0; 24];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(STANDARD.encode(random))
}

/// Waits until the server prints where it listens.
async fn wait_until_listening(process: &mut Process, stderr: &mut StderrTail) -> Result<Url, String> {
    loop {
        match process.next().await {
            Input::Received(line) => {
                if let Some(url) = find_listening_url(&line).and_then(|url| Url::parse(url).ok()) {
                    return Ok(url);
                }
            }
            Input::Stderr(line) => stderr.push(line),
            Input::Exit { code } => return Err(stderr.exit_message("OpenCode", code)),
            _ => {}
        }
    }
}

/// Waits for the server's exit, and ends the server when no session holds it any more.
async fn watch_process(
    mut process: Process,
    mut stderr: StderrTail,
    exited: watch::Sender<Option<ServerExit>>,
    mut end_receiver: mpsc::Receiver<()>,
    running: RunningServer,
) {
    let mut end_reason = None;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            request = end_receiver.recv(), if end_reason.is_none() => {
                end_reason = Some(EndReason::from_request(request));
                process.terminate().await;
                continue;
            }
        };
        match output {
            Input::Stderr(line) => stderr.push(line),
            Input::Exit { code } => {
                if end_reason != Some(EndReason::Unused) {
                    running.record_crash(&stderr.exit_message("OpenCode", code));
                }
                exited.send_replace(Some(ServerExit { code, stderr: stderr.into_lines() }));
                return;
            }
            _ => {}
        }
    }
}

//! The HTTP server that sessions share.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use interlingua_convert::Input;
use interlingua_wirelog::MAX_LINE_BYTES;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, RequestBuilder, Url};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::events::Events;
use crate::driver::ServeError;
use crate::drivers::shared::{Ending, Running, Server, Tail};
use crate::process::{Process, Program, Supervisor};

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// How long its end is waited for when it no longer speaks.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Whom requests come from.
const USER: &str = "opencode";
/// Where its password is set.
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";
const USERNAME: &str = "OPENCODE_SERVER_USERNAME";
/// What it says when it listens, before where.
const LISTENING: &str = "listening on ";

/// A server that runs. It is ended when the last who holds it lets go.
pub(super) struct HttpServer {
    client: Client,
    base: Url,
    password: String,
    gone: watch::Receiver<Option<Gone>>,
    calls: AtomicU64,
    needed: mpsc::Sender<()>,
}

/// How a server ended.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    pub(super) code: Option<i32>,
    /// What it last wrote to its standard error.
    pub(super) stderr: Vec<String>,
}

/// What a request was answered with.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Option<String>,
    is_web_page: bool,
}

impl Answer {
    /// Whether the server did what it was asked. A path that does not exist is answered with a web page.
    pub(super) fn is_success(&self) -> bool {
        self.status < 300 && !self.is_web_page
    }
}

impl Server for HttpServer {
    fn is_up(&self) -> bool {
        self.gone.borrow().is_none()
    }
}

impl HttpServer {
    /// Starts one, with a password that nobody else knows.
    pub(super) async fn start(
        supervisor: &Supervisor,
        mut program: Program,
        running: Running,
    ) -> Result<Arc<Self>, ServeError> {
        let failed = |running: Running, reason: String| {
            running.fell(&reason);
            Err(ServeError::Unavailable(reason))
        };
        let password = match password() {
            Ok(password) => password,
            Err(error) => return failed(running, format!("there is no randomness for a password: {error}")),
        };
        program.env.retain(|(name, _)| name != PASSWORD && name != USERNAME);
        program.env.push((PASSWORD.into(), password.as_str().into()));
        let mut process = match supervisor.start(program).await {
            Ok(process) => process,
            Err(error) => return failed(running, error.to_string()),
        };
        let mut stderr = Tail::default();
        let base = match timeout(PATIENCE, listening(&mut process, &mut stderr)).await {
            Ok(Ok(base)) => base,
            Ok(Err(reason)) => return failed(running, reason),
            Err(_) => return failed(running, format!("OpenCode did not listen within {PATIENCE:?}")),
        };
        // Its address is this machine's own; no proxy stands in between.
        let client = match Client::builder().no_proxy().build() {
            Ok(client) => client,
            Err(error) => return failed(running, error.to_string()),
        };
        running.listens(base.as_str().trim_end_matches('/'));
        let (needed, not_needed) = mpsc::channel(1);
        let (end, gone) = watch::channel(None);
        tokio::spawn(attend(process, stderr, end, not_needed, running));
        Ok(Arc::new(Self { client, base, password, gone, calls: AtomicU64::new(0), needed }))
    }

    /// A number for a request that no other has.
    pub(super) fn number(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Makes a request.
    pub(super) async fn call(&self, method: Method, path: &str, body: Option<String>) -> Result<Answer, String> {
        let failed = |error: reqwest::Error| format!("OpenCode does not answer: {}", error.without_url());
        let mut request = self.request(method, path)?.timeout(ANSWER);
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let is_web_page =
            response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > MAX_LINE_BYTES {
                return Err(format!("the answer of OpenCode has more than {MAX_LINE_BYTES} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { status, body: (!body.is_empty()).then_some(body), is_web_page })
    }

    /// The events of a directory. They come when this is done.
    pub(super) async fn events(&self, directory: &Path) -> Result<Events, String> {
        let failed = |error: reqwest::Error| format!("OpenCode tells no events: {}", error.without_url());
        let request = self.request(Method::GET, &in_directory("/event", directory))?;
        let response = timeout(ANSWER, request.send()).await.map_err(|_| "OpenCode tells no events".to_owned())?;
        let response = response.and_then(reqwest::Response::error_for_status).map_err(failed)?;
        Ok(Events::new(response))
    }

    fn request(&self, method: Method, path: &str) -> Result<RequestBuilder, String> {
        let url = self.base.join(path).map_err(|error| format!("{path} is no path: {error}"))?;
        Ok(self.client.request(method, url).basic_auth(USER, Some(&self.password)))
    }

    /// How the server ended, if it did or is about to.
    pub(super) async fn gone(&self) -> Option<Gone> {
        let mut gone = self.gone.clone();
        let gone = timeout(LAST_WORDS, gone.wait_for(Option::is_some)).await;
        gone.ok().and_then(|gone| gone.ok().and_then(|gone| gone.clone()))
    }

    /// Ends a server that no longer obeys, for all who hold it.
    pub(super) fn end(&self) {
        // Somebody else may have ordered it.
        let _ = self.needed.try_send(());
    }
}

/// A path in a directory.
pub(super) fn in_directory(path: &str, directory: &Path) -> String {
    let mut query = String::new();
    for byte in directory.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => query.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(query, "%{byte:02X}")),
        }
    }
    format!("{path}?directory={query}")
}

fn password() -> std::io::Result<String> {
    let mut random = [0; 24];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(STANDARD.encode(random))
}

/// Waits until the server says where it listens.
async fn listening(process: &mut Process, stderr: &mut Tail) -> Result<Url, String> {
    loop {
        match process.next().await {
            Input::Received(line) => {
                let place = line.split_once(LISTENING).map(|(_, place)| place.trim());
                if let Some(url) = place.and_then(|place| Url::parse(place).ok()) {
                    return Ok(url);
                }
            }
            Input::Stderr(line) => stderr.push(line),
            Input::Exit { code } => return Err(stderr.farewell("OpenCode", code)),
            _ => {}
        }
    }
}

/// Waits for the server's end, and brings it about when nobody needs it any more.
async fn attend(
    mut process: Process,
    mut stderr: Tail,
    end: watch::Sender<Option<Gone>>,
    mut not_needed: mpsc::Receiver<()>,
    running: Running,
) {
    let mut ending = None;
    loop {
        let output = tokio::select! {
            output = process.next() => output,
            order = not_needed.recv(), if ending.is_none() => {
                ending = Some(Ending::of(order));
                process.end().await;
                continue;
            }
        };
        match output {
            Input::Stderr(line) => stderr.push(line),
            Input::Exit { code } => {
                if ending != Some(Ending::NotNeeded) {
                    running.fell(&stderr.farewell("OpenCode", code));
                }
                end.send_replace(Some(Gone { code, stderr: stderr.lines() }));
                return;
            }
            _ => {}
        }
    }
}

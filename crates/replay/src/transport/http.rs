//! OpenCode's server: HTTP requests and an event stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{io, mem, thread};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{OriginalUri, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Incoming;
use super::event_stream::{EventFormat, EventStream};
use crate::agent_protocol::{parse_request, session_id};
use crate::command_line::CommandLine;
use crate::message::HostMessage;

/// Port on which OpenCode listens if the command line gives none.
const DEFAULT_PORT: u16 = 4096;

/// A request that has no reply yet.
#[derive(Debug)]
struct Call {
    reply: oneshot::Sender<Reply>,
    /// How a prompt is replied to; `None` for other requests.
    prompt: Option<Prompt>,
    /// Directory of the session that the request creates.
    directory: Option<String>,
}

/// The reply to a request.
#[derive(Debug)]
struct Reply {
    status: u16,
    body: String,
    /// Dropped when the reply has been written, or cannot be.
    _written: oneshot::Sender<()>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Prompt {
    /// `prompt_async`: the reply comes at once and only says that the prompt was accepted.
    Async,
    /// `message`: the reply comes at the end of this session's turn and contains the assistant's message.
    Sync(String),
}

/// The last message of the assistant so far.
#[derive(Debug, Default)]
struct AssistantMessage {
    info: Value,
    parts: Vec<Value>,
    /// Index of each part by its id.
    part_indexes: HashMap<String, usize>,
}

const PART_DELTA: &str = "message.part.delta";

/// The fields of a part delta that are needed here.
#[derive(Deserialize)]
struct PartDelta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    properties: PartDeltaProperties<'a>,
}

#[derive(Deserialize)]
struct PartDeltaProperties<'a> {
    #[serde(rename = "sessionID")]
    session: &'a str,
}

#[derive(Debug)]
struct Shared {
    incoming: UnboundedSender<Incoming>,
    /// Credentials that a request must carry, if there is a password.
    credentials: Option<String>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    events: EventStream,
    calls: HashMap<String, Call>,
    /// Replies since the last flush. Each receiver is notified when its reply has been written.
    unwritten: Vec<oneshot::Receiver<()>>,
    /// Number of requests so far.
    requests: u64,
    /// Last assistant message of each session.
    messages: HashMap<String, AssistantMessage>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending side of the server.
#[derive(Debug)]
pub(crate) struct Http {
    shared: Arc<Shared>,
    /// Runtime of the server. A single thread serves all requests, so another task on it runs only after the
    /// connections have written what they could.
    runtime: Handle,
}

impl Http {
    /// Listens on the address of the command line and prints it as OpenCode does.
    pub(crate) async fn open(
        command_line: &CommandLine,
        credentials: Option<String>,
        greeting: Option<String>,
        incoming: UnboundedSender<Incoming>,
    ) -> io::Result<Self> {
        let hostname = command_line.hostname.as_deref().unwrap_or("127.0.0.1");
        let listener = match command_line.port.unwrap_or(0) {
            0 => match TcpListener::bind((hostname, DEFAULT_PORT)).await {
                Err(_) => TcpListener::bind((hostname, 0)).await?,
                bound => bound?,
            },
            port => TcpListener::bind((hostname, port)).await?,
        };
        // Another runtime serves it than the one that bound it.
        let listener = listener.into_std()?;
        let port = listener.local_addr()?.port();
        let is_unsecured = credentials.is_none();
        let inner = Inner { events: EventStream::new(greeting), ..Inner::default() };
        let shared = Arc::new(Shared { incoming, credentials, inner: Mutex::new(inner) });
        let app = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let server = Builder::new_current_thread().enable_all().build()?;
        let runtime = server.handle().clone();
        thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || server.block_on(async { axum::serve(TcpListener::from_std(listener)?, app).await }))?;
        if is_unsecured {
            println!("Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured.");
        }
        println!("opencode server listening on http://{hostname}:{port}");
        Ok(Self { shared, runtime })
    }

    /// Credentials that requests must carry if the environment sets a password: user and password in base64.
    pub(crate) fn credentials(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
        let password = variable("OPENCODE_SERVER_PASSWORD").filter(|password| !password.is_empty())?;
        let user = variable("OPENCODE_SERVER_USERNAME").unwrap_or_else(|| "opencode".to_owned());
        Some(BASE64_STANDARD.encode(format!("{user}:{password}")))
    }

    pub(super) fn publish(&self, line: &str) {
        // Nearly all events are part deltas, which do not change the state. Decoding only two fields of them is faster.
        if let Ok(PartDelta { kind: PART_DELTA, properties: PartDeltaProperties { session } }) =
            serde_json::from_str(line)
        {
            return self.shared.lock().events.publish(Some(session), line.as_bytes());
        }
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let mut inner = self.shared.lock();
        inner.events.publish(session_id(&event), line.as_bytes());
        inner.observe(&event);
    }

    /// Sends a payload to all subscribers.
    pub(super) fn broadcast_payload(&self, bytes: &[u8]) {
        self.shared.lock().events.publish(None, bytes);
    }

    /// Sends the beginning of a payload to all subscribers.
    pub(super) fn broadcast_partial_payload(&self, bytes: &[u8]) {
        self.shared.lock().events.send_raw(&[b"data: ", bytes].concat());
    }

    /// Replies to an async prompt at once, even if the recorded host waited for the assistant's message.
    pub(super) fn accept_request(&self, key: &str, recorded_status: Option<u16>) {
        let mut inner = self.shared.lock();
        let is_async = inner.calls.get(key).is_some_and(|call| call.prompt == Some(Prompt::Async));
        if is_async && recorded_status == Some(200) {
            inner.reply(key, 204, String::new());
        }
    }

    pub(super) fn reply(&self, key: &str, status: u16, body: &str) {
        let mut inner = self.shared.lock();
        let is_sync = inner.calls.get(key).is_some_and(|call| matches!(call.prompt, Some(Prompt::Sync(_))));
        // The recorded host did not wait for the assistant's message, but this one does: its reply comes at the end of
        // the turn.
        if !(is_sync && status == 204) {
            inner.reply(key, status, body.to_owned());
        }
    }

    pub(super) async fn flush(&self) {
        let mut unwritten = mem::take(&mut self.shared.lock().unwritten);
        unwritten.extend(self.shared.lock().events.queue_flush_markers());
        let flushed = self.runtime.spawn(async move {
            for written in unwritten {
                // Fails if the client has disconnected. Then there is nothing to wait for.
                let _ = written.await;
            }
        });
        let _ = flushed.await;
    }
}

impl Inner {
    fn reply(&mut self, key: &str, status: u16, body: String) {
        let Some(call) = self.calls.remove(key) else { return };
        if let (Some(directory), Ok(session)) = (&call.directory, serde_json::from_str::<Value>(&body))
            && let Some(id) = session["id"].as_str()
        {
            self.events.set_directory(id, directory);
        }
        let (written, is_written) = oneshot::channel();
        self.unwritten.push(is_written);
        let _ = call.reply.send(Reply { status, body, _written: written });
    }

    /// Updates the assistant's last message of a session. At the end of the turn, replies with it to sync prompts.
    fn observe(&mut self, event: &Value) {
        let properties = &event["properties"];
        let Some(session) = properties["sessionID"].as_str() else { return };
        if let Some(parent) = properties["info"]["parentID"].as_str().filter(|_| event["type"] == "session.created") {
            self.events.inherit_directory(session, parent);
        }
        let message = self.messages.entry(session.to_owned()).or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message.updated" if properties["info"]["role"] == "assistant" => {
                if message.info["id"] != properties["info"]["id"] {
                    message.parts.clear();
                    message.part_indexes.clear();
                }
                message.info = properties["info"].clone();
            }
            "message.part.updated" if properties["part"]["messageID"] == message.info["id"] => {
                let part = properties["part"].clone();
                let id = part["id"].as_str().unwrap_or_default().to_owned();
                let index = *message.part_indexes.entry(id).or_insert(message.parts.len());
                if let Some(known) = message.parts.get_mut(index) {
                    *known = part;
                } else {
                    message.parts.push(part);
                }
            }
            "session.idle" => {
                let body = json!({"info": message.info, "parts": message.parts}).to_string();
                let is_waiting = |call: &Call| call.prompt == Some(Prompt::Sync(session.to_owned()));
                let waiting: Vec<String> =
                    self.calls.iter().filter(|(_, call)| is_waiting(call)).map(|(key, _)| key.clone()).collect();
                for key in waiting {
                    self.reply(&key, 200, body.clone());
                }
            }
            _ => {}
        }
    }
}

/// Handles every HTTP request.
async fn handle(
    State(shared): State<Arc<Shared>>,
    method: Method,
    OriginalUri(uri): OriginalUri,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Some(credentials) = &shared.credentials {
        let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let basic = header.and_then(|value| value.strip_prefix("Basic "));
        if basic.or(query.get("auth_token").map(String::as_str)) != Some(credentials) {
            return StatusCode::UNAUTHORIZED.into_response();
        }
    }
    let directory = query.get("directory").cloned().or_else(|| {
        let header = headers.get("x-opencode-directory")?.to_str().ok()?;
        Some(percent_decode_str(header).decode_utf8_lossy().into_owned())
    });
    let format = match (method.as_str(), uri.path()) {
        ("GET", "/event" | "/api/event") => Some(EventFormat::Plain),
        ("GET", "/global/event") => Some(EventFormat::Global),
        _ => None,
    };
    if let Some(format) = format {
        let body = shared.lock().events.subscribe(directory, format);
        return ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], body)
            .into_response();
    }
    let text = String::from_utf8_lossy(&body);
    let message = parse_request(method.as_str(), uri.path(), Some(&text));
    let (reply, replied) = oneshot::channel();
    {
        let mut inner = shared.lock();
        inner.requests += 1;
        let key = inner.requests.to_string();
        let prompt = match (message.meaning.as_str(), uri.path().ends_with("/prompt_async")) {
            ("POST /session/{}/message", true) => Some(Prompt::Async),
            ("POST /session/{}/message", false) => message.ids.first().cloned().map(Prompt::Sync),
            _ => None,
        };
        // Only the request that creates a session sets the directory of that session.
        let directory = directory.filter(|_| message.meaning == "POST /session");
        inner.calls.insert(key.clone(), Call { reply, prompt, directory });
        // Does not fail: the player, which receives it, outlives the server.
        let _ = shared.incoming.send(Incoming::Message(HostMessage { key: Some(key), ..message }));
    }
    match replied.await {
        Ok(reply) => response(reply.status, reply.body),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Builds a response. A recorded body is JSON; an HTML page that was recorded as a JSON string is sent as the page.
fn response(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if body.is_empty() || body == "null" {
        return status.into_response();
    }
    match serde_json::from_str(&body) {
        Ok(Value::String(page)) if page.starts_with('<') => {
            (status, [(header::CONTENT_TYPE, "text/html;charset=UTF-8")], page).into_response()
        }
        _ => (status, [(header::CONTENT_TYPE, "application/json")], Body::from(body)).into_response(),
    }
}

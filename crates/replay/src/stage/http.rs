//! OpenCode's server: HTTP, and an event stream beside it.

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
use super::events::{Events, Wrapping};
use crate::dialect::{request, session_of};
use crate::launch::Launch;
use crate::said::Said;

/// Where OpenCode listens when nobody says where.
const PORT: u16 = 4096;

/// A request that waits for its reply.
#[derive(Debug)]
struct Call {
    reply: oneshot::Sender<Reply>,
    /// Whether the reply to a prompt is the whole answer, rather than that it was taken.
    prompt: Option<Prompt>,
    directory: Option<String>,
}

/// What a request is answered with.
#[derive(Debug)]
struct Reply {
    status: u16,
    body: String,
    /// Dropped when the answer has left, or can't.
    _leaving: oneshot::Sender<()>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Prompt {
    /// `prompt_async`: answered at once.
    Async,
    /// `message`: answered at the end of the turn of this session.
    Sync(String),
}

/// The last message of an assistant, as far as it is known.
#[derive(Debug, Default)]
struct Message {
    info: Value,
    parts: Vec<Value>,
    /// Where each part is, by its id.
    places: HashMap<String, usize>,
}

const PIECE: &str = "message.part.delta";

/// As much of a piece of a message as counts here.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    properties: PieceOf<'a>,
}

#[derive(Deserialize)]
struct PieceOf<'a> {
    #[serde(rename = "sessionID")]
    session: &'a str,
}

#[derive(Debug)]
struct Shared {
    incoming: UnboundedSender<Incoming>,
    /// What a request must carry, if there is a password.
    credentials: Option<String>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    events: Events,
    calls: HashMap<String, Call>,
    /// The replies since the last flush, each told when it has left.
    leaving: Vec<oneshot::Receiver<()>>,
    count: u64,
    messages: HashMap<String, Message>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The server's side that speaks.
#[derive(Debug)]
pub(crate) struct Http {
    shared: Arc<Shared>,
    /// One thread serves all requests, so whatever else runs on it sees a connection only when it has written what
    /// it could.
    server: Handle,
}

impl Http {
    /// Listens where the command line says, and says so as OpenCode does.
    pub(crate) async fn open(
        launch: &Launch,
        credentials: Option<String>,
        greeting: Option<String>,
        incoming: UnboundedSender<Incoming>,
    ) -> io::Result<Self> {
        let hostname = launch.hostname.as_deref().unwrap_or("127.0.0.1");
        let listener = match launch.port.unwrap_or(0) {
            0 => match TcpListener::bind((hostname, PORT)).await {
                Err(_) => TcpListener::bind((hostname, 0)).await?,
                bound => bound?,
            },
            port => TcpListener::bind((hostname, port)).await?,
        };
        // It is served by another runtime than the one that found it.
        let listener = listener.into_std()?;
        let port = listener.local_addr()?.port();
        let unsecured = credentials.is_none();
        let inner = Inner { events: Events::new(greeting), ..Inner::default() };
        let shared = Arc::new(Shared { incoming, credentials, inner: Mutex::new(inner) });
        let app = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let server = runtime.handle().clone();
        thread::Builder::new()
            .name("http".to_owned())
            .spawn(move || runtime.block_on(async { axum::serve(TcpListener::from_std(listener)?, app).await }))?;
        if unsecured {
            println!("Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured.");
        }
        println!("opencode server listening on http://{hostname}:{port}");
        Ok(Self { shared, server })
    }

    /// What requests must carry when the environment sets a password: the user and the password, in base 64.
    pub(crate) fn credentials(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
        let password = variable("OPENCODE_SERVER_PASSWORD").filter(|password| !password.is_empty())?;
        let user = variable("OPENCODE_SERVER_USERNAME").unwrap_or_else(|| "opencode".to_owned());
        Some(BASE64_STANDARD.encode(format!("{user}:{password}")))
    }

    pub(super) fn publish(&self, line: &str) {
        // Nearly all events are pieces of a message, of which nothing is remembered.
        if let Ok(Piece { kind: PIECE, properties: PieceOf { session } }) = serde_json::from_str(line) {
            return self.shared.lock().events.publish(Some(session), line.as_bytes());
        }
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let mut inner = self.shared.lock();
        inner.events.publish(session_of(&event), line.as_bytes());
        inner.remember(&event);
    }

    pub(super) fn broadcast(&self, bytes: &[u8], whole: bool) {
        let mut inner = self.shared.lock();
        if whole {
            inner.events.publish(None, bytes);
        } else {
            inner.events.raw(&[b"data: ", bytes].concat());
        }
    }

    /// A host that prompts without waiting is told at once that the prompt was taken, even where the recorded one
    /// waited for the answer.
    pub(super) fn heard(&self, key: &str, recorded: Option<u16>) {
        let mut inner = self.shared.lock();
        let is_async = inner.calls.get(key).is_some_and(|call| call.prompt == Some(Prompt::Async));
        if is_async && recorded == Some(200) {
            inner.settle(key, 204, String::new());
        }
    }

    pub(super) fn reply(&self, key: &str, status: u16, body: &str) {
        let mut inner = self.shared.lock();
        let waits = inner.calls.get(key).is_some_and(|call| matches!(call.prompt, Some(Prompt::Sync(_))));
        // The recorded host did not wait for the answer but this one does, so its reply comes with the turn's end.
        if !(waits && status == 204) {
            inner.settle(key, status, body.to_owned());
        }
    }

    pub(super) async fn flush(&self) {
        let mut leaving = mem::take(&mut self.shared.lock().leaving);
        leaving.extend(self.shared.lock().events.marks());
        let left = self.server.spawn(async move {
            for each in leaving {
                // A reader that has gone tells nothing.
                let _ = each.await;
            }
        });
        let _ = left.await;
    }
}

impl Inner {
    fn settle(&mut self, key: &str, status: u16, body: String) {
        let Some(call) = self.calls.remove(key) else { return };
        if let (Some(directory), Ok(session)) = (&call.directory, serde_json::from_str::<Value>(&body))
            && let Some(id) = session["id"].as_str()
        {
            self.events.place(id, directory);
        }
        let (told, left) = oneshot::channel();
        self.leaving.push(left);
        let _ = call.reply.send(Reply { status, body, _leaving: told });
    }

    /// Keeps the assistant's last message, and gives it to those who wait for it when the turn is over.
    fn remember(&mut self, event: &Value) {
        let about = &event["properties"];
        let Some(session) = about["sessionID"].as_str() else { return };
        if let Some(parent) = about["info"]["parentID"].as_str().filter(|_| event["type"] == "session.created") {
            self.events.place_beside(session, parent);
        }
        let message = self.messages.entry(session.to_owned()).or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message.updated" if about["info"]["role"] == "assistant" => {
                if message.info["id"] != about["info"]["id"] {
                    message.parts.clear();
                    message.places.clear();
                }
                message.info = about["info"].clone();
            }
            "message.part.updated" if about["part"]["messageID"] == message.info["id"] => {
                let part = about["part"].clone();
                let id = part["id"].as_str().unwrap_or_default().to_owned();
                let place = *message.places.entry(id).or_insert(message.parts.len());
                if let Some(known) = message.parts.get_mut(place) {
                    *known = part;
                } else {
                    message.parts.push(part);
                }
            }
            "session.idle" => {
                let body = json!({"info": message.info, "parts": message.parts}).to_string();
                let wait = |call: &Call| call.prompt == Some(Prompt::Sync(session.to_owned()));
                let waiting: Vec<String> =
                    self.calls.iter().filter(|(_, call)| wait(call)).map(|(key, _)| key.clone()).collect();
                for key in waiting {
                    self.settle(&key, 200, body.clone());
                }
            }
            _ => {}
        }
    }
}

/// Everything that comes over HTTP.
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
    let wrapping = match (method.as_str(), uri.path()) {
        ("GET", "/event" | "/api/event") => Some(Wrapping::Plain),
        ("GET", "/global/event") => Some(Wrapping::Global),
        _ => None,
    };
    if let Some(wrapping) = wrapping {
        let body = shared.lock().events.subscribe(directory, wrapping);
        return ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], body)
            .into_response();
    }
    let text = String::from_utf8_lossy(&body);
    let said = request(method.as_str(), uri.path(), Some(&text));
    let (reply, replied) = oneshot::channel();
    {
        let mut inner = shared.lock();
        inner.count += 1;
        let key = inner.count.to_string();
        let prompt = match (said.what.as_str(), uri.path().ends_with("/prompt_async")) {
            ("POST /session/{}/message", true) => Some(Prompt::Async),
            ("POST /session/{}/message", false) => said.ids.first().cloned().map(Prompt::Sync),
            _ => None,
        };
        // Only what makes a session says where that session lives.
        let directory = directory.filter(|_| said.what == "POST /session");
        inner.calls.insert(key.clone(), Call { reply, prompt, directory });
        // The performer outlives the server, so somebody takes it.
        let _ = shared.incoming.send(Incoming::Said(Said { key: Some(key), ..said }));
    }
    match replied.await {
        Ok(reply) => response(reply.status, reply.body),
        Err(_) => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// A recorded body is JSON; a page that the recorder took down as JSON text goes out as the page it was.
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

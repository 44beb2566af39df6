//! The model as a server on loopback.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Scenario;
use crate::dialect::{Answer, Dialect};
use crate::player::{Decision, End, Player};
use crate::progress::{Progress, ScenarioReport};
use crate::reply::{Frame, Wait};

/// The model that is said to answer when the agent names none.
const MODEL: &str = "scripted";

/// A model that is being served. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    stage: Arc<Stage>,
    task: JoinHandle<()>,
}

/// Who says when a session's turn is over, for the replies that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEndSource {
    /// The model, when it has given the last reply of the turn.
    Model,
    /// The host, with [`ScriptedModel::end_turn`]: only it knows when the agent is done with it.
    Host,
}

/// What all requests share.
#[derive(Debug)]
struct Stage {
    scenario: Scenario,
    workspace: PathBuf,
    gates: TurnEndSource,
    progress: Mutex<Progress>,
    /// The sessions whose turn is over, and the sub-agents that are done.
    over: watch::Sender<BTreeSet<String>>,
}

impl ScriptedModel {
    /// Serves a scenario on a loopback port, any free one if it is 0. Files that the model speaks of are in
    /// `workspace`.
    ///
    /// # Errors
    /// When the port cannot be had.
    pub async fn start(scenario: Scenario, workspace: PathBuf, port: u16, gates: TurnEndSource) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let stage =
            Arc::new(Stage { scenario, workspace, gates, progress: Mutex::default(), over: watch::Sender::default() });
        let router = router(Arc::clone(&stage));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!("the scripted model stopped: {error}");
            }
        });
        Ok(Self { address, stage, task })
    }

    /// Stops it; its port is free again.
    pub async fn stop(mut self) {
        self.task.abort();
        // It was just told to end, and that is how it ends.
        let _ = (&mut self.task).await;
    }

    /// Where it is, without a path: `http://127.0.0.1:4711`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lets go on what waits for the end of this session's turn.
    pub fn end_turn(&self, session: &str) {
        self.stage.over.send_modify(|over| {
            over.insert(session.to_owned());
        });
    }

    /// Whether every reply of a turn was asked for; the first turn is 0.
    #[must_use]
    pub fn has_played_turn(&self, turn: usize) -> bool {
        self.stage.progress().has_played_turn(&self.stage.scenario, turn)
    }

    /// What the agent last brought when it asked for a reply of a turn: what was said to the model, and what its tools
    /// gave it, in order. The first turn is 0.
    #[must_use]
    pub fn received_texts(&self, turn: usize) -> Vec<String> {
        self.stage.progress().received_texts(turn)
    }

    /// The keys that agents came with.
    #[must_use]
    pub fn api_keys(&self) -> BTreeSet<String> {
        self.stage.progress().keys.clone()
    }

    /// What became of the scenario so far.
    #[must_use]
    pub fn report(&self) -> ScenarioReport {
        self.stage.progress().report(&self.stage.scenario)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stage {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Agents differ in whether the version is part of the address that they are given.
fn router(stage: Arc<Stage>) -> Router {
    let mut router = Router::new();
    for base in ["", "/v1"] {
        router = router
            .route(&format!("{base}/messages"), post(messages))
            .route(&format!("{base}/messages/count_tokens"), post(count_tokens))
            .route(&format!("{base}/responses"), post(responses))
            .route(&format!("{base}/chat/completions"), post(chat))
            .route(&format!("{base}/models"), get(models));
    }
    // A list of models that adds none to those which the agent is configured with.
    router = router.route("/api.json", get(async || axum::Json(json!({}))));
    // Agents send whole files along; there is no reason to refuse any.
    let unlimited = axum::extract::DefaultBodyLimit::disable();
    router.fallback(not_here).layer(unlimited).with_state(stage)
}

async fn messages(State(stage): State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(&stage, Dialect::Anthropic, &headers, &body)
}

async fn responses(State(stage): State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(&stage, Dialect::Responses, &headers, &body)
}

async fn chat(State(stage): State<Arc<Stage>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(&stage, Dialect::Chat, &headers, &body)
}

async fn count_tokens() -> Response {
    axum::Json(json!({"input_tokens": 100})).into_response()
}

async fn models() -> Response {
    let model = json!({"id": MODEL, "type": "model", "object": "model", "display_name": "Scripted", "owned_by": "scripted", "created": 0});
    axum::Json(json!({"object": "list", "data": [model], "has_more": false})).into_response()
}

async fn not_here(uri: Uri) -> Response {
    let message = format!("the scripted model has nothing at {}", uri.path());
    refuse(Dialect::Chat, 404, &message, None)
}

fn answer(stage: &Arc<Stage>, dialect: Dialect, headers: &HeaderMap, body: &Bytes) -> Response {
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return refuse(dialect, 400, &format!("expected JSON: {error}"), None),
    };
    let mut conversation = dialect.read(&body);
    if conversation.session.is_empty() {
        // OpenCode says it here.
        let session = headers.get("x-session-id").and_then(|value| value.to_str().ok());
        session.unwrap_or_default().clone_into(&mut conversation.session);
    }
    if let Some(key) = key(headers) {
        stage.progress().keys.insert(key.to_owned());
    }
    let player = Player { scenario: &stage.scenario, workspace: &stage.workspace, dialect };
    let decision = player.decide(&conversation, &mut stage.progress());
    tracing::debug!(?dialect, ?decision, "request");
    match decision {
        Decision::Refuse { status, message, retry_after } => refuse(dialect, status, &message, retry_after),
        Decision::Answer { id, parts, ends } => {
            let model = if conversation.model.is_empty() { MODEL } else { &conversation.model };
            let answer = Answer { id: &id, model, parts: &parts };
            let frames = if conversation.stream {
                dialect.stream(&answer)
            } else {
                // In one piece, but not before its time and not if it fails.
                let mut frames: Vec<Frame> =
                    dialect.stream(&answer).into_iter().filter(|frame| !matches!(frame, Frame::Bytes(_))).collect();
                frames.push(Frame::Bytes(dialect.whole(&answer).to_string()));
                frames
            };
            let kind = if conversation.stream { "text/event-stream" } else { "application/json" };
            let ends = ends.and_then(|end| match end {
                End::Turn(session) => (stage.gates == TurnEndSource::Model).then_some(session),
                End::SubAgent(label) => Some(label),
            });
            ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], play(stage, frames, ends))
                .into_response()
        }
    }
}

/// The key of a request, which one language has in a header of its own.
fn key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    text("x-api-key").or_else(|| text("authorization")?.strip_prefix("Bearer "))
}

fn refuse(dialect: Dialect, status: u16, message: &str, retry_after: Option<u64>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, axum::Json(dialect.refusal(status.as_u16(), message))).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Sends the frames in their time, then says that the turn of `ends` is over.
fn play(stage: &Arc<Stage>, frames: Vec<Frame>, ends: Option<String>) -> Body {
    let start = (frames.into_iter(), stage.over.subscribe(), Arc::clone(stage), ends);
    Body::from_stream(futures_util::stream::unfold(start, |(mut frames, mut over, stage, ends)| async move {
        loop {
            let item = match frames.next() {
                Some(Frame::Bytes(bytes)) => Ok(Bytes::from(bytes)),
                Some(Frame::Wait(Wait::Pause(time))) => {
                    tokio::time::sleep(time).await;
                    continue;
                }
                Some(Frame::Hang) => {
                    let never: Infallible = std::future::pending().await;
                    match never {}
                }
                Some(Frame::Wait(Wait::Until(session))) => {
                    // It fails only when the model is gone, and then nobody reads this.
                    let _ = over.wait_for(|over| over.contains(&session)).await;
                    continue;
                }
                Some(Frame::Cut) => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
                None => {
                    if let Some(session) = ends {
                        stage.over.send_modify(|over| {
                            over.insert(session);
                        });
                    }
                    return None;
                }
            };
            return Some((item, (frames, over, stage, ends)));
        }
    }))
}

//! The HTTP server of the scripted model.

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
use crate::model_api::{ModelApi, ModelResponse};
use crate::player::{Decision, Ended, Player};
use crate::progress::{Progress, ScenarioReport};
use crate::reply::{Frame, Wait};

/// Name of the model if the agent names none.
const DEFAULT_MODEL: &str = "scripted";

/// A running model server. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    state: Arc<ServerState>,
    task: JoinHandle<()>,
}

/// Who decides that a session's turn has ended, for the replies that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEndSource {
    /// The model, when it has sent the last reply of the turn.
    Model,
    /// The host, with [`ScriptedModel::end_turn`]. Only the host knows when the agent has finished the turn.
    Host,
}

/// State that all requests share.
#[derive(Debug)]
struct ServerState {
    scenario: Scenario,
    workspace: PathBuf,
    turn_end_source: TurnEndSource,
    progress: Mutex<Progress>,
    /// Sessions whose turn has ended, and labels of sub-agents that are done.
    ended: watch::Sender<BTreeSet<String>>,
}

impl ScriptedModel {
    /// Serves a scenario on a loopback port; 0 selects a free port. Paths in the scenario are relative to `workspace`.
    ///
    /// # Errors
    /// When it cannot listen on the port.
    pub async fn start(
        scenario: Scenario,
        workspace: PathBuf,
        port: u16,
        turn_end_source: TurnEndSource,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(ServerState {
            scenario,
            workspace,
            turn_end_source,
            progress: Mutex::default(),
            ended: watch::Sender::default(),
        });
        let router = router(Arc::clone(&state));
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "scripted model server failed");
            }
        });
        Ok(Self { address, state, task })
    }

    /// Stops the server and frees its port.
    pub async fn stop(mut self) {
        self.task.abort();
        // The result is always that the task was aborted.
        let _ = (&mut self.task).await;
    }

    /// Base URL without a path: `http://127.0.0.1:4711`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends the turn of a session: replies that wait for it continue.
    pub fn end_turn(&self, session: &str) {
        self.state.ended.send_modify(|ended| {
            ended.insert(session.to_owned());
        });
    }

    /// Whether every reply of a turn was played; the first turn is 0.
    #[must_use]
    pub fn has_played_turn(&self, turn: usize) -> bool {
        self.state.progress().has_played_turn(&self.state.scenario, turn)
    }

    /// Messages and tool results in the agent's last request for a reply of a turn, in order. The first turn is 0.
    #[must_use]
    pub fn received_texts(&self, turn: usize) -> Vec<String> {
        self.state.progress().received_texts(turn)
    }

    /// API keys that agents have sent.
    #[must_use]
    pub fn api_keys(&self) -> BTreeSet<String> {
        self.state.progress().api_keys.clone()
    }

    /// How the play of the scenario has gone so far.
    #[must_use]
    pub fn report(&self) -> ScenarioReport {
        self.state.progress().report(&self.state.scenario)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl ServerState {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Every route exists with and without `/v1`, because some agents add the version to the configured base URL.
fn router(state: Arc<ServerState>) -> Router {
    let mut router = Router::new();
    for base in ["", "/v1"] {
        router = router
            .route(&format!("{base}/messages"), post(messages))
            .route(&format!("{base}/messages/count_tokens"), post(count_tokens))
            .route(&format!("{base}/responses"), post(responses))
            .route(&format!("{base}/chat/completions"), post(chat))
            .route(&format!("{base}/models"), get(models));
    }
    // An empty list of models: the agent only has the models that it is configured with.
    router = router.route("/api.json", get(async || axum::Json(json!({}))));
    // Agents send whole files, and no request is too large for a test.
    let unlimited = axum::extract::DefaultBodyLimit::disable();
    router.fallback(not_found).layer(unlimited).with_state(state)
}

async fn messages(State(state): State<Arc<ServerState>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(&state, ModelApi::Anthropic, &headers, &body)
}

async fn responses(State(state): State<Arc<ServerState>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(&state, ModelApi::Responses, &headers, &body)
}

async fn chat(State(state): State<Arc<ServerState>>, headers: HeaderMap, body: Bytes) -> Response {
    answer(&state, ModelApi::Chat, &headers, &body)
}

async fn count_tokens() -> Response {
    axum::Json(json!({"input_tokens": 100})).into_response()
}

async fn models() -> Response {
    let model = json!({"id": DEFAULT_MODEL, "type": "model", "object": "model", "display_name": "Scripted", "owned_by": "scripted", "created": 0});
    axum::Json(json!({"object": "list", "data": [model], "has_more": false})).into_response()
}

async fn not_found(uri: Uri) -> Response {
    let message = format!("the scripted model does not serve {}", uri.path());
    error_response(ModelApi::Chat, 404, &message, None)
}

fn answer(state: &Arc<ServerState>, api: ModelApi, headers: &HeaderMap, body: &Bytes) -> Response {
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return error_response(api, 400, &format!("expected JSON: {error}"), None),
    };
    let mut conversation = api.parse_request(&body);
    if conversation.session.is_empty() {
        // OpenCode sends it in a header.
        let session = headers.get("x-session-id").and_then(|value| value.to_str().ok());
        session.unwrap_or_default().clone_into(&mut conversation.session);
    }
    if let Some(key) = api_key(headers) {
        state.progress().api_keys.insert(key.to_owned());
    }
    let player = Player { scenario: &state.scenario, workspace: &state.workspace, api };
    let decision = player.decide(&conversation, &mut state.progress());
    tracing::debug!(?api, ?decision, "answering request");
    match decision {
        Decision::Error { status, message, retry_after } => error_response(api, status, &message, retry_after),
        Decision::Reply { id, parts, ends } => {
            let model = if conversation.model.is_empty() { DEFAULT_MODEL } else { &conversation.model };
            let response = ModelResponse { id: &id, model, parts: &parts };
            let mut frames = api.encode_stream(&response);
            if !conversation.is_streaming {
                // One body, but with the pauses and failures of the stream before it.
                frames.retain(|frame| !matches!(frame, Frame::Bytes(_)));
                frames.push(Frame::Bytes(api.encode_body(&response).to_string()));
            }
            let content_type = if conversation.is_streaming { "text/event-stream" } else { "application/json" };
            let ends = ends.and_then(|ended| match ended {
                Ended::Turn(session) => (state.turn_end_source == TurnEndSource::Model).then_some(session),
                Ended::SubAgent(label) => Some(label),
            });
            let body = frames_body(state, frames, ends);
            ([(header::CONTENT_TYPE, content_type), (header::CACHE_CONTROL, "no-cache")], body).into_response()
        }
    }
}

/// The API key of a request. Anthropic clients send it in `x-api-key`.
fn api_key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    text("x-api-key").or_else(|| text("authorization")?.strip_prefix("Bearer "))
}

fn error_response(api: ModelApi, status: u16, message: &str, retry_after: Option<u64>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, axum::Json(api.error_body(status.as_u16(), message))).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// A body that sends the frames with their pauses, and then marks the session or sub-agent `ends` as ended.
fn frames_body(state: &Arc<ServerState>, frames: Vec<Frame>, ends: Option<String>) -> Body {
    let start = (frames.into_iter(), state.ended.subscribe(), Arc::clone(state), ends);
    Body::from_stream(futures_util::stream::unfold(start, |(mut frames, mut ended, state, ends)| async move {
        loop {
            let item = match frames.next() {
                Some(Frame::Bytes(bytes)) => Ok(Bytes::from(bytes)),
                Some(Frame::Wait(Wait::Pause(time))) => {
                    tokio::time::sleep(time).await;
                    continue;
                }
                Some(Frame::Stall) => {
                    let never: Infallible = std::future::pending().await;
                    match never {}
                }
                Some(Frame::Wait(Wait::ForTurn(session))) => {
                    // Fails only if the server has stopped, and then this response has no reader.
                    let _ = ended.wait_for(|ended| ended.contains(&session)).await;
                    continue;
                }
                Some(Frame::Disconnect) => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
                None => {
                    if let Some(name) = ends {
                        state.ended.send_modify(|ended| {
                            ended.insert(name);
                        });
                    }
                    return None;
                }
            };
            return Some((item, (frames, ended, state, ends)));
        }
    }))
}

//! A server for tests, on a real socket, with the mock agent.

pub(crate) mod frames;
pub(crate) mod stores;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use interlingua_client::{Client, CreateSessionRequest, EventQuery, MessageRequest, TurnQuery};
use interlingua_runtime::driver::Driver;
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{LaunchConfig, Runtime, RuntimeOptions, Supervisor, drivers};
use interlingua_schema::Checker;
use interlingua_server::{Access, Listener, ServerConfig, SharedConfig, Token, serve};
use interlingua_store::Store;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const TOKEN: &str = "t0ken-for-tests";

/// A server that runs until it is dropped.
pub(crate) struct TestServer {
    /// A client that sends the token, if there is one.
    pub(crate) client: Client,
    /// An HTTP client without the token, for requests that `client` cannot send.
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) store: Store,
    pub(crate) runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    data_dir: TempDir,
}

/// Starts a server with a token.
pub(crate) async fn start_server() -> TestServer {
    let access = Access::Token(Token::new(TOKEN).unwrap());
    start_server_with(ServerConfig::new(access), interlingua_store::StoreOptions::default()).await
}

/// Starts a server with this configuration. No agents are installed, and its PATH is empty.
pub(crate) async fn start_server_with(config: ServerConfig, options: interlingua_store::StoreOptions) -> TestServer {
    start_in(tempfile::tempdir().unwrap(), config, options).await
}

async fn start_in(data_dir: TempDir, config: ServerConfig, options: interlingua_store::StoreOptions) -> TestServer {
    let drivers = missing_agents(&data_dir);
    start(data_dir, config, options, drivers, RuntimeOptions::default()).await
}

/// Starts a server without a token that has the drivers of all agents, of which none but the mock is installed.
pub(crate) async fn start_server_without_agents(options: RuntimeOptions) -> TestServer {
    let data_dir = tempfile::tempdir().unwrap();
    let drivers = missing_agents(&data_dir);
    let config = ServerConfig::new(Access::Loopback);
    start(data_dir, config, interlingua_store::StoreOptions::default(), drivers, options).await
}

/// The drivers of all agents. None but the mock is installed in the directory, and the PATH is empty.
fn missing_agents(data_dir: &TempDir) -> Vec<Arc<dyn Driver>> {
    let launch = LaunchConfig::new(Supervisor::new("false", [""; 0]), data_dir.path()).path("");
    drivers(&launch, MockDriver::new())
}

/// Starts a server without a token that has only this agent.
pub(crate) async fn start_server_for_agent(driver: Arc<dyn Driver>, options: RuntimeOptions) -> TestServer {
    let config = ServerConfig::new(Access::Loopback);
    let data_dir = tempfile::tempdir().unwrap();
    start(data_dir, config, interlingua_store::StoreOptions::default(), vec![driver], options).await
}

/// Starts a server in a data directory with these agents.
pub(crate) async fn start(
    data_dir: TempDir,
    config: ServerConfig,
    store: interlingua_store::StoreOptions,
    drivers: Vec<Arc<dyn Driver>>,
    options: RuntimeOptions,
) -> TestServer {
    // Not the sessions of the user that runs the tests.
    let config = if config.history_folders.is_none() { config.history_folders(Vec::new()) } else { config };
    start_listening(data_dir, config.into(), store, drivers, options, Vec::new()).await
}

/// Starts a server with the mock agent that also listens on these.
pub(crate) async fn start_on(config: impl Into<SharedConfig>, listeners: Vec<Listener>) -> TestServer {
    let (options, drivers) = (RuntimeOptions::default(), vec![Arc::new(MockDriver::new()) as Arc<dyn Driver>]);
    let data_dir = tempfile::tempdir().unwrap();
    start_listening(data_dir, config.into(), interlingua_store::StoreOptions::default(), drivers, options, listeners)
        .await
}

/// Starts a server that also listens on `listeners`.
pub(crate) async fn start_listening(
    data_dir: TempDir,
    config: SharedConfig,
    store: interlingua_store::StoreOptions,
    drivers: Vec<Arc<dyn Driver>>,
    options: RuntimeOptions,
    listeners: Vec<Listener>,
) -> TestServer {
    let store = stores::open(data_dir.path(), store).await;
    let runtime = Runtime::start(store.clone(), drivers, options);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    serve_store(data_dir, config, store, runtime, listener, listeners)
}

/// Starts a server with what it consists of.
pub(crate) fn start_with_store(
    data_dir: TempDir,
    config: ServerConfig,
    store: Store,
    runtime: Runtime,
    listener: TcpListener,
) -> TestServer {
    serve_store(data_dir, config.into(), store, runtime, listener, Vec::new())
}

/// Starts a server that also listens on `listeners`.
fn serve_store(
    data_dir: TempDir,
    config: SharedConfig,
    store: Store,
    runtime: Runtime,
    listener: TcpListener,
    listeners: Vec<Listener>,
) -> TestServer {
    let base = format!("http://{}", listener.local_addr().unwrap());
    let token = matches!(config.load().access, Access::Token(_)).then(|| TOKEN.to_owned());
    let (stop, stopped) = oneshot::channel::<()>();
    let listeners = listeners.into_iter().chain([listener.into()]);
    let server = serve(listeners, config, runtime.clone(), store.clone(), async move {
        let _ = stopped.await;
    });
    let task = tokio::spawn(async move { server.await.unwrap() });
    let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
    let mut client = Client::builder(&base).http_client(http.clone());
    if let Some(token) = token {
        client = client.token(token);
    }
    let client = client.build().unwrap();
    TestServer { client, http, base, store, runtime, stop: Some(stop), task: Some(task), data_dir }
}

impl TestServer {
    pub(crate) fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// A request with the token, if there is one.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, path)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.request(Method::POST, path).json(&body).send().await.unwrap()
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        self.request(Method::DELETE, path).send().await.unwrap()
    }

    /// Sends a GET request, expects success, and parses the answer.
    pub(crate) async fn get_json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        let status = response.status();
        let text = response.text().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Sends a POST request and expects 204.
    pub(crate) async fn post_ok(&self, path: &str, body: Value) {
        let response = self.post(path, body).await;
        let status = response.status();
        assert_eq!(status, StatusCode::NO_CONTENT, "{path}: {}", response.text().await.unwrap());
    }

    /// Creates a session with the mock agent.
    pub(crate) async fn create(&self, id: &str) {
        self.client.create_session(id, &CreateSessionRequest::new("mock")).await.unwrap();
    }

    /// Sends a message and reads the turn's events.
    pub(crate) async fn run_turn(&self, id: &str, message: &str) -> Vec<Value> {
        self.stream_turn(id, message, TurnQuery::default()).await.events().await
    }

    /// Sends a message and streams the turn's events.
    pub(crate) async fn stream_turn(&self, id: &str, message: &str, query: TurnQuery) -> frames::Frames {
        let turn = self.client.stream_turn(id, &MessageRequest::new(message), query).await.unwrap();
        frames::Frames::new(turn.into_frames())
    }

    /// Sends a request whose answer is an event stream.
    pub(crate) async fn stream(&self, request: RequestBuilder) -> frames::Frames {
        frames::Frames::new(self.client.execute_stream(request).await.unwrap())
    }

    /// Follows a session's events.
    pub(crate) async fn follow(&self, id: &str, query: EventQuery) -> frames::Frames {
        frames::Frames::new(self.client.event_frames(id, query).await.unwrap())
    }

    /// Reads all events of a session, and checks the lifecycle rules.
    pub(crate) async fn events(&self, id: &str) -> Vec<Value> {
        let page = self.get_json(&format!("/v1/sessions/{id}/events?limit=10000")).await;
        assert_eq!(page["hasMore"], false);
        let events = page["events"].as_array().unwrap().clone();
        check_rules(&events);
        events
    }

    /// Stops the server and waits until it has stopped.
    pub(crate) async fn stop(mut self) {
        self.stop_serving().await;
    }

    async fn stop_serving(&mut self) {
        drop(self.stop.take());
        self.task.take().unwrap().await.unwrap();
    }

    /// Stops the server and its agents, and starts a new one in the same data directory.
    pub(crate) async fn restart(mut self, config: ServerConfig) -> Self {
        self.stop_serving().await;
        self.runtime.shutdown().await;
        self.store.close().await;
        let Self { data_dir, runtime, store, .. } = self;
        drop((runtime, store));
        start_in(data_dir, config, interlingua_store::StoreOptions::default()).await
    }
}

/// Checks the lifecycle rules. The events must start with the session's first one.
pub(crate) fn check_rules(events: &[Value]) {
    let mut checker = Checker::new();
    for event in events {
        let violations = checker.push_line(&event.to_string()).unwrap();
        assert!(violations.is_empty(), "{violations:?}");
    }
}

pub(crate) fn event_types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

pub(crate) fn sequences(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect()
}

/// Reads a problem document and checks that it is complete.
pub(crate) async fn read_problem(response: Response) -> (u16, String, Value) {
    let status = response.status().as_u16();
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    let text = response.text().await.unwrap();
    assert_eq!(content_type, "application/problem+json", "{status}: {text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["status"], status);
    assert!(document["title"].as_str().is_some_and(|title| !title.is_empty()), "{document}");
    assert!(document["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{document}");
    let kind = document["type"].as_str().unwrap().strip_prefix("urn:interlingua:error:").unwrap().to_owned();
    (status, kind, document)
}

/// Expects a problem document with this status and kind.
pub(crate) async fn expect_problem(response: Response, status: u16, kind: &str) -> Value {
    let (found, found_kind, document) = read_problem(response).await;
    assert_eq!((found, found_kind.as_str()), (status, kind), "{document}");
    document
}

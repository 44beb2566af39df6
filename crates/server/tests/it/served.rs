//! A server to test with: the real one, on a real socket, with the mock agent.

pub(crate) mod frames;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use interlingua_client::{Client, CreateSessionRequest, EventQuery, MessageRequest, TurnQuery};
use interlingua_runtime::driver::Driver;
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{LaunchConfig, Runtime, RuntimeOptions, Supervisor, drivers};
use interlingua_schema::Checker;
use interlingua_server::{Access, ServerConfig, Token, serve};
use interlingua_store::Store;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const TOKEN: &str = "t0ken-for-tests";

/// A server that runs until it is dropped.
pub(crate) struct Served {
    /// A client with the token, if there is one.
    pub(crate) client: Client,
    /// A client without the token, for requests that no client of the API would make.
    pub(crate) http: reqwest::Client,
    pub(crate) base: String,
    pub(crate) store: Store,
    pub(crate) runtime: Runtime,
    stop: Option<oneshot::Sender<()>>,
    task: Option<JoinHandle<()>>,
    folder: TempDir,
}

/// A server with a token.
pub(crate) async fn served() -> Served {
    let access = Access::Token(Token::new(TOKEN).unwrap());
    served_with(ServerConfig::new(access), interlingua_store::StoreOptions::default()).await
}

/// A server set up like this, on a machine without agents: nothing is installed, and there is no PATH to find any on.
pub(crate) async fn served_with(config: ServerConfig, options: interlingua_store::StoreOptions) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let machine = LaunchConfig::new(Supervisor::new("false", [""; 0]), folder.path()).path("");
    serving(folder, config, options, drivers(&machine, MockDriver::new()), RuntimeOptions::default()).await
}

/// A server for this agent alone, without a token.
pub(crate) async fn served_agent(driver: Arc<dyn Driver>, options: RuntimeOptions) -> Served {
    let config = ServerConfig::new(Access::Loopback);
    let folder = tempfile::tempdir().unwrap();
    serving(folder, config, interlingua_store::StoreOptions::default(), vec![driver], options).await
}

async fn serving(
    folder: TempDir,
    config: ServerConfig,
    store: interlingua_store::StoreOptions,
    drivers: Vec<Arc<dyn Driver>>,
    options: RuntimeOptions,
) -> Served {
    let store = Store::open(folder.path(), store).unwrap();
    let runtime = Runtime::start(store.clone(), drivers, options);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let token = matches!(config.access, Access::Token(_)).then(|| TOKEN.to_owned());
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = serve(listener, config, runtime.clone(), store.clone(), async move {
        let _ = stopped.await;
    });
    let task = tokio::spawn(async move { serving.await.unwrap() });
    let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
    let mut client = Client::builder(&base).http_client(http.clone());
    if let Some(token) = token {
        client = client.token(token);
    }
    let client = client.build().unwrap();
    Served { client, http, base, store, runtime, stop: Some(stop), task: Some(task), folder }
}

impl Served {
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A request, with the token if there is one.
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

    /// What a GET answers, which must be a success.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        let status = response.status();
        let text = response.text().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Does something that answers with nothing.
    pub(crate) async fn act(&self, path: &str, body: Value) {
        let response = self.post(path, body).await;
        let status = response.status();
        assert_eq!(status, StatusCode::NO_CONTENT, "{path}: {}", response.text().await.unwrap());
    }

    /// Creates a session with the mock agent.
    pub(crate) async fn create(&self, id: &str) {
        self.client.create_session(id, &CreateSessionRequest::new("mock")).await.unwrap();
    }

    /// Sends a message and reads the turn's events.
    pub(crate) async fn turn(&self, id: &str, message: &str) -> Vec<Value> {
        self.stream_turn(id, message, TurnQuery::default()).await.events().await
    }

    /// Sends a message and streams the turn's events.
    pub(crate) async fn stream_turn(&self, id: &str, message: &str, query: TurnQuery) -> frames::Frames {
        let turn = self.client.stream_turn(id, &MessageRequest::new(message), query).await.unwrap();
        frames::Frames::new(turn.into_frames())
    }

    /// Sends a request that is answered with a stream of events.
    pub(crate) async fn stream(&self, request: RequestBuilder) -> frames::Frames {
        frames::Frames::new(self.client.execute_stream(request).await.unwrap())
    }

    /// Follows a session's events.
    pub(crate) async fn follow(&self, id: &str, query: EventQuery) -> frames::Frames {
        frames::Frames::new(self.client.event_frames(id, query).await.unwrap())
    }

    /// All events of a session, which must keep the rules.
    pub(crate) async fn events(&self, id: &str) -> Vec<Value> {
        let page = self.json(&format!("/v1/sessions/{id}/events?limit=10000")).await;
        assert_eq!(page["hasMore"], false);
        let events = page["events"].as_array().unwrap().clone();
        check(&events);
        events
    }

    /// Stops the server and waits until it has stopped.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.task.take().unwrap().await.unwrap();
    }
}

/// Whether these events, which begin with the session's first, keep every rule of the universal schema.
pub(crate) fn check(events: &[Value]) {
    let mut checker = Checker::new();
    for event in events {
        let violations = checker.push_line(&event.to_string()).unwrap();
        assert!(violations.is_empty(), "{violations:?}");
    }
}

pub(crate) fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

pub(crate) fn sequences(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect()
}

/// Reads a problem document and checks that it is a whole one.
pub(crate) async fn problem(response: Response) -> (u16, String, Value) {
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

/// Expects this problem.
pub(crate) async fn refused(response: Response, status: u16, kind: &str) -> Value {
    let (found, found_kind, document) = problem(response).await;
    assert_eq!((found, found_kind.as_str()), (status, kind), "{document}");
    document
}

//! The app server that sessions share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_convert::Input;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::line::{Head, Kind};
use super::router::{Deliveries, Inbox, Router};
use super::talk::request;
use crate::driver::ServeError;
use crate::drivers::shared::{Ending, Running, Server, Tail};
use crate::process::{Process, Program, Stdin, Supervisor};

/// How long it may take to answer before there are sessions.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The id of the first request. No other has it.
const HELLO: u64 = 0;
/// A subscriber that does not exist.
const NO_SUBSCRIBER: u64 = 0;

/// An app server that runs. It is ended when the last who holds it lets go.
pub(super) struct AppServer {
    stdin: Stdin,
    shared: Arc<Shared>,
    needed: mpsc::Sender<()>,
}

/// What the server's holders and its reader have in common.
#[derive(Debug)]
struct Shared {
    router: Mutex<Router>,
    is_up: AtomicBool,
}

impl Shared {
    fn router(&self) -> MutexGuard<'_, Router> {
        self.router.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server for AppServer {
    fn is_up(&self) -> bool {
        self.shared.is_up.load(Ordering::Acquire)
    }
}

impl AppServer {
    /// Starts one and introduces us.
    pub(super) async fn start(
        supervisor: &Supervisor,
        program: Program,
        key: Option<&str>,
        running: Running,
    ) -> Result<Arc<Self>, ServeError> {
        let failed = |running: Running, reason: String| {
            running.fell(&reason);
            Err(ServeError::Unavailable(reason))
        };
        let mut process = match supervisor.start(program).await {
            Ok(process) => process,
            Err(error) => return failed(running, error.to_string()),
        };
        let mut stderr = Tail::default();
        let mut router = Router::default();
        process.send(&hello());
        match timeout(START_TIMEOUT, answered(HELLO, &mut process, &mut stderr, &mut router)).await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return failed(running, reason),
            Err(_) => return failed(running, format!("Codex did not introduce itself within {START_TIMEOUT:?}")),
        }
        process.send(r#"{"method":"initialized"}"#);
        if let Some(key) = key {
            let id = router.open_request(NO_SUBSCRIBER);
            process.send(&request("account/login/start", id, &json!({"type": "apiKey", "apiKey": key})));
            let logged_in = timeout(START_TIMEOUT, answered(id, &mut process, &mut stderr, &mut router)).await;
            // Whoever has another provider needs no login. If it was needed, the turn says so.
            if !matches!(logged_in, Ok(Ok(()))) {
                tracing::warn!("Codex does not take the key: {logged_in:?}");
            }
        }
        let Some(stdin) = process.stdin() else {
            return failed(running, "the standard input of Codex is closed".to_owned());
        };
        let shared = Arc::new(Shared { router: Mutex::new(router), is_up: AtomicBool::new(true) });
        let (needed, not_needed) = mpsc::channel(1);
        tokio::spawn(serve(process, stderr, shared.clone(), not_needed, running));
        Ok(Arc::new(Self { stdin, shared, needed }))
    }

    /// Adds a subscriber: a session, or without a name whoever has a question.
    pub(super) fn subscribe(&self, session: Option<&str>) -> (u64, Inbox) {
        self.shared.router().subscribe(session)
    }

    pub(super) fn unsubscribe(&self, subscriber: u64) {
        self.shared.router().unsubscribe(subscriber);
    }

    /// The id of a request that is about to be made.
    pub(super) fn open_request(&self, subscriber: u64) -> u64 {
        self.shared.router().open_request(subscriber)
    }

    pub(super) fn send(&self, line: &str) {
        self.stdin.send(line);
    }

    /// Ends a server that no longer obeys, for all who hold it.
    pub(super) fn end(&self) {
        // Somebody else may have ordered it.
        let _ = self.needed.try_send(());
    }
}

fn hello() -> String {
    let client = json!({"name": "interlingua", "title": "Interlingua", "version": env!("CARGO_PKG_VERSION")});
    // Without the experimental part of the protocol, what an interrupted turn leaves running cannot be ended.
    let capabilities = json!({"experimentalApi": true, "requestAttestation": false});
    let params = json!({"clientInfo": client, "capabilities": capabilities});
    json!({"method": "initialize", "id": HELLO, "params": params}).to_string()
}

/// Waits until the server has answered a request, before there are any sessions.
async fn answered(asked: u64, process: &mut Process, stderr: &mut Tail, router: &mut Router) -> Result<(), String> {
    loop {
        match process.next().await {
            Input::Stderr(line) => stderr.push(line),
            Input::Exit { code } => return Err(stderr.farewell("Codex", code)),
            input => match Head::of_input(&input).kind {
                Kind::Answer { id, refusal } if id == asked => {
                    return refusal.map_or(Ok(()), |words| Err(format!("Codex refuses us: {words}")));
                }
                _ => {
                    // There are no subscribers yet; what is said once is kept for those who come.
                    let mut out = Deliveries::default();
                    router.route(input, &mut out);
                    for refusal in &out.refusals {
                        process.send(refusal);
                    }
                }
            },
        }
    }
}

/// Routes all that the server says until it is gone, and ends it when nobody needs it any more.
async fn serve(
    mut process: Process,
    mut stderr: Tail,
    shared: Arc<Shared>,
    mut not_needed: mpsc::Receiver<()>,
    running: Running,
) {
    let mut ending = None;
    loop {
        let inputs = tokio::select! {
            inputs = process.read() => inputs,
            order = not_needed.recv(), if ending.is_none() => {
                ending = Some(Ending::of(order));
                shared.is_up.store(false, Ordering::Release);
                process.end().await;
                continue;
            }
        };
        let mut out = Deliveries::default();
        for input in inputs {
            match input {
                Input::Stderr(line) => stderr.push(line),
                Input::Exit { code } => {
                    shared.is_up.store(false, Ordering::Release);
                    if ending != Some(Ending::NotNeeded) {
                        running.fell(&stderr.farewell("Codex", code));
                    }
                    shared.router().close(code, stderr.lines(), &mut out);
                    return out.send().await;
                }
                input => shared.router().route(input, &mut out),
            }
        }
        for refusal in &out.refusals {
            process.send(refusal);
        }
        out.send().await;
    }
}

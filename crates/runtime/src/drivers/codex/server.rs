//! The app server that sessions share.

use interlingua_native::new;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_convert::Input;
use interlingua_native::Request;
use interlingua_native::codex::ClientInfo;
use interlingua_protocol::codex::{self, HostRequest, decode_answer};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::line::{Head, Kind};
use super::router::{Deliveries, Inbox, Router};
use crate::driver::ServeError;
use crate::drivers::shared::{Ending, Running, Server, Tail};
use crate::process::{Process, Program, Stdin, Supervisor};

/// How long it may take to answer before there are sessions.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The id of the first request. The router numbers from 1.
const INITIALIZE_ID: u64 = 0;
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
    /// Starts one, initializes it and logs in if there is a key.
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
        let process = match supervisor.start(program).await {
            Ok(process) => process,
            Err(error) => return failed(running, error.to_string()),
        };
        let mut start = Startup { process, stderr: Tail::default(), router: Router::default() };
        if let Err(reason) = start.call(INITIALIZE_ID, codex::initialize(client_info(), &[])).await {
            return failed(running, reason);
        }
        start.process.send(&codex::initialized());
        if let Some(key) = key {
            let id = start.router.open_request(NO_SUBSCRIBER);
            // Whoever has another provider needs no login. If it was needed, the turn says so.
            if let Err(reason) = start.call(id, codex::log_in(key)).await {
                tracing::warn!("codex refuses to log in with the API key of the environment: {reason}");
            }
        }
        let Startup { process, stderr, router } = start;
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

fn client_info() -> ClientInfo {
    ClientInfo {
        title: Some("Interlingua".to_owned()),
        ..new!(ClientInfo { name: "interlingua", version: env!("CARGO_PKG_VERSION") })
    }
}

/// A server before there are sessions.
struct Startup {
    process: Process,
    stderr: Tail,
    router: Router,
}

impl Startup {
    /// Makes a request and waits for its answer.
    async fn call<R: Request + Into<HostRequest>>(&mut self, id: u64, params: R) -> Result<R::Response, String> {
        self.process.send(&params.into().into_line(id));
        let answer = timeout(START_TIMEOUT, self.answer::<R>(id)).await;
        answer.unwrap_or_else(|_| Err(format!("Codex did not answer `{}` within {START_TIMEOUT:?}", R::METHOD)))
    }

    async fn answer<R: Request>(&mut self, asked: u64) -> Result<R::Response, String> {
        loop {
            match self.process.next().await {
                Input::Stderr(line) => self.stderr.push(line),
                Input::Exit { code } => return Err(self.stderr.farewell("Codex", code)),
                input => match (Head::scan_input(&input).kind, &input) {
                    (Kind::Answer { id }, Input::Received(line)) if id == asked => {
                        return decode_answer::<R>(line)
                            .map_err(|error| format!("Codex refuses `{}`: {error}", R::METHOD));
                    }
                    (Kind::Answer { id }, Input::Unreadable { error, .. }) if id == asked => {
                        return Err(format!("the answer of Codex to `{}` cannot be read: {error}", R::METHOD));
                    }
                    _ => self.route(input),
                },
            }
        }
    }

    /// Routes what is not an answer. There are no subscribers yet; startup notices are kept for those who come.
    fn route(&mut self, input: Input) {
        let mut out = Deliveries::default();
        self.router.route(input, &mut out);
        for refusal in &out.refusals {
            self.process.send(refusal);
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
            command = not_needed.recv(), if ending.is_none() => {
                ending = Some(Ending::of(command));
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

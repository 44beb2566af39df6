//! The app server that sessions share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_convert::Input;
use interlingua_native::codex::ClientInfo;
use interlingua_native::{Request, new};
use interlingua_protocol::codex::{self, HostRequest, decode_answer};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::line_header::{LineHeader, LineKind};
use super::router::{Deliveries, Inbox, Router};
use crate::driver::ServeError;
use crate::drivers::shared_servers::{EndReason, RunningServer, SharedServer, StderrTail};
use crate::process::{Process, Program, Stdin, Supervisor};

/// How long the server may take to answer a request during its start.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Id of the first request. The router numbers requests from 1.
const INITIALIZE_ID: u64 = 0;
/// Number of a subscriber that does not exist.
const NO_SUBSCRIBER: u64 = 0;

/// A running app server. It is ended when the last holder drops it.
pub(super) struct AppServer {
    stdin: Stdin,
    shared: Arc<Shared>,
    /// Requests to end the server. Closed when the last holder drops it.
    end_requests: mpsc::Sender<()>,
}

/// State that the holders share with the task that reads the server's output.
#[derive(Debug)]
struct Shared {
    router: Mutex<Router>,
    is_alive: AtomicBool,
}

impl Shared {
    fn router(&self) -> MutexGuard<'_, Router> {
        self.router.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SharedServer for AppServer {
    fn is_alive(&self) -> bool {
        self.shared.is_alive.load(Ordering::Acquire)
    }
}

impl AppServer {
    /// Starts a server, initializes it, and logs in if there is an API key.
    pub(super) async fn start(
        supervisor: &Supervisor,
        program: Program,
        api_key: Option<&str>,
        running: RunningServer,
    ) -> Result<Arc<Self>, ServeError> {
        let failed = |running: RunningServer, reason: String| {
            running.record_crash(&reason);
            Err(ServeError::Unavailable(reason))
        };
        let process = match supervisor.start(program).await {
            Ok(process) => process,
            Err(error) => return failed(running, error.to_string()),
        };
        let mut startup = Startup { process, stderr: StderrTail::default(), router: Router::default() };
        if let Err(reason) = startup.call(INITIALIZE_ID, codex::initialize(client_info(), &[])).await {
            return failed(running, reason);
        }
        startup.process.send(&codex::initialized());
        if let Some(api_key) = api_key {
            let id = startup.router.open_request(NO_SUBSCRIBER);
            // Other model providers need no login. If one was needed, the turn fails with an error about it.
            if let Err(reason) = startup.call(id, codex::log_in(api_key)).await {
                tracing::warn!(
                    agent = "codex",
                    reason,
                    "cannot log in with the API key from the environment; check CODEX_API_KEY or OPENAI_API_KEY"
                );
            }
        }
        let Startup { process, stderr, router } = startup;
        let Some(stdin) = process.stdin() else {
            return failed(running, "the standard input of Codex is closed".to_owned());
        };
        let shared = Arc::new(Shared { router: Mutex::new(router), is_alive: AtomicBool::new(true) });
        let (end_requests, end_receiver) = mpsc::channel(1);
        tokio::spawn(read_output(process, stderr, shared.clone(), end_receiver, running));
        Ok(Arc::new(Self { stdin, shared, end_requests }))
    }

    /// Adds a subscriber: a session, or `None` for a caller that only makes requests.
    pub(super) fn subscribe(&self, session: Option<&str>) -> (u64, Inbox) {
        self.shared.router().subscribe(session)
    }

    pub(super) fn unsubscribe(&self, subscriber: u64) {
        self.shared.router().unsubscribe(subscriber);
    }

    /// Registers a request that is about to be sent, and returns its id.
    pub(super) fn open_request(&self, subscriber: u64) -> u64 {
        self.shared.router().open_request(subscriber)
    }

    pub(super) fn send(&self, line: &str) {
        self.stdin.send(line);
    }

    /// Ends a server that does not answer any more, for all its holders.
    pub(super) fn end(&self) {
        // If the channel is full, another holder has asked already.
        let _ = self.end_requests.try_send(());
    }
}

fn client_info() -> ClientInfo {
    ClientInfo {
        title: Some("Interlingua".to_owned()),
        ..new!(ClientInfo { name: "interlingua", version: env!("CARGO_PKG_VERSION") })
    }
}

/// A server that has no sessions yet.
struct Startup {
    process: Process,
    stderr: StderrTail,
    router: Router,
}

impl Startup {
    /// Sends a request and waits for its answer.
    async fn call<R: Request + Into<HostRequest>>(&mut self, id: u64, params: R) -> Result<R::Response, String> {
        self.process.send(&params.into().into_line(id));
        let answer = timeout(START_TIMEOUT, self.wait_for_answer::<R>(id)).await;
        answer.unwrap_or_else(|_| Err(format!("Codex did not answer `{}` within {START_TIMEOUT:?}", R::METHOD)))
    }

    async fn wait_for_answer<R: Request>(&mut self, request_id: u64) -> Result<R::Response, String> {
        loop {
            match self.process.next().await {
                Input::Stderr(line) => self.stderr.push(line),
                Input::Exit { code } => return Err(self.stderr.exit_message("Codex", code)),
                input => match (LineHeader::scan_input(&input).kind, &input) {
                    (LineKind::Answer { id }, Input::Received(line)) if id == request_id => {
                        return decode_answer::<R>(line)
                            .map_err(|error| format!("request `{}` to Codex failed: {error}", R::METHOD));
                    }
                    (LineKind::Answer { id }, Input::Unreadable { error, .. }) if id == request_id => {
                        return Err(format!("cannot read the answer of Codex to `{}`: {error}", R::METHOD));
                    }
                    _ => self.route(input),
                },
            }
        }
    }

    /// Routes a line that is not the answer. There are no subscribers yet; startup notices are kept for later ones.
    fn route(&mut self, input: Input) {
        let mut deliveries = Deliveries::default();
        self.router.route(input, &mut deliveries);
        for refusal in &deliveries.refusals {
            self.process.send(refusal);
        }
    }
}

/// Routes the server's output until it exits, and ends the server when no holder is left.
async fn read_output(
    mut process: Process,
    mut stderr: StderrTail,
    shared: Arc<Shared>,
    mut end_receiver: mpsc::Receiver<()>,
    running: RunningServer,
) {
    let mut end_reason = None;
    loop {
        let inputs = tokio::select! {
            inputs = process.read() => inputs,
            request = end_receiver.recv(), if end_reason.is_none() => {
                end_reason = Some(EndReason::from_request(request));
                shared.is_alive.store(false, Ordering::Release);
                process.terminate().await;
                continue;
            }
        };
        let mut deliveries = Deliveries::default();
        for input in inputs {
            match input {
                Input::Stderr(line) => stderr.push(line),
                Input::Exit { code } => {
                    shared.is_alive.store(false, Ordering::Release);
                    if end_reason != Some(EndReason::Unused) {
                        running.record_crash(&stderr.exit_message("Codex", code));
                    }
                    shared.router().close(code, stderr.into_lines(), &mut deliveries);
                    return deliveries.send().await;
                }
                input => shared.router().route(input, &mut deliveries),
            }
        }
        for refusal in &deliveries.refusals {
            process.send(refusal);
        }
        deliveries.send().await;
    }
}

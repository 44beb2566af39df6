//! The app server that sessions share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::line::{Head, Kind};
use super::routes::{Heard, Inbox, Routed, Routes};
use super::talk::request;
use crate::driver::ServeError;
use crate::drivers::shared::{Ending, Running, Server, Tail};
use crate::process::{Input, Output, Process, Program, Supervisor};

/// How long it may take to introduce itself.
const PATIENCE: Duration = Duration::from_secs(30);
/// The id of the first request. No other has it.
const HELLO: u64 = 0;
/// A seat that nobody has.
const NOBODY: u64 = 0;

/// An app server that runs. It is ended when the last who holds it lets go.
pub(super) struct AppServer {
    input: Input,
    line: Arc<Switchboard>,
    needed: mpsc::Sender<()>,
}

/// What the server's holders and its reader have in common.
#[derive(Debug)]
struct Switchboard {
    routes: Mutex<Routes>,
    is_up: AtomicBool,
}

impl Switchboard {
    fn routes(&self) -> MutexGuard<'_, Routes> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server for AppServer {
    fn is_up(&self) -> bool {
        self.line.is_up.load(Ordering::Acquire)
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
        let mut routes = Routes::default();
        process.send(&hello());
        match timeout(PATIENCE, answered(HELLO, &mut process, &mut stderr, &mut routes)).await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => return failed(running, reason),
            Err(_) => return failed(running, format!("Codex did not introduce itself within {PATIENCE:?}")),
        }
        process.send(r#"{"method":"initialized"}"#);
        if let Some(key) = key {
            let id = routes.ask(NOBODY);
            process.send(&request("account/login/start", id, &json!({"type": "apiKey", "apiKey": key})));
            let logged_in = timeout(PATIENCE, answered(id, &mut process, &mut stderr, &mut routes)).await;
            // Whoever has another provider needs no login. If it was needed, the turn says so.
            if !matches!(logged_in, Ok(Ok(()))) {
                tracing::warn!("Codex does not take the key: {logged_in:?}");
            }
        }
        let Some(input) = process.input() else { return failed(running, "Codex hears nothing".to_owned()) };
        let line = Arc::new(Switchboard { routes: Mutex::new(routes), is_up: AtomicBool::new(true) });
        let (needed, not_needed) = mpsc::channel(1);
        tokio::spawn(attend(process, stderr, line.clone(), not_needed, running));
        Ok(Arc::new(Self { input, line, needed }))
    }

    /// A seat for a session; without a name, for whoever has a question.
    pub(super) fn sit_down(&self, session: Option<&str>) -> (u64, Inbox) {
        self.line.routes().sit_down(session)
    }

    pub(super) fn stand_up(&self, seat: u64) {
        self.line.routes().stand_up(seat);
    }

    /// The id of a request that is about to be made.
    pub(super) fn ask(&self, seat: u64) -> u64 {
        self.line.routes().ask(seat)
    }

    pub(super) fn send(&self, line: &str) {
        self.input.send(line);
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
async fn answered(asked: u64, process: &mut Process, stderr: &mut Tail, routes: &mut Routes) -> Result<(), String> {
    loop {
        match process.next().await {
            Output::Line(line) => match Head::of(&line).kind {
                Kind::Answer { id, refusal } if id == asked => {
                    return refusal.map_or(Ok(()), |words| Err(format!("Codex refuses us: {words}")));
                }
                _ => {
                    // Nobody is there yet; what is said once is kept for those who come.
                    let mut due = Routed::default();
                    routes.line(line, &mut due);
                    for refusal in &due.refusals {
                        process.send(refusal);
                    }
                }
            },
            Output::Garbled { .. } => {}
            Output::Stderr(line) => stderr.push(line),
            Output::Exited(code) => return Err(stderr.farewell("Codex", code)),
        }
    }
}

/// Passes on all that the server says until it is gone, and ends it when nobody needs it any more.
async fn attend(
    mut process: Process,
    mut stderr: Tail,
    line: Arc<Switchboard>,
    mut not_needed: mpsc::Receiver<()>,
    running: Running,
) {
    let mut ending = None;
    loop {
        let output = tokio::select! {
            output = process.hear() => output,
            order = not_needed.recv(), if ending.is_none() => {
                ending = Some(Ending::of(order));
                line.is_up.store(false, Ordering::Release);
                process.end().await;
                continue;
            }
        };
        let mut due = Routed::default();
        for output in output {
            match output {
                Output::Line(text) => line.routes().line(text, &mut due),
                Output::Garbled { bytes, reason } => {
                    line.routes().everybody(&Heard::Garbled { bytes, reason }, &mut due);
                }
                Output::Stderr(text) => stderr.push(text),
                Output::Exited(code) => {
                    line.is_up.store(false, Ordering::Release);
                    if ending != Some(Ending::NotNeeded) {
                        running.fell(&stderr.farewell("Codex", code));
                    }
                    line.routes().close(Heard::Exited { code, stderr: stderr.lines() }, &mut due);
                    return due.deliver().await;
                }
            }
        }
        for refusal in &due.refusals {
            process.send(refusal);
        }
        due.deliver().await;
    }
}

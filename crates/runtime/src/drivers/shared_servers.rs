//! Server processes that sessions share. A server starts when the first session needs it and is ended when the last one
//! drops it. After a crash it is started again, with a backoff that grows.
//!
//! Sessions with equal keys share a server. A session that needs another environment or version of the program gets
//! another server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::agents::{ServerState, ServerStatus};
use crate::driver::{CommandReceiver, DriverCommand, ServeError};

/// Backoff after the first crash. Each crash in a row doubles it.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// A server that ran for this long has no crashes in a row.
const STABLE_AFTER: Duration = Duration::from_secs(60);
/// How many lines of standard error are kept.
const MAX_STDERR_LINES: usize = 64;
/// How long the servers may take to end in a shutdown.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// A server that sessions share.
pub(super) trait SharedServer: Send + Sync + 'static {
    /// Whether new sessions can use it.
    fn is_alive(&self) -> bool;
}

/// The servers of an agent, by key.
pub(super) struct SharedServers<K, S> {
    slots: Mutex<Vec<(K, Arc<Slot<S>>)>>,
    tracker: Arc<StatusTracker>,
}

/// The server for one key.
struct Slot<S> {
    server: tokio::sync::Mutex<Weak<S>>,
    backoff: Arc<Mutex<CrashBackoff>>,
}

/// The crashes in a row of a server.
#[derive(Debug, Default)]
struct CrashBackoff {
    crashes: u32,
    last_crash: Option<Instant>,
}

impl CrashBackoff {
    fn delay(&self) -> Duration {
        let factor = 2u32.saturating_pow(self.crashes.saturating_sub(1));
        INITIAL_BACKOFF.saturating_mul(factor).min(MAX_BACKOFF)
    }

    /// When the server may start again; `None` if it has not crashed.
    fn next_start(&self) -> Option<Instant> {
        self.last_crash.map(|last_crash| last_crash + self.delay())
    }

    fn is_recent(&self) -> bool {
        self.last_crash.is_some_and(|last_crash| last_crash.elapsed() < STABLE_AFTER)
    }
}

/// The status of all servers of an agent together.
#[derive(Debug)]
struct StatusTracker {
    agent: &'static str,
    running: watch::Sender<usize>,
    history: Mutex<History>,
}

#[derive(Debug, Default)]
struct History {
    /// When the first of the running servers was started.
    running_since: Option<Instant>,
    base_url: Option<String>,
    restarts: u64,
    last_error: Option<String>,
    /// Whether the last server crashed and none was started since.
    is_down: bool,
}

/// A server that starts or runs. It counts as running until this is dropped.
#[derive(Debug)]
pub(super) struct RunningServer {
    tracker: Arc<StatusTracker>,
    backoff: Arc<Mutex<CrashBackoff>>,
    started_at: Instant,
}

impl<K: PartialEq, S: SharedServer> SharedServers<K, S> {
    pub(super) fn new(agent: &'static str) -> Self {
        let tracker = StatusTracker { agent, running: watch::Sender::new(0), history: Mutex::default() };
        Self { slots: Mutex::default(), tracker: Arc::new(tracker) }
    }

    /// The server for a key. It is started if it does not run.
    pub(super) async fn get<F>(&self, key: K, start: impl FnOnce(RunningServer) -> F) -> Result<Arc<S>, ServeError>
    where
        F: Future<Output = Result<Arc<S>, ServeError>>,
    {
        let slot = self.slot(key);
        let mut server = slot.server.lock().await;
        if let Some(server) = server.upgrade().filter(|server| server.is_alive()) {
            return Ok(server);
        }
        let next_start = lock(&slot.backoff).next_start();
        if let Some(next_start) = next_start {
            sleep_until(next_start).await;
        }
        let started = start(self.tracker.track_start(&slot.backoff)).await?;
        *server = Arc::downgrade(&started);
        Ok(started)
    }

    fn slot(&self, key: K) -> Arc<Slot<S>> {
        let mut slots = lock(&self.slots);
        slots.retain(|(_, slot)| slot.is_used());
        if let Some((_, slot)) = slots.iter().find(|(known, _)| *known == key) {
            return slot.clone();
        }
        let slot = Arc::new(Slot { server: tokio::sync::Mutex::new(Weak::new()), backoff: Arc::default() });
        slots.push((key, slot.clone()));
        slot
    }

    pub(super) fn status(&self) -> ServerStatus {
        let history = lock(&self.tracker.history);
        let is_running = *self.tracker.running.borrow() > 0;
        ServerStatus {
            state: match (is_running, history.is_down) {
                (true, _) => ServerState::Running,
                (false, true) => ServerState::Error,
                (false, false) => ServerState::Stopped,
            },
            base_url: history.base_url.clone().filter(|_| is_running),
            uptime_ms: history
                .running_since
                .filter(|_| is_running)
                .map(|since| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)),
            restart_count: history.restarts,
            last_error: history.last_error.clone(),
        }
    }

    /// Waits until the last server has ended. They end by themselves when no session holds them any more.
    pub(super) async fn wait_until_stopped(&self) {
        let mut running = self.tracker.running.subscribe();
        if timeout(SHUTDOWN_GRACE, running.wait_for(|running| *running == 0)).await.is_err() {
            let (agent, grace_ms) = (self.tracker.agent, SHUTDOWN_GRACE.as_millis());
            tracing::warn!(agent, grace_ms, "shared agent server still runs after the grace period");
        }
    }
}

impl<S> Slot<S> {
    fn is_used(&self) -> bool {
        self.server.try_lock().map_or(true, |server| server.strong_count() > 0) || lock(&self.backoff).is_recent()
    }
}

impl StatusTracker {
    fn track_start(self: &Arc<Self>, backoff: &Arc<Mutex<CrashBackoff>>) -> RunningServer {
        let started_at = Instant::now();
        self.running.send_modify(|running| *running += 1);
        let mut history = lock(&self.history);
        if *self.running.borrow() == 1 {
            history.running_since = Some(started_at);
        }
        history.restarts += u64::from(lock(backoff).crashes > 0);
        history.is_down = false;
        RunningServer { tracker: self.clone(), backoff: backoff.clone(), started_at }
    }
}

impl RunningServer {
    /// Sets the URL where the server listens.
    pub(super) fn set_base_url(&self, base_url: &str) {
        lock(&self.tracker.history).base_url = Some(base_url.to_owned());
    }

    /// Records that the server crashed or could not be started.
    pub(super) fn record_crash(self, reason: &str) {
        let mut backoff = lock(&self.backoff);
        backoff.crashes = if self.started_at.elapsed() < STABLE_AFTER { backoff.crashes + 1 } else { 1 };
        backoff.last_crash = Some(Instant::now());
        let (crashes, backoff_ms) = (backoff.crashes, backoff.delay().as_millis());
        drop(backoff);
        let agent = self.tracker.agent;
        tracing::warn!(agent, crashes, backoff_ms, reason, "shared agent server failed; the next message restarts it");
        let mut history = lock(&self.tracker.history);
        history.last_error = Some(reason.to_owned());
        history.is_down = true;
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.tracker.running.send_modify(|running| *running -= 1);
    }
}

/// Why we end a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// No session holds it any more.
    Unused,
    /// It does not answer any more.
    Unresponsive,
}

impl EndReason {
    /// The reason, from the channel on which sessions ask to end a server. It is closed when no session is left.
    pub(super) fn from_request(request: Option<()>) -> Self {
        request.map_or(Self::Unused, |()| Self::Unresponsive)
    }
}

/// The last lines of a server's standard error.
#[derive(Debug, Default)]
pub(super) struct StderrTail(VecDeque<String>);

impl StderrTail {
    pub(super) fn push(&mut self, line: String) {
        if self.0.len() == MAX_STDERR_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line);
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.0.into()
    }

    /// An error message for the exit of the server, with the last line of its standard error.
    pub(super) fn exit_message(&self, server: &str, code: Option<i32>) -> String {
        let code = code.map_or_else(|| "an unknown code".to_owned(), |code| format!("code {code}"));
        match self.0.back() {
            Some(last) => format!("{server} exited with {code} (last line of its standard error: {last})"),
            None => format!("{server} exited with {code}"),
        }
    }
}

/// Waits for a future and collects the commands that arrive meanwhile. `None` if the session closes the connection.
pub(super) async fn collect_commands_during<T>(
    commands: &mut CommandReceiver,
    work: impl Future<Output = T>,
) -> Option<(T, VecDeque<DriverCommand>)> {
    let mut collected = VecDeque::new();
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            command = commands.next() => collected.push_back(command?),
            result = &mut work => return Some((result, collected)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct AliveServer;

    impl SharedServer for AliveServer {
        fn is_alive(&self) -> bool {
            true
        }
    }

    async fn start(_running: RunningServer) -> Result<Arc<AliveServer>, ServeError> {
        Ok(Arc::new(AliveServer))
    }

    async fn crash(running: RunningServer) -> Result<Arc<AliveServer>, ServeError> {
        running.record_crash("exited with code 1");
        Err(ServeError::Unavailable("exited with code 1".to_owned()))
    }

    #[tokio::test]
    async fn sessions_with_equal_keys_share_a_server() {
        let servers = SharedServers::<&str, AliveServer>::new("test");
        let first = servers.get("a", start).await.unwrap();
        assert!(Arc::ptr_eq(&first, &servers.get("a", start).await.unwrap()));
        assert!(!Arc::ptr_eq(&first, &servers.get("b", start).await.unwrap()));
    }

    #[tokio::test]
    async fn a_crashed_server_is_reported_and_restarted() {
        let servers = SharedServers::<&str, AliveServer>::new("test");
        assert_eq!(servers.status().state, ServerState::Stopped);
        assert!(servers.get("a", crash).await.is_err());
        let status = servers.status();
        assert_eq!((status.state, status.restart_count), (ServerState::Error, 0));
        assert_eq!(status.last_error.as_deref(), Some("exited with code 1"));
        assert!(servers.get("a", start).await.is_ok());
        assert_eq!(servers.status().restart_count, 1);
    }

    #[test]
    fn each_crash_in_a_row_doubles_the_backoff() {
        let last_crash = Instant::now();
        let backoff =
            |crashes| (CrashBackoff { crashes, last_crash: Some(last_crash) }).next_start().unwrap() - last_crash;
        assert_eq!([1, 2, 3].map(|crashes| backoff(crashes).as_millis()), [100, 200, 400]);
        assert_eq!(backoff(99), MAX_BACKOFF);
        assert_eq!(CrashBackoff::default().next_start(), None);
    }
}

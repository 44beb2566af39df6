//! A process that sessions share: started when the first of them needs it, ended when the last of them lets go, and
//! started again, after a pause that grows, when it falls.
//!
//! Sessions that want the same of it share one; those that want another environment or another version of the program
//! get another.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::agents::{ServerState, ServerStatus};
use crate::driver::{CommandReceiver, DriverCommand, ServeError};

/// The pause after the first fall. Each fall in a row doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Whoever stood for so long has not fallen in a row.
const STABLE: Duration = Duration::from_secs(60);
/// So many lines of a standard error are kept.
const MOST_STDERR: usize = 64;
/// How long the last one may take to end.
const LAST_GRACE: Duration = Duration::from_secs(5);

/// A server that sessions share.
pub(super) trait Server: Send + Sync + 'static {
    /// Whether it can still be spoken to.
    fn is_up(&self) -> bool;
}

/// The servers of an agent, by what sessions want of them.
pub(super) struct Shared<K, S> {
    slots: Mutex<Vec<(K, Arc<Slot<S>>)>>,
    standing: Arc<Standing>,
}

/// The place of one server.
struct Slot<S> {
    server: tokio::sync::Mutex<Weak<S>>,
    falls: Arc<Mutex<Falls>>,
}

/// How often a server fell in a row, and when it did last.
#[derive(Debug, Default)]
struct Falls {
    count: u32,
    last: Option<Instant>,
}

impl Falls {
    fn next_try(&self) -> Option<Instant> {
        let doubled = 2u32.saturating_pow(self.count.saturating_sub(1));
        self.last.map(|last| last + FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE))
    }

    fn is_recent(&self) -> bool {
        self.last.is_some_and(|last| last.elapsed() < STABLE)
    }
}

/// What is known of all servers of an agent.
#[derive(Debug)]
struct Standing {
    running: watch::Sender<usize>,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    /// Since when there has been one.
    since: Option<Instant>,
    base_url: Option<String>,
    restarts: u64,
    last_error: Option<String>,
    /// The last one fell, and none was started since.
    is_down: bool,
}

/// A server that is being started, or runs. To be told how it ends.
#[derive(Debug)]
pub(super) struct Running {
    standing: Arc<Standing>,
    falls: Arc<Mutex<Falls>>,
    began: Instant,
}

impl<K: PartialEq, S: Server> Shared<K, S> {
    pub(super) fn new() -> Self {
        let standing = Standing { running: watch::Sender::new(0), told: Mutex::default() };
        Self { slots: Mutex::default(), standing: Arc::new(standing) }
    }

    /// The server for those who want this of it, started if there is none.
    pub(super) async fn get<F>(&self, key: K, start: impl FnOnce(Running) -> F) -> Result<Arc<S>, ServeError>
    where
        F: Future<Output = Result<Arc<S>, ServeError>>,
    {
        let slot = self.slot(key);
        let mut server = slot.server.lock().await;
        if let Some(server) = server.upgrade().filter(|server| server.is_up()) {
            return Ok(server);
        }
        let next_try = lock(&slot.falls).next_try();
        if let Some(next_try) = next_try {
            sleep_until(next_try).await;
        }
        let started = start(self.standing.begin(&slot.falls)).await?;
        *server = Arc::downgrade(&started);
        Ok(started)
    }

    fn slot(&self, key: K) -> Arc<Slot<S>> {
        let mut slots = lock(&self.slots);
        slots.retain(|(_, slot)| slot.is_used());
        if let Some((_, slot)) = slots.iter().find(|(known, _)| *known == key) {
            return slot.clone();
        }
        let slot = Arc::new(Slot { server: tokio::sync::Mutex::new(Weak::new()), falls: Arc::default() });
        slots.push((key, slot.clone()));
        slot
    }

    pub(super) fn status(&self) -> ServerStatus {
        let told = lock(&self.standing.told);
        let is_running = *self.standing.running.borrow() > 0;
        ServerStatus {
            state: match (is_running, told.is_down) {
                (true, _) => ServerState::Running,
                (false, true) => ServerState::Error,
                (false, false) => ServerState::Stopped,
            },
            base_url: told.base_url.clone().filter(|_| is_running),
            uptime_ms: told
                .since
                .filter(|_| is_running)
                .map(|since| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)),
            restart_count: told.restarts,
            last_error: told.last_error.clone(),
        }
    }

    /// Waits until the last one has ended. They end because nobody needs them any more.
    pub(super) async fn ended(&self) {
        let mut running = self.standing.running.subscribe();
        let none = timeout(LAST_GRACE, running.wait_for(|running| *running == 0)).await;
        if none.is_err() {
            tracing::warn!("a shared agent did not end within {LAST_GRACE:?}");
        }
    }
}

impl<S> Slot<S> {
    fn is_used(&self) -> bool {
        self.server.try_lock().map_or(true, |server| server.strong_count() > 0) || lock(&self.falls).is_recent()
    }
}

impl Standing {
    fn begin(self: &Arc<Self>, falls: &Arc<Mutex<Falls>>) -> Running {
        let began = Instant::now();
        self.running.send_modify(|running| *running += 1);
        let mut told = lock(&self.told);
        if *self.running.borrow() == 1 {
            told.since = Some(began);
        }
        told.restarts += u64::from(lock(falls).count > 0);
        told.is_down = false;
        Running { standing: self.clone(), falls: falls.clone(), began }
    }
}

impl Running {
    /// It listens here.
    pub(super) fn listens(&self, base_url: &str) {
        lock(&self.standing.told).base_url = Some(base_url.to_owned());
    }

    /// It fell, or could not even stand up, for this reason.
    pub(super) fn fell(self, reason: &str) {
        tracing::warn!("a shared agent fell: {reason}");
        let mut falls = lock(&self.falls);
        falls.count = if self.began.elapsed() < STABLE { falls.count + 1 } else { 1 };
        falls.last = Some(Instant::now());
        drop(falls);
        let mut told = lock(&self.standing.told);
        told.last_error = Some(reason.to_owned());
        told.is_down = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.standing.running.send_modify(|running| *running -= 1);
    }
}

/// Why a server is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Nobody holds it any more.
    NotNeeded,
    /// It no longer obeys.
    Disobedient,
}

impl Ending {
    /// Why, told by what came from those who hold it: an order, or nothing because there is nobody.
    pub(super) fn of(command: Option<()>) -> Self {
        command.map_or(Self::NotNeeded, |()| Self::Disobedient)
    }
}

/// The last lines of a standard error.
#[derive(Debug, Default)]
pub(super) struct Tail(VecDeque<String>);

impl Tail {
    pub(super) fn push(&mut self, line: String) {
        if self.0.len() == MOST_STDERR {
            self.0.pop_front();
        }
        self.0.push_back(line);
    }

    pub(super) fn lines(self) -> Vec<String> {
        self.0.into()
    }

    /// Why a process is gone, as far as it said.
    pub(super) fn farewell(&self, agent: &str, code: Option<i32>) -> String {
        let code = code.map_or_else(|| "for unknown reasons".to_owned(), |code| format!("with exit code {code}"));
        match self.0.back() {
            Some(last) => format!("{agent} left {code}: {last}"),
            None => format!("{agent} left {code}"),
        }
    }
}

/// Waits for something while orders come: what it came to, and the orders. `None` if the session lets go.
pub(super) async fn meanwhile<T>(
    commands: &mut CommandReceiver,
    work: impl Future<Output = T>,
) -> Option<(T, VecDeque<DriverCommand>)> {
    let mut early = VecDeque::new();
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            command = commands.next() => early.push_back(command?),
            done = &mut work => return Some((done, early)),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Up;

    impl Server for Up {
        fn is_up(&self) -> bool {
            true
        }
    }

    async fn up(_running: Running) -> Result<Arc<Up>, ServeError> {
        Ok(Arc::new(Up))
    }

    async fn falls(running: Running) -> Result<Arc<Up>, ServeError> {
        running.fell("no legs");
        Err(ServeError::Unavailable("no legs".to_owned()))
    }

    #[tokio::test]
    async fn those_who_want_the_same_share_it() {
        let shared = Shared::<&str, Up>::new();
        let first = shared.get("a", up).await.unwrap();
        assert!(Arc::ptr_eq(&first, &shared.get("a", up).await.unwrap()));
        assert!(!Arc::ptr_eq(&first, &shared.get("b", up).await.unwrap()));
    }

    #[tokio::test]
    async fn what_fell_is_told_and_started_again() {
        let shared = Shared::<&str, Up>::new();
        assert_eq!(shared.status().state, ServerState::Stopped);
        assert!(shared.get("a", falls).await.is_err());
        let status = shared.status();
        assert_eq!((status.state, status.restart_count), (ServerState::Error, 0));
        assert_eq!(status.last_error.as_deref(), Some("no legs"));
        assert!(shared.get("a", up).await.is_ok());
        assert_eq!(shared.status().restart_count, 1);
    }

    #[test]
    fn each_fall_in_a_row_is_followed_by_a_longer_pause() {
        let last = Instant::now();
        let pause = |count| (Falls { count, last: Some(last) }).next_try().unwrap() - last;
        assert_eq!([1, 2, 3].map(|count| pause(count).as_millis()), [100, 200, 400]);
        assert_eq!(pause(99), LONGEST_PAUSE);
        assert_eq!(Falls::default().next_try(), None);
    }
}

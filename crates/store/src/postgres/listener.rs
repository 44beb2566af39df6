//! Receiving the signals of other servers, on a connection of its own.
//!
//! Signals that are sent while the connection is down are lost. So after connecting, everything is looked at once, as
//! it is from time to time anyway.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;

use crate::postgres::connection::Connector;
use crate::postgres::error::DbError;
use crate::postgres::follower::Follower;
use crate::postgres::global_tail::GlobalTail;
use crate::postgres::outbox::Signal;

/// Interval of checking that the connection still works.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long the check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay between attempts to connect.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// What arrives from other servers.
pub(crate) struct Inbox {
    pub(crate) follower: Follower,
    pub(crate) global_tail: GlobalTail,
    /// This server's id; 0 if it is none.
    server: i64,
    /// There may be work for this server.
    pub(crate) work: Notify,
    /// Those who wait for the results of commands.
    results: Mutex<HashMap<i64, Arc<Notify>>>,
    pub(crate) lag: SignalLag,
    is_connected: AtomicBool,
    /// In a test, signals are dropped.
    is_deaf: bool,
}

/// How long signals take, measured with those that this server sends to itself.
#[derive(Debug, Default)]
pub(crate) struct SignalLag {
    sent: Mutex<Option<(u64, Instant)>>,
    micros: AtomicU64,
}

impl SignalLag {
    /// A ping is sent. Returns its number.
    pub(crate) fn start(&self) -> u64 {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sent.map_or(1, |(number, _)| number + 1);
        *sent = Some((number, Instant::now()));
        number
    }

    fn observe(&self, number: u64) {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, at)) = sent.filter(|(last, _)| *last == number) {
            self.micros.store(u64::try_from(at.elapsed().as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
    }

    /// How long the last signal took.
    pub(crate) fn last(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}

impl Inbox {
    pub(crate) fn new(follower: Follower, global_tail: GlobalTail, server: i64, is_deaf: bool) -> Self {
        Self {
            follower,
            global_tail,
            server,
            work: Notify::new(),
            results: Mutex::default(),
            lag: SignalLag::default(),
            is_connected: AtomicBool::new(false),
            is_deaf,
        }
    }

    /// Whether signals can arrive.
    pub(crate) fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::SeqCst)
    }

    /// What is notified when a command may have a result. It is kept until [`forget_result`](Self::forget_result).
    pub(crate) fn expect_result(&self, command: i64) -> Arc<Notify> {
        Arc::clone(self.results.lock().unwrap_or_else(PoisonError::into_inner).entry(command).or_default())
    }

    pub(crate) fn forget_result(&self, command: i64) {
        self.results.lock().unwrap_or_else(PoisonError::into_inner).remove(&command);
    }

    fn receive(&self, message: &str) {
        if self.is_deaf {
            return;
        }
        let mut has_appends = false;
        for signal in message.split(' ').filter_map(Signal::parse) {
            match signal {
                Signal::Appended { session, last } => {
                    has_appends = true;
                    self.follower.observe(session, last);
                }
                Signal::Deleted { session } => self.follower.observe_deleted(session),
                Signal::Changed { .. } => self.follower.observe_changed(),
                Signal::Work { server, .. } => {
                    if server.is_none_or(|server| server == self.server) {
                        self.work.notify_one();
                    }
                }
                Signal::Result { command, server } => {
                    if server == self.server
                        && let Some(waiting) = self.results.lock().unwrap_or_else(PoisonError::into_inner).get(&command)
                    {
                        waiting.notify_one();
                    }
                }
                Signal::Ping { server, number } => {
                    if server == self.server {
                        self.lag.observe(number);
                    }
                }
            }
        }
        if has_appends {
            self.global_tail.wake();
        }
    }

    /// Looks at everything, because signals may have been lost.
    fn catch_up(&self) {
        self.global_tail.wake();
        self.work.notify_one();
        // A change of labels may have been missed.
        self.follower.observe_changed();
    }
}

/// Receives signals for ever.
pub(crate) async fn run(connector: &Connector, channel: &str, inbox: &Inbox) {
    loop {
        if let Err(error) = receive(connector, channel, inbox).await {
            tracing::debug!(error = error.describe(), "not connected to other servers; polling until it is back");
        }
        inbox.is_connected.store(false, Ordering::SeqCst);
        sleep(RETRY_DELAY).await;
    }
}

/// Receives signals until the connection is lost.
async fn receive(connector: &Connector, channel: &str, inbox: &Inbox) -> Result<(), DbError> {
    let (client, mut connection) = connector.connect_raw().await?;
    let (sender, mut messages) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && sender.send(notification).is_err()
            {
                break;
            }
        }
    });
    client.batch_execute(&format!("LISTEN \"{channel}\"")).await?;
    inbox.is_connected.store(true, Ordering::SeqCst);
    inbox.catch_up();
    loop {
        match timeout(CHECK_INTERVAL, messages.recv()).await {
            Ok(Some(notification)) => inbox.receive(notification.payload()),
            Ok(None) => return Ok(()),
            Err(_) => {
                let check = timeout(CHECK_TIMEOUT, client.batch_execute("SELECT 1"));
                check.await.map_err(|_| DbError::Timeout)??;
            }
        }
    }
}

//! Writing. A lane is a connection with a queue: the writes of a session are in one lane, in the order of the calls.
//!
//! A lane takes all appends that wait, of whatever sessions, and writes them in one transaction ([`append`]). Other
//! writes have transactions of their own.
//!
//! When the database cannot be reached, appends wait: they are what agents have done, and cannot be repeated. Other
//! writes are requests of clients. They fail after [`WRITE_TIMEOUT`], and the client repeats them.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::StoreError;
use crate::notifier::Notification;
use crate::postgres::append::{self, AppendJob, AppendRules};
use crate::postgres::connection::{Connector, DbClient};
use crate::postgres::error::DbError;
use crate::postgres::publisher::Publisher;

/// Maximum number of appends in one transaction.
const MAX_GROUP_APPENDS: usize = 256;
/// Number of bytes at which a transaction gets no more appends.
const MAX_GROUP_BYTES: usize = 8 * 1024 * 1024;
/// How long a write other than an append waits for the database.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a transaction may take before its connection counts as lost.
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay between attempts to connect, at first and at most.
const MIN_RETRY_DELAY: Duration = Duration::from_millis(50);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Interval of log lines about appends that wait.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A write in the queue of a lane.
pub(crate) enum LaneJob {
    Append(Box<AppendJob>),
    Write(Box<dyn QueuedWrite>),
}

/// A write that is not an append.
pub(crate) trait LaneWrite: Send + Sync + 'static {
    /// Result for the caller.
    type Output: Send;

    /// Makes the change. An error of the connection may leave the change made or not; the write is run again then, with
    /// `is_retry`.
    fn run(&self, client: &DbClient, is_retry: bool) -> impl Future<Output = Result<Self::Output, DbError>> + Send;

    /// What to tell readers once the write is durable.
    fn notification(&self) -> Option<Notification> {
        None
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<(), DbError>> + Send + 'a>>;

/// A write that is not an append, whatever its type.
pub(crate) trait QueuedWrite: Send {
    fn run<'a>(&'a mut self, client: &'a DbClient) -> Running<'a>;

    /// Sends the result to the caller: that of the write, or `failure`.
    fn complete(self: Box<Self>, failure: Option<StoreError>, publisher: &Publisher);

    fn deadline(&self) -> Instant;
}

struct WriteJob<W: LaneWrite> {
    write: W,
    result: Option<Result<W::Output, StoreError>>,
    sender: oneshot::Sender<Result<W::Output, StoreError>>,
    deadline: Instant,
    is_retry: bool,
}

impl<W: LaneWrite> QueuedWrite for WriteJob<W> {
    fn run<'a>(&'a mut self, client: &'a DbClient) -> Running<'a> {
        Box::pin(async move {
            let is_retry = std::mem::replace(&mut self.is_retry, true);
            self.result = Some(match self.write.run(client, is_retry).await {
                Ok(output) => Ok(output),
                Err(DbError::Refused(error)) => Err(error),
                Err(error) => return Err(error),
            });
            Ok(())
        })
    }

    fn complete(self: Box<Self>, failure: Option<StoreError>, publisher: &Publisher) {
        let result = match failure {
            Some(error) => Err(error),
            None => self.result.unwrap_or(Err(StoreError::Closed)),
        };
        if let (Ok(_), Some(notification)) = (&result, self.write.notification()) {
            publisher.publish(notification);
        }
        // The caller may have stopped waiting; the write is durable all the same.
        drop(self.sender.send(result));
    }

    fn deadline(&self) -> Instant {
        self.deadline
    }
}

/// What all lanes share.
pub(crate) struct LaneContext {
    pub(crate) connector: Arc<Connector>,
    pub(crate) rules: AppendRules,
    pub(crate) publisher: Publisher,
    /// Whether the store is closed: writes that cannot be made now are refused.
    pub(crate) is_closing: AtomicBool,
}

/// The lanes of a store.
pub(crate) struct Lanes {
    senders: Vec<mpsc::UnboundedSender<LaneJob>>,
}

impl Lanes {
    /// Starts the lanes. The receiver gets a message when all have ended, which they do when the senders are dropped.
    pub(crate) fn start(context: &Arc<LaneContext>, count: usize) -> (Self, mpsc::Receiver<()>) {
        let (ended, all_ended) = mpsc::channel(1);
        let senders = (0..count.max(1)).map(|_| {
            let (sender, queue) = mpsc::unbounded_channel();
            let lane = Lane { context: Arc::clone(context), client: None, jobs: VecDeque::new(), retry_delay: None };
            let ended = ended.clone();
            tokio::spawn(async move {
                lane.run(queue).await;
                drop(ended);
            });
            sender
        });
        (Self { senders: senders.collect() }, all_ended)
    }

    /// Adds a job to the lane of a session, or of anything else with this number.
    pub(crate) fn send(&self, number: i64, job: LaneJob) {
        let count = self.senders.len() as u64;
        let index = usize::try_from(number.unsigned_abs() % count).unwrap_or_default();
        // If the lane is gone, the job is dropped together with its sender, and the caller gets `Closed`.
        drop(self.senders[index].send(job));
    }

    pub(crate) fn send_write<W: LaneWrite>(
        &self,
        number: i64,
        write: W,
        sender: oneshot::Sender<Result<W::Output, StoreError>>,
    ) {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let job = WriteJob { write, result: None, sender, deadline, is_retry: false };
        self.send(number, LaneJob::Write(Box::new(job)));
    }
}

struct Lane {
    context: Arc<LaneContext>,
    client: Option<DbClient>,
    /// Jobs in the order of their calls.
    jobs: VecDeque<LaneJob>,
    /// Delay before the next attempt to reach the database; `None` while it can be reached.
    retry_delay: Option<Duration>,
}

impl Lane {
    async fn run(mut self, mut queue: mpsc::UnboundedReceiver<LaneJob>) {
        let mut outage = Outage::default();
        loop {
            if self.jobs.is_empty() {
                match queue.recv().await {
                    Some(job) => self.jobs.push_back(job),
                    None => return,
                }
            }
            while let Ok(job) = queue.try_recv() {
                self.jobs.push_back(job);
            }
            let result = match self.connect().await {
                Ok(()) => self.run_next().await,
                Err(error) => Err(error),
            };
            match result {
                Ok(()) => {
                    self.retry_delay = None;
                    outage.end();
                }
                Err(error) => {
                    self.client = None;
                    outage.log(&error, &self.jobs);
                    self.refuse_late(&error.into());
                    let delay = self.retry_delay.map_or(MIN_RETRY_DELAY, |delay| (delay * 2).min(MAX_RETRY_DELAY));
                    self.retry_delay = Some(delay);
                    sleep(delay).await;
                }
            }
        }
    }

    async fn connect(&mut self) -> Result<(), DbError> {
        if self.client.as_ref().is_some_and(|client| !client.is_closed()) {
            return Ok(());
        }
        let client = self.context.connector.connect().await?;
        append::prepare_statements(&client).await?;
        self.client = Some(client);
        Ok(())
    }

    /// Runs the first job, together with the appends that follow it. An error means that the database cannot be reached;
    /// the jobs are still in the queue then.
    async fn run_next(&mut self) -> Result<(), DbError> {
        let Some(client) = self.client.take() else { return Ok(()) };
        match self.jobs.pop_front() {
            None => {}
            Some(LaneJob::Append(first)) => {
                let mut group = vec![*first];
                let mut bytes = group[0].byte_len();
                while let Some(LaneJob::Append(next)) = self.jobs.front()
                    && group.len() < MAX_GROUP_APPENDS
                    && bytes < MAX_GROUP_BYTES
                {
                    bytes += next.byte_len();
                    if let Some(LaneJob::Append(next)) = self.jobs.pop_front() {
                        group.push(*next);
                    }
                }
                self.write_group(&client, group).await?;
            }
            Some(LaneJob::Write(mut write)) => match with_timeout(write.run(&client)).await {
                Ok(()) => write.complete(None, &self.context.publisher),
                Err(error) if client.is_closed() || error.is_temporary() => {
                    self.jobs.push_front(LaneJob::Write(write));
                    return Err(error);
                }
                Err(error) => {
                    tracing::error!(error = error.describe(), "cannot write to the database");
                    client.rollback().await?;
                    write.complete(Some(error.into()), &self.context.publisher);
                }
            },
        }
        self.client = Some(client).filter(DbClient::is_idle);
        Ok(())
    }

    /// Writes a group of appends, or each by itself if the database refuses them together.
    async fn write_group(&mut self, client: &DbClient, mut group: Vec<AppendJob>) -> Result<(), DbError> {
        let written = with_timeout(append::write(client, &mut group, &self.context.rules)).await;
        let error = match written {
            Ok(verdicts) => {
                self.context.publisher.finish_appends(group, verdicts);
                return Ok(());
            }
            Err(error) => error,
        };
        if client.is_closed() || error.is_temporary() {
            for job in group.into_iter().rev() {
                self.jobs.push_front(LaneJob::Append(Box::new(job)));
            }
            return Err(error);
        }
        // Nothing was written: the database has rolled the transaction back.
        client.rollback().await?;
        if group.len() > 1 {
            for job in group {
                Box::pin(self.write_group(client, vec![job])).await?;
            }
            return Ok(());
        }
        tracing::error!(error = error.describe(), "cannot write to the database");
        self.context.publisher.fail_appends(group, &error.into());
        Ok(())
    }

    /// Refuses the writes that have waited too long, and everything if the store is closed.
    fn refuse_late(&mut self, error: &StoreError) {
        let is_closing = self.context.is_closing.load(Ordering::SeqCst);
        let now = Instant::now();
        for job in std::mem::take(&mut self.jobs) {
            match job {
                LaneJob::Write(write) if is_closing || write.deadline() <= now => {
                    write.complete(Some(error.clone()), &self.context.publisher);
                }
                LaneJob::Append(append) if is_closing => self.context.publisher.fail_appends(vec![*append], error),
                job => self.jobs.push_back(job),
            }
        }
    }
}

/// Limits the duration of requests, so that a database that does not answer counts as one that cannot be reached.
async fn with_timeout<T>(requests: impl Future<Output = Result<T, DbError>>) -> Result<T, DbError> {
    timeout(TRANSACTION_TIMEOUT, requests).await.unwrap_or(Err(DbError::Timeout))
}

/// Log lines about a database that cannot be reached: not one for every attempt.
#[derive(Default)]
struct Outage {
    logged_at: Option<Instant>,
}

impl Outage {
    fn log(&mut self, error: &DbError, jobs: &VecDeque<LaneJob>) {
        if self.logged_at.is_none_or(|at| at.elapsed() >= LOG_INTERVAL) {
            let error = error.describe();
            tracing::warn!(error, waiting = jobs.len(), "the database is unavailable; writes wait until it is back");
            self.logged_at = Some(Instant::now());
        }
    }

    fn end(&mut self) {
        if self.logged_at.take().is_some() {
            tracing::info!("the database is available again");
        }
    }
}

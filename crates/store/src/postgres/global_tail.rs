//! Following the appends of all servers, for the readers of many sessions and while there are any.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, timeout};

use crate::global_cursor::Position;
use crate::global_feed::GlobalFeed;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::events::StoredRow;
use crate::postgres::pool::Pool;
use crate::postgres::positions::{load_bound, read_after, read_appends};
use crate::{RawPayloads, SessionFilter, StoreError};

/// Time after which the tail is read even without a signal.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Delay before the tail is read again because a transaction that runs holds appends back: at first, and at most.
const MIN_BOUND_DELAY: Duration = Duration::from_millis(5);
const MAX_BOUND_DELAY: Duration = Duration::from_millis(100);
/// How long a reader that starts at the end waits for transactions that run.
const MAX_END_DELAY: Duration = Duration::from_secs(1);
/// Delay after the database could not be read.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Fills the feed with the appends of all servers.
pub(crate) struct GlobalTail {
    pool: Arc<Pool>,
    feed: Arc<GlobalFeed>,
    offset: i64,
    /// Position up to which the feed is filled; `None` while it has no readers.
    position: Mutex<Option<Position>>,
    wakeup: Notify,
}

impl GlobalTail {
    pub(crate) fn new(pool: Arc<Pool>, feed: Arc<GlobalFeed>, offset: i64) -> Self {
        Self { pool, feed, offset, position: Mutex::default(), wakeup: Notify::new() }
    }

    /// There are new appends.
    pub(crate) fn wake(&self) {
        self.wakeup.notify_one();
    }

    /// Begins to fill the feed, which has a reader, unless it is being filled.
    pub(crate) async fn activate(&self) -> Result<(), StoreError> {
        let mut position = self.position.lock().await;
        if position.is_none() {
            let last = self.last_visible().await?;
            self.feed.restart(last);
            *position = Some(Position::end_of(last));
            self.wake();
        }
        Ok(())
    }

    /// Number of the last append that nothing can become visible before.
    pub(crate) async fn last_visible(&self) -> Result<i64, StoreError> {
        let client = self.pool.client().await?;
        Ok(load_bound(&client, self.offset).await? - 1)
    }

    /// Number of the last append that is stored, once nothing can become visible before it. Waits for transactions that
    /// run, at most for a short time.
    pub(crate) async fn last_stored(&self) -> Result<i64, StoreError> {
        let client = self.pool.client().await?;
        let deadline = Instant::now() + MAX_END_DELAY;
        loop {
            let bound = load_bound(&client, self.offset).await?;
            if Instant::now() >= deadline || !has_appends_from(&client, bound).await? {
                return Ok(bound - 1);
            }
            sleep(MIN_BOUND_DELAY).await;
        }
    }

    /// Fills the feed for ever.
    pub(crate) async fn run(&self) {
        loop {
            // Without a signal in time, one may have been lost.
            let _ = timeout(POLL_INTERVAL, self.wakeup.notified()).await;
            let mut delay = MIN_BOUND_DELAY;
            loop {
                match self.fill().await {
                    Ok(false) => break,
                    Ok(true) => sleep(delay).await,
                    Err(error) => {
                        tracing::debug!(%error, "cannot read the events of all sessions yet");
                        sleep(RETRY_DELAY).await;
                    }
                }
                delay = (delay * 2).min(MAX_BOUND_DELAY);
            }
        }
    }

    /// Reads new appends into the feed. Returns whether there are others that a transaction holds back.
    async fn fill(&self) -> Result<bool, StoreError> {
        let mut position = self.position.lock().await;
        if !self.feed.has_readers() {
            *position = None;
        }
        let Some(start) = *position else { return Ok(false) };
        let (end, is_held_back) = self.read(start).await?;
        *position = Some(end);
        Ok(is_held_back)
    }

    /// Reads all appends below the bound. Returns the new position, and whether there are appends above the bound.
    async fn read(&self, start: Position) -> Result<(Position, bool), StoreError> {
        let filter = SessionFilter::default();
        let client = self.pool.client().await?;
        let mut position = start;
        let mut rows: Vec<StoredRow> = Vec::new();
        loop {
            let found = read_after(&client, &filter, position, self.offset, RawPayloads::Omit).await?;
            let is_complete = found.is_complete;
            rows.extend(found.rows);
            if let Some(last) = rows.last() {
                position = Position { append: last.append, session: last.session, sequence: last.last };
            }
            // The appends of a transaction are added at once.
            let complete = if is_complete {
                rows.len()
            } else {
                rows.iter().rposition(|row| row.append != position.append).map_or(0, |index| index + 1)
            };
            let rest = rows.split_off(complete);
            let appends = read_appends(&client, &rows).await?;
            let last = if is_complete { Some(found.bound - 1) } else { rows.last().map(|row| row.append) };
            if let Some(last) = last {
                self.feed.push_all(last, appends);
            }
            rows = rest;
            if is_complete {
                let is_held_back = has_appends_from(&client, found.bound).await?;
                return Ok((Position::end_of(found.bound - 1), is_held_back));
            }
        }
    }
}

async fn has_appends_from(client: &DbClient, bound: i64) -> Result<bool, DbError> {
    Ok(client.query_one("SELECT EXISTS (SELECT 1 FROM events WHERE append >= $1)", &[&bound]).await?.get(0))
}

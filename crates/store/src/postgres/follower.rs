//! Following the sessions that have readers here, whatever server appends to them.
//!
//! A signal says that a session has new events. They are read once and shared by all readers of the session. Signals
//! may be lost, so all sessions with readers are looked at from time to time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout_at};

use crate::notifier::{Notification, Notifier, Tail};
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::events::{StoredRow, read_rows};
use crate::postgres::pool::Pool;
use crate::postgres::session::tail;
use crate::{RawPayloads, ReadLimits, SessionKey, StoreError};

/// Interval of looking at all sessions with readers.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Delay after the database could not be read.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Number of rows that are read at once, of all sessions together. Readers that miss more read from the database.
const MAX_ROWS: i64 = 512;
/// Limits of what is shared of a session.
const SHARED_LIMITS: ReadLimits = ReadLimits { max_events: 4096, max_bytes: 512 * 1024 };

/// Tells the readers of this process what other servers append.
pub(crate) struct Follower {
    pool: Arc<Pool>,
    notifier: Arc<Notifier>,
    /// Sessions that have events up to these sequences, according to signals.
    signalled: Mutex<BTreeMap<SessionKey, u64>>,
    wakeup: Notify,
}

impl Follower {
    pub(crate) fn new(pool: Arc<Pool>, notifier: Arc<Notifier>) -> Self {
        Self { pool, notifier, signalled: Mutex::default(), wakeup: Notify::new() }
    }

    /// A session has events up to this one.
    pub(crate) fn observe(&self, session: SessionKey, last: u64) {
        let Some(known) = self.notifier.known_tail(session) else { return };
        if known.is_before(Tail::Open { last }) {
            self.signalled.lock().unwrap_or_else(PoisonError::into_inner).insert(session, last);
            self.wakeup.notify_one();
        }
    }

    /// A session was deleted.
    pub(crate) fn observe_deleted(&self, session: SessionKey) {
        self.notifier.global().remove(session);
        self.notifier.notify(Notification { session, tail: Tail::Deleted, lines: None });
    }

    /// Filters of readers may give another result for a session.
    pub(crate) fn observe_changed(&self) {
        self.notifier.global().mark_changed();
    }

    /// Follows for ever.
    pub(crate) async fn run(&self) {
        let mut next_poll = Instant::now() + POLL_INTERVAL;
        loop {
            let is_signalled = timeout_at(next_poll, self.wakeup.notified()).await.is_ok();
            let signalled = std::mem::take(&mut *self.signalled.lock().unwrap_or_else(PoisonError::into_inner));
            let sessions: Vec<(SessionKey, Tail)> = if is_signalled {
                // The readers may have learnt it in the meantime.
                let is_new = |(session, last): (SessionKey, u64)| {
                    let known = self.notifier.known_tail(session)?;
                    known.is_before(Tail::Open { last }).then_some((session, known))
                };
                signalled.into_iter().filter_map(is_new).collect()
            } else {
                next_poll = Instant::now() + POLL_INTERVAL;
                self.notifier.subscribed()
            };
            if let Err(error) = self.update(&sessions).await {
                tracing::debug!(%error, "cannot read the events of other servers yet");
                sleep(RETRY_DELAY).await;
            }
        }
    }

    /// Tells readers of sessions, who know these tails, what is new.
    async fn update(&self, sessions: &[(SessionKey, Tail)]) -> Result<(), StoreError> {
        if sessions.is_empty() {
            return Ok(());
        }
        let client = self.pool.client().await?;
        for notification in load_news(&client, sessions).await? {
            self.notifier.notify(notification);
        }
        Ok(())
    }
}

/// What is new in sessions since these tails.
async fn load_news(client: &DbClient, sessions: &[(SessionKey, Tail)]) -> Result<Vec<Notification>, DbError> {
    let keys: Vec<i64> = sessions.iter().map(|(session, _)| session.0).collect();
    let rows = client.query("SELECT key, event_count, ended FROM sessions WHERE key = ANY($1)", &[&keys]).await?;
    let tails: BTreeMap<SessionKey, Tail> = rows.iter().map(|row| (SessionKey(row.get(0)), tail(row, 1))).collect();
    let mut news: BTreeMap<SessionKey, (Tail, u64)> = BTreeMap::new();
    for (session, known) in sessions {
        let now = tails.get(session).copied().unwrap_or(Tail::Deleted);
        if known.is_before(now) {
            // A reader that knows nothing yet reads from the database.
            let after = match (known, now) {
                (Tail::Open { last }, _) => *last,
                (_, Tail::Open { last } | Tail::Ended { last }) => last,
                _ => 0,
            };
            news.insert(*session, (now, after));
        }
    }
    let mut stored = load_rows(client, &news).await?;
    let mut notifications = Vec::with_capacity(news.len());
    for (session, (tail, after)) in news {
        let rows = stored.remove(&session).unwrap_or_default();
        let lines = read_rows(client, &rows, after, SHARED_LIMITS).await?;
        let lines = (!lines.is_empty()).then(|| Arc::new(lines));
        notifications.push(Notification { session, tail, lines });
    }
    Ok(notifications)
}

/// Loads the rows of sessions after these sequences.
async fn load_rows(
    client: &DbClient,
    news: &BTreeMap<SessionKey, (Tail, u64)>,
) -> Result<BTreeMap<SessionKey, Vec<StoredRow>>, DbError> {
    let query = format!(
        "SELECT {} FROM unnest($1::bigint[], $2::bigint[]) AS w (session, after) \
         JOIN events AS e ON e.session = w.session AND e.last > w.after ORDER BY e.session, e.last LIMIT $3",
        StoredRow::columns(RawPayloads::Omit)
    );
    let sessions: Vec<i64> = news.keys().map(|session| session.0).collect();
    let after: Vec<i64> = news.values().map(|(_, after)| after.cast_signed()).collect();
    let mut stored: BTreeMap<SessionKey, Vec<StoredRow>> = BTreeMap::new();
    for row in client.query(&query, &[&sessions, &after, &MAX_ROWS]).await? {
        let row = StoredRow::from_row(&row);
        stored.entry(row.session).or_default().push(row);
    }
    Ok(stored)
}

//! The last appends of all sessions, in memory, for readers of many sessions that keep up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::events::EventLines;
use crate::global_cursor::Position;
use crate::{Batch, ReadLimits, SessionKey, StoreError};

/// Maximum size of the events that are kept while there are readers.
const MAX_RECENT_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of appends that are kept.
const MAX_RECENT_APPENDS: usize = 4096;

/// The last appends of all sessions. They are kept while there are readers.
#[derive(Debug)]
pub(crate) struct GlobalFeed {
    recent: Mutex<Recent>,
    wakeup: watch::Sender<()>,
}

#[derive(Debug)]
struct Recent {
    /// In the order of their numbers.
    appends: VecDeque<RecentAppend>,
    bytes: usize,
    /// Number after which no durable append is missing.
    complete_after: i64,
    /// Number of the last durable append.
    last: i64,
    /// Number of changes of sessions on which filters depend.
    changes: u64,
}

#[derive(Debug)]
struct RecentAppend {
    number: i64,
    session: SessionKey,
    lines: Arc<EventLines>,
}

/// Events of one append.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) append: i64,
    pub(crate) session: SessionKey,
    pub(crate) events: Batch,
}

/// What the feed has for a reader.
pub(crate) enum FeedRead {
    /// The next events, and the number of changes of sessions. Empty if there are none.
    Runs(Vec<Run>, u64),
    /// The next events are on the disk only.
    Behind,
}

impl GlobalFeed {
    pub(crate) fn new(last_append: i64) -> Self {
        let recent =
            Recent { appends: VecDeque::new(), bytes: 0, complete_after: last_append, last: last_append, changes: 0 };
        Self { recent: Mutex::new(recent), wakeup: watch::Sender::new(()) }
    }

    /// Subscribes until the subscription is dropped.
    pub(crate) fn subscribe(self: &Arc<Self>) -> FeedSubscription {
        // Under the lock, so that the appends from now on are kept.
        let _recent = self.lock();
        FeedSubscription { receiver: self.wakeup.subscribe(), feed: Arc::clone(self) }
    }

    /// Adds a durable append.
    pub(crate) fn push(&self, session: SessionKey, number: i64, lines: &Arc<EventLines>) {
        self.push_all(number, [(session, number, Arc::clone(lines))]);
    }

    /// Adds durable appends in the order of their numbers, which may be equal, up to the append with number `last`. All
    /// appends of a number are added at once: a reader never sees a part of them.
    pub(crate) fn push_all(&self, last: i64, appends: impl IntoIterator<Item = (SessionKey, i64, Arc<EventLines>)>) {
        let mut recent = self.lock();
        recent.last = last;
        if self.wakeup.receiver_count() == 0 {
            recent.clear();
            return;
        }
        for (session, number, lines) in appends {
            recent.bytes += lines.byte_len();
            recent.appends.push_back(RecentAppend { number, session, lines });
        }
        while recent.bytes > MAX_RECENT_BYTES || recent.appends.len() > MAX_RECENT_APPENDS {
            let Some(oldest) = recent.appends.pop_front() else { break };
            recent.bytes -= oldest.lines.byte_len();
            recent.complete_after = oldest.number;
        }
        drop(recent);
        self.wakeup.send_replace(());
    }

    /// Starts over after the append with this number, because what came before is not known here.
    pub(crate) fn restart(&self, last: i64) {
        let mut recent = self.lock();
        recent.last = last;
        recent.clear();
        drop(recent);
        self.wakeup.send_replace(());
    }

    /// Whether there are readers.
    pub(crate) fn has_readers(&self) -> bool {
        self.wakeup.receiver_count() > 0
    }

    /// Forgets the events of a deleted session.
    pub(crate) fn remove(&self, session: SessionKey) {
        let mut recent = self.lock();
        recent.appends.retain(|append| append.session != session);
        recent.bytes = recent.appends.iter().map(|append| append.lines.byte_len()).sum();
    }

    /// Tells readers that a session has changed, so that it may pass their filters or not any more.
    pub(crate) fn mark_changed(&self) {
        self.lock().changes += 1;
    }

    /// Number of the last durable append.
    pub(crate) fn last(&self) -> i64 {
        self.lock().last
    }

    fn lock(&self) -> MutexGuard<'_, Recent> {
        // A panic cannot leave it half-changed, so a poisoned lock can be used.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recent {
    fn clear(&mut self) {
        self.appends.clear();
        self.bytes = 0;
        self.complete_after = self.last;
    }

    /// The appends after a position, until a limit is reached.
    fn after(&self, position: Position, limits: ReadLimits) -> FeedRead {
        // An append of which a part was read is on the disk.
        if position < Position::end_of(self.complete_after) || position != Position::end_of(position.append) {
            return FeedRead::Behind;
        }
        let start = self.appends.partition_point(|append| append.number <= position.append);
        let (mut runs, mut events, mut bytes) = (Vec::<Run>::new(), 0, 0);
        for append in self.appends.range(start..) {
            // A position is behind all appends of its number.
            let is_full = events >= limits.max_events || bytes >= limits.max_bytes;
            if is_full && runs.last().is_some_and(|last| last.append != append.number) {
                break;
            }
            let batch = Batch::whole(&append.lines);
            (events, bytes) = (events + batch.len(), bytes + batch.byte_len());
            runs.push(Run { append: append.number, session: append.session, events: batch });
        }
        FeedRead::Runs(runs, self.changes)
    }
}

/// One reader's subscription.
#[derive(Debug)]
pub(crate) struct FeedSubscription {
    receiver: watch::Receiver<()>,
    feed: Arc<GlobalFeed>,
}

impl FeedSubscription {
    /// The appends after a position, until a limit is reached.
    pub(crate) fn after(&mut self, position: Position, limits: ReadLimits) -> FeedRead {
        self.receiver.mark_unchanged();
        self.feed.lock().after(position, limits)
    }

    /// Waits for an append after the last call of [`after`](Self::after).
    pub(crate) async fn changed(&mut self) -> Result<(), StoreError> {
        self.receiver.changed().await.map_err(|_| StoreError::Closed)
    }

    /// Position after the last durable append.
    pub(crate) fn end(&self) -> Position {
        Position::end_of(self.feed.lock().last)
    }
}

impl Drop for FeedSubscription {
    fn drop(&mut self) {
        let mut recent = self.feed.lock();
        // The receiver that is being dropped still counts.
        if self.feed.wakeup.receiver_count() <= 1 {
            recent.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(feed: &GlobalFeed, session: SessionKey, number: i64, bytes: usize) {
        let lines = EventLines::new(number.cast_unsigned(), "x".repeat(bytes), vec![bytes]);
        feed.push(session, number, &Arc::new(lines));
    }

    /// Numbers of the appends after a position; `None` if they are not in memory.
    fn numbers(subscription: &mut FeedSubscription, after: Position) -> Option<Vec<i64>> {
        match subscription.after(after, ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX }) {
            FeedRead::Runs(runs, _) => Some(runs.iter().map(|run| run.append).collect()),
            FeedRead::Behind => None,
        }
    }

    #[test]
    fn appends_are_kept_while_there_are_readers() {
        let feed = Arc::new(GlobalFeed::new(7));
        let session = SessionKey(1);
        push(&feed, session, 8, 1);
        let mut first = feed.subscribe();
        assert_eq!(numbers(&mut first, Position::end_of(7)), None);
        let end = Position::end_of(feed.last());
        assert_eq!(numbers(&mut first, end), Some(vec![]));
        let second = feed.subscribe();
        // Number 9 belongs to a transaction that failed.
        push(&feed, session, 10, 1);
        push(&feed, SessionKey(2), 11, 1);
        drop(second);
        assert_eq!(numbers(&mut first, Position::end_of(8)), Some(vec![10, 11]));
        assert_eq!(numbers(&mut first, Position::end_of(10)), Some(vec![11]));
        assert_eq!(numbers(&mut first, Position { append: 10, session, sequence: 1 }), None);
        feed.remove(session);
        assert_eq!(numbers(&mut first, Position::end_of(8)), Some(vec![11]));
        drop(first);
        assert_eq!(numbers(&mut feed.subscribe(), Position::end_of(10)), None);
    }

    #[test]
    fn the_oldest_appends_are_dropped_beyond_the_limit() {
        let feed = Arc::new(GlobalFeed::new(0));
        let mut subscription = feed.subscribe();
        for number in 1..=5 {
            push(&feed, SessionKey(1), number, MAX_RECENT_BYTES / 4);
        }
        assert_eq!(numbers(&mut subscription, Position::end_of(0)), None);
        assert_eq!(numbers(&mut subscription, Position::end_of(1)), Some(vec![2, 3, 4, 5]));
        push(&feed, SessionKey(1), 6, MAX_RECENT_BYTES + 1);
        assert_eq!(numbers(&mut subscription, Position::end_of(5)), None);
        assert_eq!(numbers(&mut subscription, Position::end_of(6)), Some(vec![]));
    }

    #[test]
    fn appends_of_one_number_are_read_together() {
        let feed = Arc::new(GlobalFeed::new(0));
        let mut subscription = feed.subscribe();
        let lines = || Arc::new(EventLines::new(1, "x".repeat(10), vec![10]));
        feed.push_all(7, [(SessionKey(1), 5, lines()), (SessionKey(2), 5, lines()), (SessionKey(1), 7, lines())]);
        let FeedRead::Runs(runs, _) =
            subscription.after(Position::end_of(0), ReadLimits { max_events: 1, max_bytes: 1 })
        else {
            panic!("expected appends in memory")
        };
        assert_eq!(runs.iter().map(|run| (run.append, run.session.0)).collect::<Vec<_>>(), [(5, 1), (5, 2)]);
        feed.restart(9);
        assert_eq!(numbers(&mut subscription, Position::end_of(7)), None);
        assert_eq!(numbers(&mut subscription, Position::end_of(9)), Some(vec![]));
    }

    #[test]
    fn a_read_ends_with_the_append_that_reaches_a_limit() {
        let feed = Arc::new(GlobalFeed::new(0));
        let mut subscription = feed.subscribe();
        for number in 1..=5 {
            push(&feed, SessionKey(1), number, 10);
        }
        let FeedRead::Runs(runs, 0) =
            subscription.after(Position::end_of(1), ReadLimits { max_events: 9, max_bytes: 11 })
        else {
            panic!("expected appends in memory")
        };
        assert_eq!(runs.iter().map(|run| run.append).collect::<Vec<_>>(), [2, 3]);
    }
}

//! Notifying readers about new events.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::events::EventLines;
use crate::global_feed::GlobalFeed;
use crate::{Batch, ReadLimits, SessionKey, StoreError};

/// The last durable sequence of a session, and whether more can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Not loaded yet.
    Unknown,
    /// The session is open; more events can follow.
    Open { last: u64 },
    /// The session has ended.
    Ended { last: u64 },
    /// The session was deleted.
    Deleted,
}

impl Tail {
    /// Whether `other` is a later state of the same session.
    pub(crate) fn is_before(self, other: Self) -> bool {
        let rank = |tail| match tail {
            Self::Unknown => (0, 0),
            Self::Open { last } => (1, last),
            Self::Ended { last } => (2, last),
            Self::Deleted => (3, 0),
        };
        rank(self) < rank(other)
    }
}

/// What a durable write tells the readers of a session.
#[derive(Debug)]
pub(crate) struct Notification {
    pub(crate) session: SessionKey,
    /// [`Tail::Unknown`] if the write changed the session but not its events.
    pub(crate) tail: Tail,
    /// The events of an append; `None` if there are none, or they are not in memory.
    pub(crate) lines: Option<Arc<EventLines>>,
}

/// What the readers of a session have been told so far.
#[derive(Debug)]
struct SessionFeed {
    tail: Tail,
    recent: RecentAppends,
}

/// The consecutive events of the last appends. Readers that keep up share them instead of reading from the disk.
/// Readers that are further behind cannot use them.
#[derive(Debug, Default)]
struct RecentAppends {
    appends: VecDeque<Arc<EventLines>>,
    bytes: usize,
}

/// Maximum size of the recent events of a session, which are kept while the session has readers. A larger append is
/// read from the disk.
const MAX_RECENT_BYTES: usize = 1024 * 1024;
/// Maximum number of recent appends of a session.
const MAX_RECENT_APPENDS: usize = 32;

impl RecentAppends {
    /// Adds an append, and drops the oldest ones beyond the limits.
    fn push(&mut self, lines: Arc<EventLines>) {
        self.bytes += lines.byte_len();
        self.appends.push_back(lines);
        while self.bytes > MAX_RECENT_BYTES || self.appends.len() > MAX_RECENT_APPENDS {
            let Some(oldest) = self.appends.pop_front() else { break };
            self.bytes -= oldest.byte_len();
        }
    }

    /// The events with a sequence higher than `after`; `None` if the next one is not here.
    fn after(&self, after: u64, limits: ReadLimits) -> Option<Batch> {
        self.appends.iter().rev().find_map(|lines| Batch::after(lines, after, limits))
    }
}

/// Notifies the readers of each session and those of all sessions. Sessions without readers have no entry.
#[derive(Debug)]
pub(crate) struct Notifier {
    sessions: Mutex<HashMap<SessionKey, watch::Sender<SessionFeed>>>,
    global: Arc<GlobalFeed>,
}

impl Notifier {
    /// `last_append` is the number of the last append that is durable.
    pub(crate) fn new(last_append: i64) -> Self {
        Self { sessions: Mutex::default(), global: Arc::new(GlobalFeed::new(last_append)) }
    }

    /// What the readers of all sessions are told.
    pub(crate) fn global(&self) -> &Arc<GlobalFeed> {
        &self.global
    }

    /// Subscribes to a session until the subscription is dropped.
    pub(crate) fn subscribe(self: &Arc<Self>, session: SessionKey) -> Subscription {
        let empty = || watch::Sender::new(SessionFeed { tail: Tail::Unknown, recent: RecentAppends::default() });
        let receiver = self.lock().entry(session).or_insert_with(empty).subscribe();
        Subscription { receiver, session, notifier: Arc::clone(self) }
    }

    /// Wakes the readers of the session, unless they know a later tail.
    pub(crate) fn notify(&self, notification: Notification) {
        let Notification { session, tail, lines } = notification;
        if let Some(sender) = self.lock().get(&session) {
            sender.send_if_modified(|feed| {
                let is_newer = feed.tail.is_before(tail);
                if is_newer {
                    feed.tail = tail;
                    if let Some(lines) = lines {
                        feed.recent.push(lines);
                    }
                }
                is_newer
            });
        }
    }

    /// The sessions that have readers, and the tails that the readers know.
    pub(crate) fn subscribed(&self) -> Vec<(SessionKey, Tail)> {
        self.lock().iter().map(|(session, sender)| (*session, sender.borrow().tail)).collect()
    }

    /// The tail that the readers of a session know; `None` if it has no readers.
    pub(crate) fn known_tail(&self, session: SessionKey) -> Option<Tail> {
        self.lock().get(&session).map(|sender| sender.borrow().tail)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, watch::Sender<SessionFeed>>> {
        // A panic cannot leave the map half-changed, so a poisoned lock can be used.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reader's subscription to a session.
#[derive(Debug)]
pub(crate) struct Subscription {
    receiver: watch::Receiver<SessionFeed>,
    session: SessionKey,
    notifier: Arc<Notifier>,
}

impl Subscription {
    /// The latest tail, and the events with a sequence higher than `after` if they are in memory.
    pub(crate) fn latest(&mut self, after: u64, limits: ReadLimits) -> (Tail, Option<Batch>) {
        let feed = self.receiver.borrow_and_update();
        (feed.tail, feed.recent.after(after, limits))
    }

    /// Waits until the tail changes after the last call of [`latest`](Self::latest).
    pub(crate) async fn changed(&mut self) -> Result<(), StoreError> {
        self.receiver.changed().await.map_err(|_| StoreError::Closed)
    }

    /// Tells all readers of the session the tail that was loaded from the database.
    pub(crate) fn publish_tail(&self, tail: Tail) {
        self.notifier.notify(Notification { session: self.session, tail, lines: None });
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut sessions = self.notifier.lock();
        // The receiver that is being dropped still counts.
        if sessions.get(&self.session).is_some_and(|sender| sender.receiver_count() <= 1) {
            sessions.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_without_readers_has_no_entry() {
        let notifier = Arc::new(Notifier::new(0));
        let key = SessionKey(1);
        let (first, second) = (notifier.subscribe(key), notifier.subscribe(key));
        drop(first);
        assert_eq!(notifier.lock().len(), 1);
        drop(second);
        assert!(notifier.lock().is_empty());
    }

    #[test]
    fn recent_appends_serve_readers_that_are_a_little_behind() {
        let all = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };
        let lines = |sequence, bytes| Arc::new(EventLines::new(sequence, "x".repeat(bytes), vec![bytes]));
        let mut recent = RecentAppends::default();
        for sequence in 1..=100 {
            recent.push(lines(sequence, 1));
        }
        let first = 101 - MAX_RECENT_APPENDS as u64;
        let found: Vec<bool> = (0..=100).map(|after| recent.after(after, all).is_some()).collect();
        let expected: Vec<bool> = (0..=100).map(|after| (first - 1..100).contains(&after)).collect();
        assert_eq!(found, expected);
        recent.push(lines(101, MAX_RECENT_BYTES));
        assert!(recent.after(99, all).is_none() && recent.after(100, all).is_some());
        recent.push(lines(102, MAX_RECENT_BYTES + 1));
        assert!(recent.after(101, all).is_none());
        assert_eq!((recent.bytes, recent.appends.len()), (0, 0));
    }

    #[test]
    fn an_older_tail_does_not_replace_a_newer_one() {
        let notifier = Arc::new(Notifier::new(0));
        let key = SessionKey(1);
        let mut subscription = notifier.subscribe(key);
        let notify = |tail| notifier.notify(Notification { session: key, tail, lines: None });
        let latest_tail =
            |subscription: &mut Subscription| subscription.latest(0, ReadLimits { max_events: 1, max_bytes: 1 }).0;
        notify(Tail::Open { last: 7 });
        subscription.publish_tail(Tail::Open { last: 5 });
        assert_eq!(latest_tail(&mut subscription), Tail::Open { last: 7 });
        notify(Tail::Ended { last: 8 });
        notify(Tail::Open { last: 9 });
        assert_eq!(latest_tail(&mut subscription), Tail::Ended { last: 8 });
    }
}

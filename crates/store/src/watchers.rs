//! Waking readers up.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::events::Lines;
use crate::{Batch, ReadLimits, SessionKey, StoreError};

/// How far a session's log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Nobody has looked yet.
    Unknown,
    /// The last durable event, with more to come.
    Open { last: u64 },
    /// The last event of all.
    Ended { last: u64 },
    /// The session is gone.
    Deleted,
}

impl Tail {
    /// Whether `other`, learnt at another time, is more recent.
    fn is_before(self, other: Self) -> bool {
        let rank = |tail| match tail {
            Self::Unknown => (0, 0),
            Self::Open { last } => (1, last),
            Self::Ended { last } => (2, last),
            Self::Deleted => (3, 0),
        };
        rank(self) < rank(other)
    }
}

/// What readers of a session are told.
#[derive(Debug)]
struct News {
    tail: Tail,
    recent: Recent,
}

/// The events of the last appends, each following the other. Readers that keep up take them from here instead of from
/// the disk, all of them the same; the others have no use for them.
#[derive(Debug, Default)]
struct Recent {
    appends: VecDeque<Arc<Lines>>,
    bytes: usize,
}

/// So many bytes of events are kept for as long as somebody reads the session. An append that is longer is left to the
/// disk.
const MOST_RECENT: usize = 1024 * 1024;
/// So many appends are kept, however short.
const MOST_APPENDS: usize = 32;

impl Recent {
    /// Takes in what was appended.
    fn add(&mut self, lines: Arc<Lines>) {
        self.bytes += lines.bytes();
        self.appends.push_back(lines);
        while self.bytes > MOST_RECENT || self.appends.len() > MOST_APPENDS {
            let Some(oldest) = self.appends.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// What follows an event, if that is here.
    fn after(&self, after: u64, limits: ReadLimits) -> Option<Batch> {
        self.appends.iter().rev().find_map(|lines| Batch::after(lines, after, limits))
    }
}

/// The sessions that somebody reads.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    sessions: Mutex<HashMap<SessionKey, watch::Sender<News>>>,
}

impl Watchers {
    /// Watches a session until the subscription is dropped.
    pub(crate) fn subscribe(self: &Arc<Self>, session: SessionKey) -> Subscription {
        let nothing = || watch::Sender::new(News { tail: Tail::Unknown, recent: Recent::default() });
        let receiver = self.lock().entry(session).or_insert_with(nothing).subscribe();
        Subscription { receiver, session, watchers: Arc::clone(self) }
    }

    /// Tells whoever reads the session how far its log goes, and which events were last added, if that is why.
    pub(crate) fn tell(&self, session: SessionKey, tail: Tail, recent: Option<Arc<Lines>>) {
        if let Some(sender) = self.lock().get(&session) {
            sender.send_if_modified(|known| {
                let is_news = known.tail.is_before(tail);
                if is_news {
                    known.tail = tail;
                    if let Some(lines) = recent {
                        known.recent.add(lines);
                    }
                }
                is_news
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, watch::Sender<News>>> {
        // A map of senders is whole at any moment, whatever panicked while holding it.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reader's watch over a session.
#[derive(Debug)]
pub(crate) struct Subscription {
    receiver: watch::Receiver<News>,
    session: SessionKey,
    watchers: Arc<Watchers>,
}

impl Subscription {
    /// How far the log goes, and what follows an event, if that is at hand.
    pub(crate) fn look(&mut self, after: u64, limits: ReadLimits) -> (Tail, Option<Batch>) {
        let news = self.receiver.borrow_and_update();
        (news.tail, news.recent.after(after, limits))
    }

    /// Waits until the tail is another than the one last seen.
    pub(crate) async fn changed(&mut self) -> Result<(), StoreError> {
        self.receiver.changed().await.map_err(|_| StoreError::Closed)
    }

    /// Passes on what was read from the database.
    pub(crate) fn learn(&self, tail: Tail) {
        self.watchers.tell(self.session, tail, None);
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut sessions = self.watchers.lock();
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
    fn a_session_that_nobody_reads_is_forgotten() {
        let watchers = Arc::new(Watchers::default());
        let key = SessionKey(1);
        let (first, second) = (watchers.subscribe(key), watchers.subscribe(key));
        drop(first);
        assert_eq!(watchers.lock().len(), 1);
        drop(second);
        assert!(watchers.lock().is_empty());
    }

    #[test]
    fn a_reader_that_is_a_little_behind_finds_all_of_it_at_hand() {
        let all = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };
        let lines = |sequence, bytes| Arc::new(Lines::new(sequence, "x".repeat(bytes), vec![bytes]));
        let mut recent = Recent::default();
        for sequence in 1..=100 {
            recent.add(lines(sequence, 1));
        }
        let first = 101 - MOST_APPENDS as u64;
        let found: Vec<bool> = (0..=100).map(|after| recent.after(after, all).is_some()).collect();
        let expected: Vec<bool> = (0..=100).map(|after| (first - 1..100).contains(&after)).collect();
        assert_eq!(found, expected);
        recent.add(lines(101, MOST_RECENT));
        assert!(recent.after(99, all).is_none() && recent.after(100, all).is_some());
        recent.add(lines(102, MOST_RECENT + 1));
        assert!(recent.after(101, all).is_none());
        assert_eq!((recent.bytes, recent.appends.len()), (0, 0));
    }

    #[test]
    fn old_news_does_not_take_a_reader_back() {
        let watchers = Arc::new(Watchers::default());
        let key = SessionKey(1);
        let mut subscription = watchers.subscribe(key);
        let tail = |subscription: &mut Subscription| subscription.look(0, ReadLimits { max_events: 1, max_bytes: 1 }).0;
        watchers.tell(key, Tail::Open { last: 7 }, None);
        subscription.learn(Tail::Open { last: 5 });
        assert_eq!(tail(&mut subscription), Tail::Open { last: 7 });
        watchers.tell(key, Tail::Ended { last: 8 }, None);
        watchers.tell(key, Tail::Open { last: 9 }, None);
        assert_eq!(tail(&mut subscription), Tail::Ended { last: 8 });
    }
}

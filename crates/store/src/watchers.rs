//! Waking readers up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::events::Lines;
use crate::{Batch, Error, Limits, SessionKey};

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
    /// The events of the last append. Readers that keep up take them from here instead of from the disk, all of them
    /// the same; the others have no use for them.
    recent: Option<Arc<Lines>>,
}

/// An append that is longer than this is left to the disk: it is kept for as long as somebody reads the session.
const MOST_RECENT: usize = 64 * 1024;

/// The sessions that somebody reads.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    sessions: Mutex<HashMap<SessionKey, watch::Sender<News>>>,
}

impl Watchers {
    /// Watches a session until the subscription is dropped.
    pub(crate) fn subscribe(self: &Arc<Self>, session: SessionKey) -> Subscription {
        let nothing = || watch::Sender::new(News { tail: Tail::Unknown, recent: None });
        let receiver = self.lock().entry(session).or_insert_with(nothing).subscribe();
        Subscription { receiver, session, watchers: Arc::clone(self) }
    }

    /// Tells whoever reads the session how far its log goes, and which events were last added, if that is why.
    pub(crate) fn tell(&self, session: SessionKey, tail: Tail, recent: Option<Arc<Lines>>) {
        if let Some(sender) = self.lock().get(&session) {
            sender.send_if_modified(|known| {
                let is_news = known.tail.is_before(tail);
                if is_news {
                    *known = News { tail, recent: recent.filter(|lines| lines.bytes() <= MOST_RECENT) };
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
    pub(crate) fn look(&mut self, after: u64, limits: Limits) -> (Tail, Option<Batch>) {
        let news = self.receiver.borrow_and_update();
        (news.tail, news.recent.as_ref().and_then(|lines| Batch::after(lines, after, limits)))
    }

    /// Waits until the tail is another than the one last seen.
    pub(crate) async fn changed(&mut self) -> Result<(), Error> {
        self.receiver.changed().await.map_err(|_| Error::Closed)
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
    fn old_news_does_not_take_a_reader_back() {
        let watchers = Arc::new(Watchers::default());
        let key = SessionKey(1);
        let mut subscription = watchers.subscribe(key);
        let tail = |subscription: &mut Subscription| subscription.look(0, Limits { events: 1, bytes: 1 }).0;
        watchers.tell(key, Tail::Open { last: 7 }, None);
        subscription.learn(Tail::Open { last: 5 });
        assert_eq!(tail(&mut subscription), Tail::Open { last: 7 });
        watchers.tell(key, Tail::Ended { last: 8 }, None);
        watchers.tell(key, Tail::Open { last: 9 }, None);
        assert_eq!(tail(&mut subscription), Tail::Ended { last: 8 });
    }
}

//! The leases that this process holds.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::lease::AgentPlace;
use crate::{Lease, SessionKey};

/// What an append shows of its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseKey {
    pub(crate) epoch: i64,
}

/// The leases that this process holds, as far as it knows.
#[derive(Debug, Default)]
pub(crate) struct HeldLeases(Mutex<HashMap<SessionKey, Held>>);

#[derive(Debug)]
struct Held {
    epoch: i64,
    lost: watch::Sender<bool>,
}

impl HeldLeases {
    /// Adds a lease. An older one of the same session is lost.
    pub(crate) fn insert(&self, session: SessionKey, epoch: i64, place: AgentPlace) -> Lease {
        let (lost, is_lost) = watch::channel(false);
        if let Some(older) = self.lock().insert(session, Held { epoch, lost }) {
            older.lost.send_replace(true);
        }
        Lease::shared(session, epoch, place, is_lost)
    }

    /// Marks a lease as lost, because another server owns the session.
    pub(crate) fn lose(&self, session: SessionKey, epoch: i64) {
        let mut held = self.lock();
        if held.get(&session).is_some_and(|lease| lease.epoch == epoch)
            && let Some(lease) = held.remove(&session)
        {
            lease.lost.send_replace(true);
        }
    }

    /// Removes a lease that is released.
    pub(crate) fn remove(&self, session: SessionKey, epoch: i64) {
        let mut held = self.lock();
        if held.get(&session).is_some_and(|lease| lease.epoch == epoch) {
            held.remove(&session);
        }
    }

    /// Number of leases.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// The epochs of all leases.
    pub(crate) fn epochs(&self) -> Vec<(SessionKey, i64)> {
        self.lock().iter().map(|(session, held)| (*session, held.epoch)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lease_is_lost_to_a_later_one_and_only_by_its_epoch() {
        let held = HeldLeases::default();
        let session = SessionKey(1);
        let mut first = held.insert(session, 1, AgentPlace::Here);
        let mut second = held.insert(session, 2, AgentPlace::Here);
        first.lost().await;
        held.lose(session, 1);
        held.remove(session, 1);
        assert_eq!(held.epochs(), [(session, 2)]);
        held.lose(session, 2);
        second.lost().await;
        assert_eq!(held.count(), 0);
    }
}

//! Renewing the leases of this server, and finding out when they are lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use crate::SessionKey;
use crate::postgres::connection::{Connector, DbClient};
use crate::postgres::error::DbError;
use crate::postgres::lease::HeldLeases;
use crate::postgres::listener::Inbox;
use crate::postgres::member::Member;
use crate::postgres::outbox::{Outbox, Signal};

/// Number of heartbeats in the duration of a lease.
const BEATS_PER_LEASE: u32 = 3;
/// How long giving the leases back may take.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The heartbeat of this server.
pub(crate) struct Heartbeat {
    member: Member,
    connector: Arc<Connector>,
    leases: Arc<HeldLeases>,
    outbox: Outbox,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// When the last heartbeat arrived.
    renewed_at: Instant,
    /// Since when heartbeats arrive in time, after they did not; `None` if they always have.
    recovered_at: Option<Instant>,
}

impl Heartbeat {
    pub(crate) fn new(member: Member, connector: Arc<Connector>, leases: Arc<HeldLeases>, outbox: Outbox) -> Self {
        let state = Mutex::new(State { renewed_at: Instant::now(), recovered_at: None });
        Self { member, connector, leases, outbox, state }
    }

    pub(crate) fn member(&self) -> &Member {
        &self.member
    }

    /// Time since the last heartbeat arrived.
    pub(crate) fn age(&self) -> Duration {
        self.state().renewed_at.elapsed()
    }

    /// Whether this server may take the sessions of servers whose leases have expired.
    ///
    /// If it was cut off itself, the others may have been too. It gives them the time to renew their leases.
    pub(crate) fn may_take_over(&self) -> bool {
        let state = self.state();
        let is_late = state.renewed_at.elapsed() >= self.member.lease;
        !is_late && state.recovered_at.is_none_or(|at| at.elapsed() >= self.member.lease)
    }

    /// Renews the leases for ever.
    pub(crate) async fn run(&self, inbox: &Inbox) {
        let interval = self.member.lease / BEATS_PER_LEASE;
        let mut client = None;
        loop {
            sleep(interval).await;
            let started = Instant::now();
            match timeout(interval, self.beat(&mut client)).await.unwrap_or(Err(DbError::Timeout)) {
                Ok(had_expired) => {
                    self.observe_renewal(started, had_expired);
                    self.outbox.send(Signal::Ping { server: self.member.id, number: inbox.lag.start() });
                }
                Err(error) => {
                    tracing::debug!(error = error.describe(), "cannot renew the leases of this server yet");
                    client = None;
                }
            }
        }
    }

    fn observe_renewal(&self, started: Instant, had_expired: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Also if the process was paused: its clock goes on.
        if had_expired || state.renewed_at.elapsed() >= self.member.lease {
            state.recovered_at = Some(Instant::now());
        }
        state.renewed_at = started;
    }

    /// Renews the leases. If they had expired, finds out which of them others have taken.
    async fn beat(&self, client: &mut Option<DbClient>) -> Result<bool, DbError> {
        let client = match client.take().filter(|client| !client.is_closed()) {
            Some(open) => client.insert(open),
            None => client.insert(self.connector.connect().await?),
        };
        let had_expired = self.member.renew(client).await?;
        if had_expired || self.age() >= self.member.lease {
            self.find_lost(client).await?;
        }
        Ok(had_expired)
    }

    async fn find_lost(&self, client: &DbClient) -> Result<(), DbError> {
        let held = self.leases.epochs();
        if held.is_empty() {
            return Ok(());
        }
        let sessions: Vec<i64> = held.iter().map(|(session, _)| session.0).collect();
        let owned: HashMap<SessionKey, i64> = self.member.owned(client, &sessions).await?.into_iter().collect();
        for (session, epoch) in held {
            if owned.get(&session) != Some(&epoch) {
                self.leases.lose(session, epoch);
            }
        }
        Ok(())
    }

    /// Gives all leases back, and tells the other servers.
    pub(crate) async fn leave(&self) {
        let leaving = async {
            let client = self.connector.connect().await?;
            self.member.leave(&client).await
        };
        match timeout(LEAVE_TIMEOUT, leaving).await.unwrap_or(Err(DbError::Timeout)) {
            Ok(()) => self.outbox.send(Signal::Work { session: SessionKey(0), server: None }),
            Err(error) => {
                tracing::warn!(error = error.describe(), "cannot give the leases back; they expire by themselves");
            }
        }
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

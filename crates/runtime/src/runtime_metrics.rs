//! Counters of what the runtime does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlingua_schema::TurnEnded;
use interlingua_store::{SessionKey, StoreUsage};

use crate::error::RuntimeError;
use crate::histogram::Histogram;
use crate::runtime::Runtime;

/// Counters of what the runtime does.
#[derive(Debug, Default)]
pub(crate) struct RuntimeMetrics {
    counters: Mutex<MetricsSnapshot>,
    /// Sessions whose agent died in the middle of its work, and was not started again since.
    died: Mutex<BTreeSet<SessionKey>>,
}

/// Counters since the runtime was started.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MetricsSnapshot {
    /// How many turns have ended, by agent and status.
    pub turns: BTreeMap<(&'static str, String), u64>,
    /// How long they took, by agent.
    pub turn_durations: BTreeMap<&'static str, Histogram>,
    /// How long messages waited for their turns.
    pub message_waits: Histogram,
    /// How often an agent was started again after it had died, by agent.
    pub agent_restarts: BTreeMap<&'static str, u64>,
    /// Number of sessions that work at the moment.
    pub working_sessions: usize,
}

impl Runtime {
    /// Counters since the runtime was started.
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        let shared = self.agents().into_iter().filter_map(|agent| Some((agent.id, agent.server?.restart_count)));
        self.shared.metrics.snapshot(shared, self.shared.running_turns.count())
    }

    /// What the store contains: sessions by state, queued messages, and its size.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn store_usage(&self) -> Result<StoreUsage, RuntimeError> {
        let complete = self.shared.complete_secrets.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(self.shared.store.usage(complete).await?)
    }
}

impl RuntimeMetrics {
    fn lock(&self) -> MutexGuard<'_, MetricsSnapshot> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent of a session died in the middle of its work.
    pub(crate) fn observe_death(&self, session: SessionKey) {
        self.died.lock().unwrap_or_else(PoisonError::into_inner).insert(session);
    }

    /// The agent of a session is started. Counts if it died before.
    pub(crate) fn observe_start(&self, agent: &'static str, session: SessionKey) {
        if self.forget(session) {
            *self.lock().agent_restarts.entry(agent).or_default() += 1;
        }
    }

    /// Forgets that the agent of a session died. Returns whether it did.
    pub(crate) fn forget(&self, session: SessionKey) -> bool {
        self.died.lock().unwrap_or_else(PoisonError::into_inner).remove(&session)
    }

    pub(crate) fn observe_turn(&self, agent: &'static str, ended: &TurnEnded) {
        let mut counters = self.lock();
        *counters.turns.entry((agent, ended.status.to_string())).or_default() += 1;
        let duration = Duration::from_millis(ended.duration_ms);
        counters.turn_durations.entry(agent).or_default().observe(duration);
    }

    /// Observes how many milliseconds a message waited. The clock may have been set back meanwhile.
    pub(crate) fn observe_wait(&self, millis: i64) {
        self.lock().message_waits.observe(Duration::from_millis(u64::try_from(millis).unwrap_or_default()));
    }

    /// The counters, with the restarts of processes that sessions share.
    pub(crate) fn snapshot(
        &self,
        shared_restarts: impl Iterator<Item = (&'static str, u64)>,
        working_sessions: usize,
    ) -> MetricsSnapshot {
        let mut counters = MetricsSnapshot { working_sessions, ..self.lock().clone() };
        for (agent, restarts) in shared_restarts {
            // Each session of a process that died starts it again, but it is one restart.
            counters.agent_restarts.insert(agent, restarts);
        }
        counters
    }
}

//! What the readers of events need from the store.

use crate::global_cursor::Position;
use crate::global_feed::Run;
use crate::notifier::Tail;
use crate::postgres::PostgresStore;
use crate::store::{Backend, Store, StoredEvents};
use crate::{RawPayloads, ReadLimits, SessionFilter, SessionKey, StoreError};

impl Store {
    pub(crate) async fn load_tail(&self, session: SessionKey) -> Result<Tail, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.load_tail(session).await,
            Backend::Postgres(store) => store.load_tail(session).await,
        }
    }

    /// Begins to read the stored events after a position, of the sessions that pass the filter.
    pub(crate) async fn load_stored(
        &self,
        filter: &SessionFilter,
        position: Position,
    ) -> Result<StoredEvents, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.load_merge(filter, position).await.map(StoredEvents::Sqlite),
            Backend::Postgres(_) => Ok(StoredEvents::Postgres(PostgresStore::stored_runs(filter, position))),
        }
    }

    /// Reads the next events up to the limits; none at the end.
    pub(crate) async fn read_stored(
        &self,
        stored: StoredEvents,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<(StoredEvents, Vec<Run>), StoreError> {
        match (&self.backend, stored) {
            (Backend::Sqlite(store), StoredEvents::Sqlite(merge)) => {
                let (merge, runs) = store.read_merge(merge, limits, raw).await?;
                Ok((StoredEvents::Sqlite(merge), runs))
            }
            (Backend::Postgres(store), StoredEvents::Postgres(stored)) => {
                let (stored, runs) = store.read_runs(stored, limits, raw).await?;
                Ok((StoredEvents::Postgres(stored), runs))
            }
            // Both come from the same store.
            _ => Err(StoreError::Closed),
        }
    }

    /// Those of the sessions that pass a filter.
    pub(crate) async fn filter_sessions(
        &self,
        filter: &SessionFilter,
        sessions: Vec<SessionKey>,
    ) -> Result<Vec<SessionKey>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.filter_sessions(filter, sessions).await,
            Backend::Postgres(store) => store.filter_sessions(filter, sessions).await,
        }
    }

    /// Reads the events of appends again, with their payloads.
    pub(crate) async fn read_payloads(&self, runs: Vec<Run>) -> Result<Vec<Run>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.read_payloads(runs).await,
            Backend::Postgres(store) => store.read_payloads(runs).await,
        }
    }
}

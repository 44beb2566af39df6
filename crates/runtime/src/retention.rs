//! Deleting sessions that have not changed for a long time.

use std::time::Duration;

use interlingua_schema::Timestamp;
use interlingua_store::{Session, SessionFilter, SessionState};

use crate::driver_output::now;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The label that keeps a session, and its value.
const PINNED: (&str, &str) = ("pinned", "true");

/// Number of sessions that are read at once.
const PAGE_SESSIONS: usize = 256;

impl Runtime {
    /// Deletes the sessions that have not changed for `age`, except those that work or wait for an answer, and those with
    /// the label `pinned=true`. Returns how many were deleted.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn delete_unchanged(&self, age: Duration) -> Result<u64, RuntimeError> {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let limit = Timestamp::from_millis(now().as_millis().saturating_sub(age));
        let (mut deleted, mut from) = (0, None);
        loop {
            let page = self.shared.store.sessions(&SessionFilter::default(), PAGE_SESSIONS, from).await?;
            for session in page.sessions.into_iter().filter(|session| self.is_expired(session, limit)) {
                deleted += u64::from(self.delete_if_expired(session, limit).await?);
            }
            from = page.next;
            if from.is_none() {
                return Ok(deleted);
            }
        }
    }

    fn is_expired(&self, session: &Session, limit: Timestamp) -> bool {
        let is_pinned = session.labels.get(PINNED.0).is_some_and(|value| value == PINNED.1);
        let is_active = || matches!(self.status(session).state, SessionState::Running | SessionState::Waiting);
        session.updated_at < limit && !is_pinned && !is_active()
    }

    /// Deletes a session, unless it has changed since it was listed.
    async fn delete_if_expired(&self, listed: Session, limit: Timestamp) -> Result<bool, RuntimeError> {
        let current = self.shared.store.session(&listed.id).await?;
        if !current.is_some_and(|session| session.key == listed.key && self.is_expired(&session, limit)) {
            return Ok(false);
        }
        match self.delete(&listed.id).await {
            Ok(()) => {
                tracing::info!(session = %listed.id, agent = listed.agent, "deleted a session that did not change any more");
                Ok(true)
            }
            Err(RuntimeError::SessionNotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

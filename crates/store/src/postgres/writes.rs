//! The writes other than appends: create, change and delete a session, enqueue and cancel a message, take and release a
//! lease.

use interlingua_schema::Timestamp;

use crate::lease::LeaseHolder;
use crate::notifier::{Notification, Tail};
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::lane::LaneWrite;
use crate::postgres::limits::Limits;
use crate::postgres::member::{AcquiredRow, Member};
use crate::postgres::message::{self, EncodedMessage};
use crate::postgres::session;
use crate::{Enqueued, MessageId, NewSession, Session, SessionChanges, SessionKey, StoreError};

/// Approximate number of bytes of a session without events.
const SESSION_BYTES: usize = 1024;

/// Creates a session.
pub(crate) struct CreateSession {
    pub(crate) session: NewSession,
    /// Tells an attempt whose answer was lost from a session that another client has created.
    pub(crate) nonce: i64,
    pub(crate) limits: Limits,
    pub(crate) time: Timestamp,
}

impl LaneWrite for CreateSession {
    type Output = Session;

    async fn run(&self, client: &DbClient, _: bool) -> Result<Session, DbError> {
        let config_bytes = self.session.config.as_ref().map_or(0, |config| config.as_str().len());
        self.limits.check_store(SESSION_BYTES + config_bytes)?;
        let created = session::insert(client, &self.session, self.nonce, self.time).await?;
        created.ok_or_else(|| StoreError::SessionAlreadyExists(self.session.id.clone()).into())
    }
}

/// Adds a message to the end of a session's queue.
pub(crate) struct EnqueueMessage {
    pub(crate) session: SessionKey,
    pub(crate) message: Result<EncodedMessage, StoreError>,
    pub(crate) limits: Limits,
}

impl LaneWrite for EnqueueMessage {
    type Output = Enqueued;

    async fn run(&self, client: &DbClient, _: bool) -> Result<Enqueued, DbError> {
        let message = self.message.as_ref().map_err(Clone::clone)?;
        let bytes = message.byte_len();
        self.limits.check_addition(client, self.session, bytes).await?;
        self.limits.check_store(bytes)?;
        message.insert(client, self.session).await
    }
}

/// Removes a message from a session's queue.
pub(crate) struct CancelMessage {
    pub(crate) session: SessionKey,
    pub(crate) message: MessageId,
}

impl LaneWrite for CancelMessage {
    type Output = bool;

    async fn run(&self, client: &DbClient, is_retry: bool) -> Result<bool, DbError> {
        let is_cancelled = message::cancel(client, self.session, self.message).await?;
        // The attempt before may have done it.
        Ok(is_cancelled || is_retry && message::is_cancelled(client, self.message).await?)
    }
}

/// Changes what a session was created with.
pub(crate) struct UpdateSession {
    pub(crate) session: SessionKey,
    pub(crate) changes: SessionChanges,
    pub(crate) time: Timestamp,
}

impl LaneWrite for UpdateSession {
    type Output = Session;

    async fn run(&self, client: &DbClient, _: bool) -> Result<Session, DbError> {
        let updated = session::update(client, self.session, &self.changes, self.time).await?;
        let session = updated.session.ok_or(StoreError::SessionNotFound)?;
        if updated.is_done {
            return Ok(session);
        }
        let mut labels = session.labels;
        for (name, value) in &self.changes.labels {
            match value {
                Some(value) => labels.insert(name.clone(), value.clone()),
                None => labels.remove(name),
            };
        }
        Err(StoreError::TooManyLabels { found: labels.len() }.into())
    }

    fn notification(&self) -> Option<Notification> {
        Some(Notification { session: self.session, tail: Tail::Unknown, lines: None })
    }
}

/// Deletes a session. Its events and messages are removed afterwards (see `purge`).
pub(crate) struct DeleteSession {
    pub(crate) session: SessionKey,
    /// Only if the session has this number of events, and never had a message or a file.
    pub(crate) unchanged_since: Option<u64>,
}

impl LaneWrite for DeleteSession {
    type Output = ();

    async fn run(&self, client: &DbClient, is_retry: bool) -> Result<(), DbError> {
        const DELETE: &str = "WITH gone AS (DELETE FROM sessions WHERE key = $1 AND ($2::bigint IS NULL \
                 OR event_count = $2 AND NOT EXISTS (SELECT 1 FROM messages WHERE session = $1) \
                 AND NOT EXISTS (SELECT 1 FROM uploads WHERE session = $1)) RETURNING key) \
             INSERT INTO deleted_sessions (session) SELECT key FROM gone";
        let unchanged_since = self.unchanged_since.map(u64::cast_signed);
        if client.execute(DELETE, &[&self.session.0, &unchanged_since]).await? > 0 {
            return Ok(());
        }
        let exists = client.query_opt("SELECT 1 FROM sessions WHERE key = $1", &[&self.session.0]).await?.is_some();
        match (exists, is_retry) {
            (true, _) => Err(StoreError::SessionChanged.into()),
            // The attempt before may have done it.
            (false, true) => Ok(()),
            (false, false) => Err(StoreError::SessionNotFound.into()),
        }
    }

    fn notification(&self) -> Option<Notification> {
        Some(Notification { session: self.session, tail: Tail::Deleted, lines: None })
    }
}

/// Takes the lease of a session.
pub(crate) struct AcquireLease {
    pub(crate) session: SessionKey,
    pub(crate) member: Member,
    /// Whether the sessions of servers whose leases have expired can be taken.
    pub(crate) may_take_over: bool,
}

/// The answer to an attempt to take a lease.
pub(crate) enum AcquireAnswer {
    Acquired(AcquiredRow),
    HeldBy(LeaseHolder),
}

impl LaneWrite for AcquireLease {
    type Output = AcquireAnswer;

    async fn run(&self, client: &DbClient, _: bool) -> Result<AcquireAnswer, DbError> {
        if let Some(row) = self.member.acquire(client, self.session, self.may_take_over).await? {
            return Ok(AcquireAnswer::Acquired(row));
        }
        let find_owner = "SELECT s.ended, s.owner, v.name FROM sessions AS s \
             LEFT JOIN servers AS v ON v.id = s.owner WHERE s.key = $1";
        let Some(row) = client.query_opt(find_owner, &[&self.session.0]).await? else {
            return Err(StoreError::SessionNotFound.into());
        };
        if row.get(0) {
            return Err(StoreError::SessionEnded.into());
        }
        let server = row.get::<_, Option<String>>(2).unwrap_or_else(|| "another server".to_owned());
        Ok(AcquireAnswer::HeldBy(LeaseHolder { server, id: row.get::<_, Option<i64>>(1).unwrap_or_default() }))
    }
}

/// Gives a lease back.
pub(crate) struct ReleaseLease {
    pub(crate) session: SessionKey,
    pub(crate) epoch: i64,
}

impl LaneWrite for ReleaseLease {
    type Output = ();

    async fn run(&self, client: &DbClient, _: bool) -> Result<(), DbError> {
        client
            .execute("UPDATE sessions SET owner = NULL WHERE key = $1 AND epoch = $2", &[&self.session.0, &self.epoch])
            .await?;
        Ok(())
    }
}

/// Commits nothing of importance, to find out how long a commit takes.
pub(crate) struct Probe;

impl LaneWrite for Probe {
    type Output = ();

    async fn run(&self, client: &DbClient, _: bool) -> Result<(), DbError> {
        client.execute("UPDATE store_state SET store_id = store_id", &[]).await.map(drop)
    }
}

//! The store itself.

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use interlingua_schema::{Message, SessionId};
use tokio::sync::oneshot;

use crate::job::{AppendEvents, CreateSession, DeleteSession, EnqueueMessage, Write};
use crate::pool::Pool;
use crate::watchers::{Tail, Watchers};
use crate::writer::Writer;
use crate::{
    Append, Batch, EventReader, MessageId, NewSession, OpenError, QueuedMessage, RawPayloads, ReadLimits, Session,
    SessionKey, StoreError, StoreOptions, StoredSessionPage, StoredState, database, events, message, session,
};

/// The durable log of sessions and events. Cloning it copies a pointer.
///
/// When the last clone is dropped, what is queued is committed and the folder is free for the next process.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    // Dropped in this order: the writer commits what is queued while the pool and the lock are still there.
    writer: Writer,
    watchers: Arc<Watchers>,
    pool: Pool,
    _lock: crate::lock::Lock,
}

/// What a store has done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Events that were appended.
    pub events: u64,
    /// Transactions that were committed.
    pub commits: u64,
    /// Requests that were refused because the database failed or the disk was full.
    pub failures: u64,
}

/// A write that is on its way: resolves when it is durable, or with the reason why it was refused.
///
/// Writes happen in the order in which they were asked for. Dropping this does not take the write back.
#[must_use = "a write is not durable until this resolves"]
#[derive(Debug)]
pub struct PendingWrite<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> Future for PendingWrite<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // A writer that is gone dropped the sender.
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// Opens the store in a folder, which is made if it is not there.
    ///
    /// # Errors
    ///
    /// If the folder or the database in it cannot be used, or another process uses it.
    pub fn open(folder: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let opened = database::open(folder, options)?;
        let watchers = Arc::new(Watchers::default());
        let writer = Writer::start(opened.connection, &opened.file, Arc::clone(&watchers))?;
        let pool = Pool::new(opened.file);
        Ok(Self { shared: Arc::new(Shared { writer, watchers, pool, _lock: opened.lock }) })
    }

    /// Creates a session.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionAlreadyExists`] if there is one of that name.
    pub fn create(&self, session: NewSession) -> PendingWrite<Session> {
        self.write(CreateSession::new(session))
    }

    /// Appends events to a session, and whatever becomes true with them.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::OutOfOrder`] if the events do not follow the session's last one, [`StoreError::SessionEnded`] if there
    /// can be no more, [`StoreError::SessionNotFound`] if it was deleted.
    pub fn append(&self, session: SessionKey, append: Append) -> PendingWrite<()> {
        self.write(AppendEvents::new(session, append))
    }

    /// Puts a message at the end of a session's queue.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionEnded`] or [`StoreError::SessionNotFound`] if nobody will ever take it.
    pub fn enqueue(&self, session: SessionKey, message: Message) -> PendingWrite<MessageId> {
        self.write(EnqueueMessage::new(session, message))
    }

    /// Removes a session with all its events and messages.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionNotFound`] if it is not there.
    pub fn delete(&self, session: SessionKey) -> PendingWrite<()> {
        self.write(DeleteSession::new(session))
    }

    /// The session of that name.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let id = id.clone();
        self.shared.pool.look_up(move |connection| session::by_id(connection, &id)).await
    }

    /// At most `limit` sessions, newest first, beginning after the session at which the last page ended.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn sessions(&self, limit: usize, from: Option<SessionKey>) -> Result<StoredSessionPage, StoreError> {
        self.shared.pool.run(move |connection| session::page(connection, limit, from)).await
    }

    /// The sessions that were in the middle of something when the last process ended, or have messages waiting;
    /// oldest first. Meant to be asked once, before anything new begins.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn interrupted_sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.shared.pool.run(session::interrupted).await
    }

    /// What is kept for the runtime with a session.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionNotFound`] if it is not there, or if the database fails.
    pub async fn load_state(&self, session: SessionKey) -> Result<StoredState, StoreError> {
        self.shared.pool.look_up(move |connection| session::load_state(connection, session)).await
    }

    /// The message that waits longest, if any.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn next_message(&self, session: SessionKey) -> Result<Option<QueuedMessage>, StoreError> {
        self.shared.pool.look_up(move |connection| message::next(connection, session)).await
    }

    /// The events after `after`, as far as they are there and the limits allow.
    ///
    /// # Errors
    ///
    /// If the database fails. A session that is not there has no events.
    pub async fn read(
        &self,
        session: SessionKey,
        after: u64,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<Batch, StoreError> {
        self.shared.pool.run(move |connection| events::read(connection, session, after, limits, raw)).await
    }

    /// A cursor that stands after `after`, the sequence of an event; 0 is the beginning.
    #[must_use]
    pub fn reader(&self, session: SessionKey, after: u64, raw: RawPayloads) -> EventReader {
        EventReader::new(self.clone(), self.shared.watchers.subscribe(session), session, after, raw)
    }

    /// What was done since the store was opened.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        self.shared.writer.stats()
    }

    pub(crate) async fn tail(&self, session: SessionKey) -> Result<Tail, StoreError> {
        self.shared.pool.look_up(move |connection| session::tail(connection, session)).await
    }

    fn write<W: Write>(&self, write: W) -> PendingWrite<W::Output> {
        let (answer, pending) = oneshot::channel();
        self.shared.writer.send(write, answer);
        PendingWrite(pending)
    }
}

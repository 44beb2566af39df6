//! The messages of a session: those that wait for their turn, and what is left of the others.
//!
//! A message keeps its row when it leaves the queue, without its text. The row has the message's public id and the
//! fingerprint of the request that brought it, so that a client which repeats the request after a broken connection does
//! not queue the message twice, even if the server was killed in between.

use interlingua_schema::{Message, Timestamp};

/// The store's key of a message. Later messages have greater keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub(crate) i64);

/// A message to queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewMessage {
    /// Id of the message for clients, unique in its session.
    pub public_id: String,
    /// The message.
    pub message: Message,
    /// Tells requests with the same id apart: equal for equal requests only.
    pub fingerprint: Vec<u8>,
}

impl NewMessage {
    /// A message with this id, without a fingerprint.
    #[must_use]
    pub fn new(public_id: impl Into<String>, message: Message) -> Self {
        Self { public_id: public_id.into(), message, fingerprint: Vec::new() }
    }

    /// Sets the fingerprint of the request.
    #[must_use]
    pub fn fingerprint(mut self, fingerprint: Vec<u8>) -> Self {
        self.fingerprint = fingerprint;
        self
    }
}

/// A message in a session's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedMessage {
    /// Key of the message.
    pub id: MessageId,
    /// Id of the message for clients.
    pub public_id: String,
    /// The message.
    pub message: Message,
    /// When it was queued.
    pub created_at: Timestamp,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// It waits for its turn.
    Queued,
    /// Its turn has begun.
    Begun {
        /// Sequence of the event before the first one of the turn.
        turn_starts_after: u64,
    },
    /// It was removed from the queue before its turn.
    Cancelled,
}

/// What is stored of a message, whether it still waits or not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageRecord {
    /// Key of the message.
    pub id: MessageId,
    /// Fingerprint of the request that brought it.
    pub fingerprint: Vec<u8>,
    /// What became of it.
    pub state: MessageState,
}

impl QueuedMessage {
    /// A queued message with this key.
    #[must_use]
    pub fn new(id: MessageId, public_id: impl Into<String>, message: Message, created_at: Timestamp) -> Self {
        Self { id, public_id: public_id.into(), message, created_at }
    }
}

/// Result of queuing a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Enqueued {
    /// The message is at the end of the queue.
    New(MessageId),
    /// The session has a message with this id. Nothing was changed.
    Existing(MessageRecord),
}

// Values of the column `state`.
pub(crate) const QUEUED: i64 = 0;
pub(crate) const BEGUN: i64 = 1;
pub(crate) const CANCELLED: i64 = 2;

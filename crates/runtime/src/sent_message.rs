//! A message that was sent, and its turn.

use std::fmt;
use std::pin::Pin;

use tokio::sync::oneshot;

/// A message that is durably queued.
pub struct SentMessage {
    turn: Turn,
}

/// Resolves to the sequence before a turn, or to `None` if there will be none.
pub(crate) type TurnStart = Pin<Box<dyn Future<Output = Option<u64>> + Send>>;

enum Turn {
    /// It has not started, as far as is known.
    Waiting(oneshot::Receiver<u64>),
    /// It starts on some server, as the store shows.
    Following(TurnStart),
    /// It started after the event with this sequence.
    Started(u64),
    /// There is none: the message was removed from the queue.
    Cancelled,
}

impl SentMessage {
    pub(crate) fn waiting(turn: oneshot::Receiver<u64>) -> Self {
        Self { turn: Turn::Waiting(turn) }
    }

    pub(crate) fn following(turn: TurnStart) -> Self {
        Self { turn: Turn::Following(turn) }
    }

    pub(crate) fn started(after: u64) -> Self {
        Self { turn: Turn::Started(after) }
    }

    pub(crate) fn cancelled() -> Self {
        Self { turn: Turn::Cancelled }
    }

    /// Waits for the message's turn. Returns the sequence number *before* the first event of the turn, so that reading
    /// after it shows the turn from its start. `None` if the session ended first, or the message was removed from the queue.
    pub async fn wait_for_turn(self) -> Option<u64> {
        match self.turn {
            Turn::Waiting(turn) => turn.await.ok(),
            Turn::Following(turn) => turn.await,
            Turn::Started(after) => Some(after),
            Turn::Cancelled => None,
        }
    }
}

impl fmt::Debug for SentMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SentMessage")
    }
}

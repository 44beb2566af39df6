//! The next append of a session: events, and what changes together with them.

use interlingua_schema::{RawJson, UniversalEvent};
use interlingua_store::{Append, MessageId};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// A caller that waits for a turn, and the sequence number before the turn's first event.
pub(super) type TurnStart = (oneshot::Sender<u64>, u64);

/// Maximum number of events in an append. At either limit, the agent has to wait.
const MAX_EVENTS: usize = 1024;
/// Maximum number of bytes of driver output that an append is made from.
const MAX_BYTES: usize = 512 << 10;

/// What is kept until an append is durable.
#[derive(Debug, Default)]
pub(super) struct UntilDurable {
    /// To be notified when the append is durable.
    pub(super) turn_starts: Vec<TurnStart>,
    /// Room for a large message, of which the append has copies.
    _room: Option<OwnedSemaphorePermit>,
}

/// Events that are not durable yet, and what is stored or notified together with them.
#[derive(Debug, Default)]
pub(super) struct PendingAppend {
    pub(super) events: Vec<UniversalEvent>,
    /// Bytes of driver output since the last append.
    pub(super) bytes: usize,
    /// How many of the events were observed.
    pub(super) observed: usize,
    /// The new checkpoint, if there is one.
    pub(super) checkpoint: Option<RawJson>,
    /// Messages that these events show: they leave the queue. With the sequence before the first event of their turn.
    pub(super) begun: Vec<(MessageId, u64)>,
    /// Callers that wait for a turn which starts in these events.
    pub(super) turn_starts: Vec<TurnStart>,
    /// Room for a large message that these events show.
    pub(super) room: Option<OwnedSemaphorePermit>,
    /// Whether these events end something, and are written even if there is no space for others.
    pub(super) essential: bool,
}

impl PendingAppend {
    /// Whether more driver output may be added.
    pub(super) fn has_room(&self) -> bool {
        self.events.len() < MAX_EVENTS && self.bytes < MAX_BYTES
    }

    /// Takes everything as an append, with what is kept until it is durable. `None` if there is nothing to write.
    pub(super) fn take(&mut self, busy: Option<bool>) -> Option<(Append, UntilDurable)> {
        // Also reset if no event was made: otherwise one long line without an event would block the session forever.
        self.bytes = 0;
        if self.events.is_empty() && self.begun.is_empty() && busy.is_none() {
            return None;
        }
        self.observed = 0;
        let mut append = Append::events(self.events.drain(..)).essential(std::mem::take(&mut self.essential));
        if let Some(checkpoint) = self.checkpoint.take() {
            append = append.state(checkpoint);
        }
        if let Some(busy) = busy {
            append = append.busy(busy);
        }
        for (message, turn_starts_after) in self.begun.drain(..) {
            append = append.begin(message, turn_starts_after);
        }
        let turn_starts = std::mem::take(&mut self.turn_starts);
        Some((append, UntilDurable { turn_starts, _room: self.room.take() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_without_an_event_does_not_block_the_session() {
        let mut pending = PendingAppend { bytes: MAX_BYTES, ..PendingAppend::default() };
        assert!(!pending.has_room());
        assert!(pending.take(None).is_none());
        assert!(pending.has_room());
    }
}

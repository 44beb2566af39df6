//! What a session is about to write down: events, and what becomes true with them.

use interlingua_schema::{RawJson, UniversalEvent};
use interlingua_store::{Append, MessageId};
use tokio::sync::oneshot;

/// Somebody who waits for a turn, and the sequence before its first event.
pub(super) type Begun = (oneshot::Sender<u64>, u64);

/// A page is full when it has so many events,
const MOST_EVENTS: usize = 1024;
/// or was made of so many bytes. Then the agent has to wait.
const MOST_BYTES: usize = 512 << 10;

/// Events that are not durable yet, and what has to be told or changed together with them.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) events: Vec<UniversalEvent>,
    /// So many bytes they were made of.
    pub(super) bytes: usize,
    /// So many of the events were looked at.
    pub(super) watched: usize,
    /// Where the session stands, if that changed.
    pub(super) state: Option<RawJson>,
    /// Messages that these events show.
    pub(super) taken: Vec<MessageId>,
    /// Those who wait for a turn that begins here.
    pub(super) begun: Vec<Begun>,
}

impl Page {
    /// Whether more may be put on it.
    pub(super) fn has_room(&self) -> bool {
        self.events.len() < MOST_EVENTS && self.bytes < MOST_BYTES
    }

    /// The write that makes it durable, and whom to tell then; `None` if there is nothing to write.
    pub(super) fn turn(&mut self, busy: Option<bool>) -> Option<(Append, Vec<Begun>)> {
        // Also of what no event was made of, or a long line of that kind would leave no room for ever.
        self.bytes = 0;
        if self.events.is_empty() && self.taken.is_empty() && busy.is_none() {
            return None;
        }
        self.watched = 0;
        let mut append = Append::events(self.events.drain(..));
        if let Some(state) = self.state.take() {
            append = append.state(state);
        }
        if let Some(busy) = busy {
            append = append.busy(busy);
        }
        for message in self.taken.drain(..) {
            append = append.dequeue(message);
        }
        Some((append, std::mem::take(&mut self.begun)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_that_no_event_is_made_of_takes_no_room_for_ever() {
        let mut page = Page { bytes: MOST_BYTES, ..Page::default() };
        assert!(!page.has_room());
        assert!(page.turn(None).is_none());
        assert!(page.has_room());
    }
}

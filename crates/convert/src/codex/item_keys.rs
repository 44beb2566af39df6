//! Keys of items whose native ids repeat.
//!
//! Most item ids come from the model's provider. Some providers use the same id again in the next turn or the next
//! response. An item that starts under a used id is a different item, so it gets its own key.

use crate::Key;
use crate::sequencer::RecentMap;

/// Number of items whose ids are remembered.
const MAX_REMEMBERED_ITEMS: usize = 2048;

/// Keys of the items of one thread.
#[derive(Debug, Default)]
pub(super) struct ItemKeys {
    items: RecentMap<Key, ItemState, MAX_REMEMBERED_ITEMS>,
    /// Some id was used more than once, so keys have to be looked up.
    has_repeated_ids: bool,
    /// Number of completed messages.
    completed_messages: u64,
    /// Number of messages that were complete when the turn started.
    completed_before_turn: u64,
    /// Number of messages that were complete at the last retry.
    completed_before_retry: u64,
    /// Counts turns and retries. Items of an earlier generation that are still open are abandoned.
    generation: u64,
}

/// State of the items of one id.
#[derive(Debug, Default)]
struct ItemState {
    /// Number of items that started under this id.
    starts: u64,
    /// Position of the last one among the completed messages, if it is one.
    completed_as: Option<u64>,
    /// Generation in which the last one started, while it is open.
    open_generation: Option<u64>,
}

impl ItemKeys {
    /// Key of the latest item with this id.
    pub(super) fn current(&self, id: &str) -> Key {
        let id = Key::from(id);
        if !self.has_repeated_ids {
            return id;
        }
        match self.items.get(&id) {
            Some(ItemState { starts, .. }) if *starts > 1 => format!("{id}#{starts}").into(),
            _ => id,
        }
    }

    /// Starts an item and returns its key. An open item that starts again keeps its key. A message that the model
    /// repeats after a retry keeps its key as well: only its text, which is not known yet, could distinguish it.
    pub(super) fn start(&mut self, id: &str) -> Key {
        let repeatable = self.completed_before_turn + 1..=self.completed_before_retry;
        let generation = Some(self.generation);
        let start = |item: &mut ItemState| {
            if item.open_generation != generation
                && item.completed_as.is_none_or(|position| !repeatable.contains(&position))
            {
                item.starts += 1;
                item.completed_as = None;
            }
            item.open_generation = generation;
            item.starts > 1
        };
        self.has_repeated_ids |= self.update(id, start);
        self.current(id)
    }

    /// Completes an item, which may never have started, and returns its key.
    pub(super) fn complete(&mut self, id: &str) -> Key {
        self.update(id, |item| {
            item.starts = item.starts.max(1);
            item.open_generation = None;
        });
        self.current(id)
    }

    /// Completes a message and returns its key.
    pub(super) fn complete_message(&mut self, id: &str) -> Key {
        self.completed_messages += 1;
        let position = self.completed_messages;
        self.update(id, |item| {
            *item = ItemState { starts: item.starts.max(1), completed_as: Some(position), open_generation: None };
        });
        self.current(id)
    }

    /// The agent sends its request to the model again.
    pub(super) fn start_retry(&mut self) {
        self.completed_before_retry = self.completed_messages;
        self.generation += 1;
    }

    /// A turn starts.
    pub(super) fn start_turn(&mut self) {
        self.completed_before_turn = self.completed_messages;
        self.generation += 1;
    }

    fn update<T>(&mut self, id: &str, update: impl FnOnce(&mut ItemState) -> T) -> T {
        let id = Key::from(id);
        if let Some(item) = self.items.get_mut(&id) {
            return update(item);
        }
        let mut item = ItemState::default();
        let updated = update(&mut item);
        self.items.insert(id, item);
        updated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_starts_under_a_used_id_gets_its_own_key() {
        let mut keys = ItemKeys::default();
        let first = keys.start("a");
        assert_eq!((keys.current("a"), keys.complete("a")), (first.clone(), first.clone()));
        let second = keys.start("a");
        assert_ne!(first, second);
        assert_eq!((keys.current("a"), keys.complete("a")), (second.clone(), second.clone()));
        let third = keys.start("a");
        assert_ne!(third, second);
        assert_eq!(keys.start("a"), third, "the item is still open");
        keys.start_turn();
        assert_ne!(keys.start("a"), third);
        assert_eq!(keys.current("b"), "b".into());
    }

    #[test]
    fn a_message_repeated_after_a_retry_keeps_its_key() {
        let mut keys = ItemKeys::default();
        let first = keys.start("m");
        keys.complete_message("m");
        keys.start_retry();
        assert_eq!(keys.start("m"), first);
        keys.complete_message("m");
        keys.start_turn();
        let second = keys.start("m");
        assert_ne!(first, second);
        // The second message was abandoned, so the third is not a repetition of a completed one.
        keys.start_retry();
        assert_ne!(keys.start("m"), second);
    }
}

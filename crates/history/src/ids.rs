//! Ids for the events of several sessions in one stream.

use std::sync::{Arc, Mutex, PoisonError};

use interlingua_convert::{CountingIds, IdSource};
use interlingua_schema::{ItemId, SessionId};

/// Counted ids, which continue from one session to the next. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct SharedIds {
    ids: Arc<Mutex<CountingIds>>,
    /// The last id of an event, which is borrowed from here.
    event_id: String,
}

impl SharedIds {
    fn with<T>(&self, next: impl FnOnce(&mut CountingIds) -> T) -> T {
        next(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl IdSource for SharedIds {
    fn next_event_id(&mut self) -> &str {
        let mut event_id = std::mem::take(&mut self.event_id);
        self.with(|ids| {
            event_id.clear();
            event_id.push_str(ids.next_event_id());
        });
        self.event_id = event_id;
        &self.event_id
    }

    fn next_item_id(&mut self) -> ItemId {
        self.with(CountingIds::next_item_id)
    }

    fn next_turn_id(&mut self) -> String {
        self.with(CountingIds::next_turn_id)
    }

    fn session_id(&mut self, native: Option<&str>) -> SessionId {
        self.with(|ids| ids.session_id(native))
    }
}

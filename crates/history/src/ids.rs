//! Ids for the events of a history.

use interlingua_convert::{CountingIds, IdSource};
use interlingua_schema::{ItemId, SessionId};

/// Ids that are the same whenever a session is read, and differ from those of all other sessions.
#[derive(Clone, Debug)]
pub(crate) struct HistoryIds {
    /// Start of the ids of events.
    event_prefix: String,
    /// Start of the ids of items.
    item_prefix: String,
    counted: CountingIds,
    /// The last id of an event, which is borrowed from here.
    event_id: String,
}

impl HistoryIds {
    pub(crate) fn new(native_session_id: &str) -> Self {
        let token = token(native_session_id);
        Self {
            event_prefix: format!("evt_h{token}_"),
            item_prefix: format!("itm_h{token}_"),
            counted: CountingIds::default(),
            event_id: String::new(),
        }
    }

    /// The id of the session.
    pub(crate) fn session(native_session_id: &str) -> SessionId {
        CountingIds::default().session_id(Some(native_session_id))
    }

    /// Whether an event was made from the history of this session.
    pub(crate) fn made(&self, event_id: &str) -> bool {
        event_id.starts_with(&self.event_prefix)
    }
}

impl IdSource for HistoryIds {
    fn next_event_id(&mut self) -> &str {
        self.event_id.clear();
        self.event_id.push_str(&self.event_prefix);
        let counted = self.counted.next_event_id();
        self.event_id.push_str(counted.strip_prefix("evt_").unwrap_or(counted));
        &self.event_id
    }

    fn next_item_id(&mut self) -> ItemId {
        let counted = self.counted.next_item_id();
        let number = counted.as_str().strip_prefix("itm_").unwrap_or_default();
        format!("{}{number}", self.item_prefix).into()
    }

    fn next_turn_id(&mut self) -> String {
        self.counted.next_turn_id()
    }

    fn session_id(&mut self, native: Option<&str>) -> SessionId {
        self.counted.session_id(native)
    }
}

/// A short text that differs from session to session.
fn token(native_session_id: &str) -> String {
    // FNV-1a: stable across versions and platforms.
    let hash = native_session_id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_each_time() {
        let (mut first, mut second) = (HistoryIds::new("a"), HistoryIds::new("a"));
        assert_eq!(first.next_event_id(), second.next_event_id());
        assert_eq!(first.next_item_id(), second.next_item_id());
        assert_ne!(HistoryIds::new("b").next_event_id(), HistoryIds::new("a").next_event_id());
        assert!(first.made(second.next_event_id()) && !first.made("evt_1"));
    }
}

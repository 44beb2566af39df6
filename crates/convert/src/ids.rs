//! Sources of ids.

use interlingua_schema::{ItemId, SessionId};

use crate::key::concat;

/// A source of ids. [`CountingIds`] gives the same ids for the same input; a server has its own source of unique ids.
pub trait IdSource: Send {
    /// Id for the next event; never the same twice. It is borrowed, because a sink that writes the event immediately
    /// does not need its own copy.
    fn next_event_id(&mut self) -> &str;

    /// Id for the next item; never the same twice.
    fn next_item_id(&mut self) -> ItemId;

    /// Id for the next turn without a native id; never the same twice in a session.
    fn next_turn_id(&mut self) -> String;

    /// Id for a session with the native id `native`, or without one.
    fn session_id(&mut self, native: Option<&str>) -> SessionId;
}

/// Counted ids: `evt_000001`, `itm_0001`, `turn_001`. The id of a session is made from its native id.
#[derive(Clone, Debug)]
pub struct CountingIds {
    events: Counter,
    items: Counter,
    turns: Counter,
}

impl Default for CountingIds {
    fn default() -> Self {
        Self {
            events: Counter("evt_000000".to_owned()),
            items: Counter("itm_0000".to_owned()),
            turns: Counter("turn_000".to_owned()),
        }
    }
}

impl IdSource for CountingIds {
    fn next_event_id(&mut self) -> &str {
        self.events.next()
    }

    fn next_item_id(&mut self) -> ItemId {
        self.items.next().into()
    }

    fn next_turn_id(&mut self) -> String {
        self.turns.next().to_owned()
    }

    fn session_id(&mut self, native: Option<&str>) -> SessionId {
        match native {
            Some(native) if native.starts_with("ses_") => native.into(),
            Some(native) => concat(["ses_", native]).into(),
            None => "ses_unnamed".into(),
        }
    }
}

/// A text that ends in decimal digits, incremented in place. Mostly that changes one digit, which takes a third of the
/// time of writing the number with `itoa`, as the benchmark `ids` shows.
#[derive(Clone, Debug)]
struct Counter(String);

impl Counter {
    fn next(&mut self) -> &str {
        let length = self.0.len();
        while self.0.ends_with('9') {
            self.0.pop();
        }
        let nines = length - self.0.len();
        match self.0.chars().next_back().and_then(|last| last.to_digit(10)) {
            Some(digit) => {
                self.0.pop();
                self.0.push(char::from_digit(digit + 1, 10).unwrap_or('0'));
            }
            None => self.0.push('1'),
        }
        (0..nines).for_each(|_| self.0.push('0'));
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_when_the_leading_zeros_are_used_up() {
        let mut ids = CountingIds {
            events: Counter("evt_000041".to_owned()),
            items: Counter("itm_9998".to_owned()),
            ..CountingIds::default()
        };
        assert_eq!(ids.next_turn_id(), "turn_001");
        assert_eq!(ids.next_event_id(), "evt_000042");
        assert_eq!(ids.next_item_id().as_str(), "itm_9999");
        assert_eq!(ids.next_item_id().as_str(), "itm_10000");
        assert_eq!(ids.next_item_id().as_str(), "itm_10001");
        assert_eq!((43..=300).map(|_| ids.next_event_id().to_owned()).last().unwrap(), "evt_000300");
        assert_eq!(ids.session_id(Some("T-1")).as_str(), "ses_T-1");
    }
}

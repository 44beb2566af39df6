//! Where ids come from.

use interlingua_schema::{EventId, ItemId, SessionId};

/// Gives out ids. The same input gives the same bytes with [`CountingIds`]; a server brings a source of its own.
pub trait IdSource: Send {
    /// An id for the next event; never the same twice.
    fn event(&mut self) -> EventId;

    /// An id for the next item; never the same twice.
    fn item(&mut self) -> ItemId;

    /// An id for a session that the agent calls `native`, or that has no native session.
    fn session(&mut self, native: Option<&str>) -> SessionId;
}

/// Counts: `evt_000001`, `itm_0001`. A session is called after its native one.
#[derive(Clone, Debug, Default)]
pub struct CountingIds {
    events: u64,
    items: u64,
}

impl IdSource for CountingIds {
    fn event(&mut self) -> EventId {
        self.events += 1;
        numbered(*b"evt_000000", self.events).into()
    }

    fn item(&mut self) -> ItemId {
        self.items += 1;
        numbered(*b"itm_0000", self.items).into()
    }

    fn session(&mut self, native: Option<&str>) -> SessionId {
        match native {
            Some(native) if native.starts_with("ses_") => native.into(),
            Some(native) => format!("ses_{native}").into(),
            None => "ses_unnamed".into(),
        }
    }
}

/// Writes `number` over the zeros at the end of `text`, or after its prefix when there are too few. An event id is
/// made for every event, so this does without the formatting machinery.
fn numbered<const N: usize>(mut text: [u8; N], number: u64) -> String {
    let mut rest = number;
    for digit in text[4..].iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    match std::str::from_utf8(&text) {
        Ok(text) if rest == 0 => text.to_owned(),
        _ => format!("{}{number}", String::from_utf8_lossy(&text[..4])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_readable_and_go_on_when_the_zeros_are_used_up() {
        let mut ids = CountingIds { events: 41, items: 9998 };
        assert_eq!(ids.event().as_str(), "evt_000042");
        assert_eq!(ids.item().as_str(), "itm_9999");
        assert_eq!(ids.item().as_str(), "itm_10000");
        assert_eq!(ids.session(Some("T-1")).as_str(), "ses_T-1");
    }
}

//! Ids that are never given out twice, by any process.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use interlingua_convert::IdSource;
use interlingua_schema::{ItemId, SessionId};

use crate::driver_output::now;

/// The digits of Crockford's base 32: no letters that look like others.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Gives out ids for one session: 9 digits of time, 7 that are this process's own, 7 that count. They sort by time.
pub(crate) struct UniqueIds {
    session: SessionId,
    /// The last event's.
    event: String,
}

impl UniqueIds {
    pub(crate) fn new(session: SessionId) -> Self {
        Self { session, event: String::new() }
    }
}

impl IdSource for UniqueIds {
    fn next_event_id(&mut self) -> &str {
        with_unique("evt_", |id| {
            self.event.clear();
            self.event.push_str(id);
        });
        &self.event
    }

    fn next_item_id(&mut self) -> ItemId {
        with_unique("itm_", |id| id.into())
    }

    fn next_turn_id(&mut self) -> String {
        unique("turn_")
    }

    fn session_id(&mut self, _native: Option<&str>) -> SessionId {
        self.session.clone()
    }
}

/// An id with this prefix, of at most eight bytes, that nobody else has.
pub(crate) fn unique(prefix: &str) -> String {
    with_unique(prefix, str::to_owned)
}

/// The longest prefix of an id.
const PREFIX: usize = 8;
/// The digits of the time, of the process and of the count.
const LENGTHS: [usize; 3] = [9, 7, 7];

/// What is made of an id with this prefix that nobody else has. Every event has one, so there is no text on the way
/// that is only copied.
fn with_unique<T>(prefix: &str, make: impl FnOnce(&str) -> T) -> T {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: OnceLock<u64> = OnceLock::new();
    // The keys of a hasher are the randomness that the standard library has.
    let process = *PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()));
    let time = u64::try_from(now().as_millis()).unwrap_or(0);
    let mut id = [0; PREFIX + LENGTHS[0] + LENGTHS[1] + LENGTHS[2]];
    let begin = PREFIX - prefix.len();
    id[begin..PREFIX].copy_from_slice(prefix.as_bytes());
    let mut rest = &mut id[PREFIX..];
    for (mut number, length) in [time, process, COUNT.fetch_add(1, Ordering::Relaxed)].into_iter().zip(LENGTHS) {
        let (digits, behind) = rest.split_at_mut(length);
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[usize::try_from(number & 31).unwrap_or(0)];
            number >>= 5;
        }
        rest = behind;
    }
    // Prefix and digits are text.
    make(std::str::from_utf8(&id[begin..]).unwrap_or(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_sort_by_time() {
        let ids: Vec<String> = (0..1000).map(|_| unique("evt_")).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(ids, sorted);
        assert!(ids.iter().all(|id| id.len() == 27 && id.starts_with("evt_")));
    }
}

//! Ids that no process generates twice.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use interlingua_convert::IdSource;
use interlingua_schema::{ItemId, SessionId};

use crate::driver_output::now;

/// The digits of Crockford's base 32, which has no letters that look like others.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Generates ids for one session: 9 digits of time, 7 random ones of this process, 7 of a counter. They sort by time.
pub(crate) struct UniqueIds {
    session: SessionId,
    /// Buffer for the last event id.
    event_id: String,
}

impl UniqueIds {
    pub(crate) fn new(session: SessionId) -> Self {
        Self { session, event_id: String::new() }
    }
}

impl IdSource for UniqueIds {
    fn next_event_id(&mut self) -> &str {
        with_unique_id("evt_", |id| {
            self.event_id.clear();
            self.event_id.push_str(id);
        });
        &self.event_id
    }

    fn next_item_id(&mut self) -> ItemId {
        with_unique_id("itm_", |id| id.into())
    }

    fn next_turn_id(&mut self) -> String {
        unique_id("turn_")
    }

    fn session_id(&mut self, _native: Option<&str>) -> SessionId {
        self.session.clone()
    }
}

/// Generates a unique id with a prefix of at most eight bytes.
pub(crate) fn unique_id(prefix: &str) -> String {
    with_unique_id(prefix, str::to_owned)
}

/// Maximum length of a prefix.
const MAX_PREFIX_LEN: usize = 8;
/// Number of digits for the time, the process and the counter.
const DIGIT_COUNTS: [usize; 3] = [9, 7, 7];

/// Calls a function with a unique id. Every event has one, so the id is built on the stack and not copied before it
/// reaches its place.
fn with_unique_id<T>(prefix: &str, use_id: impl FnOnce(&str) -> T) -> T {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: OnceLock<u64> = OnceLock::new();
    // The keys of a hasher are the only randomness in the standard library.
    let process = *PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()));
    let time = u64::try_from(now().as_millis()).unwrap_or(0);
    let mut id = [0; MAX_PREFIX_LEN + DIGIT_COUNTS[0] + DIGIT_COUNTS[1] + DIGIT_COUNTS[2]];
    let start = MAX_PREFIX_LEN - prefix.len();
    id[start..MAX_PREFIX_LEN].copy_from_slice(prefix.as_bytes());
    let mut rest = &mut id[MAX_PREFIX_LEN..];
    let numbers = [time, process, COUNT.fetch_add(1, Ordering::Relaxed)];
    for (mut number, length) in numbers.into_iter().zip(DIGIT_COUNTS) {
        let (digits, tail) = rest.split_at_mut(length);
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[usize::try_from(number & 31).unwrap_or(0)];
            number >>= 5;
        }
        rest = tail;
    }
    // The prefix and the digits are UTF-8.
    use_id(std::str::from_utf8(&id[start..]).unwrap_or(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_sort_by_time() {
        let ids: Vec<String> = (0..1000).map(|_| unique_id("evt_")).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(ids, sorted);
        assert!(ids.iter().all(|id| id.len() == 27 && id.starts_with("evt_")));
    }
}

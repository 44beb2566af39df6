//! Ids that are never given out twice, by any process.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use interlingua_convert::IdSource;
use interlingua_schema::{EventId, ItemId, SessionId};

use crate::clock;

/// The digits of Crockford's base 32: no letters that look like others.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Gives out ids for one session: 9 digits of time, 7 that are this process's own, 7 that count. They sort by time.
pub(crate) struct UniqueIds {
    session: SessionId,
}

impl UniqueIds {
    pub(crate) fn new(session: SessionId) -> Self {
        Self { session }
    }
}

impl IdSource for UniqueIds {
    fn event(&mut self) -> EventId {
        unique("evt_").into()
    }

    fn item(&mut self) -> ItemId {
        unique("itm_").into()
    }

    fn session(&mut self, _native: Option<&str>) -> SessionId {
        self.session.clone()
    }
}

/// An id with this prefix that nobody else has.
pub(crate) fn unique(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static PROCESS: OnceLock<u64> = OnceLock::new();
    // The keys of a hasher are the randomness that the standard library has.
    let process = *PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()));
    let time = u64::try_from(clock::now().as_millis()).unwrap_or(0);
    let mut id = String::with_capacity(prefix.len() + 23);
    id.push_str(prefix);
    for (number, length) in [(time, 9_u32), (process, 7), (COUNT.fetch_add(1, Ordering::Relaxed), 7)] {
        for place in (0..length).rev() {
            let digit = usize::try_from(number >> (5 * place) & 31).unwrap_or(0);
            id.push(char::from(DIGITS[digit]));
        }
    }
    id
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
        assert!(ids.iter().all(|id| id.len() == 27));
    }
}

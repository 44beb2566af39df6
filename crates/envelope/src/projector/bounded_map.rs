//! A map with a limited number of entries.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Maximum number of entries. A stream that completes its items stays far below.
const MAX_ENTRIES: usize = 4096;

/// A map that drops its oldest entry when it is full, so that a stream that never completes its items cannot exhaust the
/// memory. It has few entries most of the time, and finding a key in a small tree is faster than hashing it.
#[derive(Debug)]
pub(super) struct BoundedMap<K, V> {
    /// Each value with the number of its insertion.
    entries: BTreeMap<K, (u64, V)>,
    insertions: u64,
}

impl<K: Clone + Ord, V> BoundedMap<K, V> {
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.entries.len() >= MAX_ENTRIES
            && let Some(oldest) = self.entries.iter().min_by_key(|(_, (number, _))| *number).map(|(key, _)| key.clone())
        {
            self.entries.remove(&oldest);
        }
        self.insertions += 1;
        self.entries.insert(key, (self.insertions, value));
    }

    /// The stored key and value.
    pub(super) fn entry<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.entries.get_key_value(key).map(|(key, (_, value))| (key, value))
    }

    pub(super) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.entries.remove(key).map(|(_, value)| value)
    }

    /// The only entry; `None` if there are none or several.
    pub(super) fn only(&self) -> Option<(&K, &V)> {
        let mut entries = self.entries.iter();
        let (key, (_, value)) = entries.next()?;
        entries.next().is_none().then_some((key, value))
    }
}

impl<K, V> Default for BoundedMap<K, V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), insertions: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_map_drops_its_oldest_entry() {
        let mut map: BoundedMap<String, usize> = BoundedMap::default();
        for number in 0..MAX_ENTRIES + 10 {
            map.insert(number.to_string(), number);
        }
        assert_eq!(map.entry("9"), None);
        assert_eq!(map.entry("10"), Some((&"10".to_owned(), &10)));
        assert_eq!(map.remove("11"), Some(11));
        map.insert("new".to_owned(), 0);
        assert_eq!(map.get_mut("10"), Some(&mut 10), "removing an entry makes room for another");
        assert_eq!(map.only(), None);
    }
}

//! A map of bounded size.

use std::collections::VecDeque;
use std::hash::Hash;

use foldhash::HashMap;

/// Up to this number of entries, a lookup compares each one. Most sessions never have more.
const MAX_LINEAR_SEARCH: usize = 16;

/// A map that keeps the last `N` keys inserted and evicts older ones.
#[derive(Debug)]
pub(crate) struct RecentMap<K, V, const N: usize> {
    /// Oldest first.
    entries: VecDeque<(K, V)>,
    /// Number of evicted entries.
    evicted: usize,
    /// Position of each entry among all that were ever inserted, once there are more than [`MAX_LINEAR_SEARCH`]. Boxed
    /// because most sessions never need it: a session of more than 1 KiB makes the allocator slow.
    positions: Option<Box<HashMap<K, usize>>>,
}

impl<K: Clone + Eq + Hash, V, const N: usize> RecentMap<K, V, N> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(self.find(key)?).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let index = self.find(key)?;
        self.entries.get_mut(index).map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some(known) = self.get_mut(&key) {
            *known = value;
            return;
        }
        self.entries.push_back((key, value));
        if self.entries.len() > N
            && let Some((oldest, _)) = self.entries.pop_front()
        {
            if let Some(positions) = &mut self.positions {
                positions.remove(&oldest);
            }
            self.evicted += 1;
        }
        if self.entries.len() > MAX_LINEAR_SEARCH {
            let positions = self.positions.get_or_insert_default();
            for (index, (key, _)) in self.entries.iter().enumerate().skip(positions.len()) {
                positions.insert(key.clone(), self.evicted + index);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.positions = None;
    }

    fn find(&self, key: &K) -> Option<usize> {
        match &self.positions {
            Some(positions) if self.entries.len() > MAX_LINEAR_SEARCH => {
                positions.get(key).map(|position| position - self.evicted)
            }
            _ => self.entries.iter().rposition(|(known, _)| known == key),
        }
    }
}

impl<K, V, const N: usize> Default for RecentMap<K, V, N> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), evicted: 0, positions: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_entries_are_kept_and_older_ones_are_evicted() {
        let mut recent: RecentMap<u32, u32, 20> = RecentMap::default();
        for round in 0..3 {
            for key in 0..50 {
                recent.insert(key, round);
                recent.insert(key, key);
                let oldest = (key + 1).saturating_sub(20);
                for known in 0..60 {
                    let expected = (oldest..=key).contains(&known).then_some(known);
                    assert_eq!(recent.get(&known).copied(), expected, "{known} after {key}");
                    assert_eq!(recent.get_mut(&known).copied(), expected);
                }
            }
            recent.clear();
            assert_eq!(recent.get(&49), None);
        }
    }

    #[test]
    fn an_entry_that_is_inserted_again_keeps_its_position() {
        let mut recent: RecentMap<u32, &str, 2> = RecentMap::default();
        recent.insert(1, "a");
        recent.insert(2, "b");
        recent.insert(1, "c");
        recent.insert(3, "d");
        assert_eq!([1, 2, 3].map(|key| recent.get(&key).copied()), [None, Some("b"), Some("d")]);
    }
}

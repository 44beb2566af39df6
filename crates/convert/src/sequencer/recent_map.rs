//! A memory of bounded size.

use std::collections::VecDeque;
use std::hash::Hash;

use foldhash::HashMap;

/// Up to so many things are found by looking at each, which most sessions never exceed.
const FEW: usize = 16;

/// Remembers the last `N` things put into it.
#[derive(Debug)]
pub(crate) struct RecentMap<K, V, const N: usize> {
    /// Oldest first.
    entries: VecDeque<(K, V)>,
    /// How many were forgotten.
    forgotten: usize,
    /// The place of each among all that ever were, once there are more than a few. It is boxed because most sessions
    /// never have it: a session of more than 1 KiB makes the allocator slow.
    places: Option<Box<HashMap<K, usize>>>,
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
            if let Some(places) = &mut self.places {
                places.remove(&oldest);
            }
            self.forgotten += 1;
        }
        if self.entries.len() > FEW {
            let places = self.places.get_or_insert_default();
            for (index, (key, _)) in self.entries.iter().enumerate().skip(places.len()) {
                places.insert(key.clone(), self.forgotten + index);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.places = None;
    }

    fn find(&self, key: &K) -> Option<usize> {
        match &self.places {
            Some(places) if self.entries.len() > FEW => places.get(key).map(|place| place - self.forgotten),
            _ => self.entries.iter().rposition(|(known, _)| known == key),
        }
    }
}

impl<K, V, const N: usize> Default for RecentMap<K, V, N> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), forgotten: 0, places: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_things_are_remembered_and_older_ones_are_not() {
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
    fn what_is_put_in_again_keeps_its_place() {
        let mut recent: RecentMap<u32, &str, 2> = RecentMap::default();
        recent.insert(1, "a");
        recent.insert(2, "b");
        recent.insert(1, "c");
        recent.insert(3, "d");
        assert_eq!([1, 2, 3].map(|key| recent.get(&key).copied()), [None, Some("b"), Some("d")]);
    }
}

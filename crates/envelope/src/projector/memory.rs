//! A memory of bounded size.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// So many things are remembered; then the oldest is forgotten. A stream that ends what it begins stays far below.
const MOST: usize = 4096;

/// What was begun and is not over. Mostly that is little, and a small tree is found through faster than a hash is made.
#[derive(Debug)]
pub(super) struct Memory<K, V> {
    things: BTreeMap<K, (u64, V)>,
    begun: u64,
}

impl<K: Clone + Ord, V> Memory<K, V> {
    pub(super) fn insert(&mut self, key: K, value: V) {
        if self.things.len() >= MOST
            && let Some(oldest) = self.things.iter().min_by_key(|(_, (serial, _))| *serial).map(|(key, _)| key.clone())
        {
            self.things.remove(&oldest);
        }
        self.begun += 1;
        self.things.insert(key, (self.begun, value));
    }

    /// What is remembered of this key, with the key as it is remembered.
    pub(super) fn entry<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.things.get_key_value(key).map(|(key, (_, value))| (key, value))
    }

    pub(super) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.things.get_mut(key).map(|(_, value)| value)
    }

    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.things.remove(key).map(|(_, value)| value)
    }

    /// The one thing there is, if there is but one.
    pub(super) fn only(&self) -> Option<(&K, &V)> {
        let mut all = self.things.iter();
        let (key, (_, value)) = all.next()?;
        all.next().is_none().then_some((key, value))
    }
}

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self { things: BTreeMap::new(), begun: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_and_what_is_over_makes_room() {
        let mut memory: Memory<String, usize> = Memory::default();
        for number in 0..MOST + 10 {
            memory.insert(number.to_string(), number);
        }
        assert_eq!(memory.entry("9"), None);
        assert_eq!(memory.entry("10"), Some((&"10".to_owned(), &10)));
        assert_eq!(memory.remove("11"), Some(11));
        memory.insert("new".to_owned(), 0);
        assert_eq!(memory.get_mut("10"), Some(&mut 10));
        assert_eq!(memory.only(), None);
    }
}

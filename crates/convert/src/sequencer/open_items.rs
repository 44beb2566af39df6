//! Open items: those that have started and not completed.

use foldhash::HashMap;

use super::session::ItemRef;

/// Up to this number of items, a lookup compares each one. Rarely more than a few are open at once.
const MAX_LINEAR_SEARCH: usize = 16;
/// Capacity of the list of items when it is first used, in bytes.
const INITIAL_CAPACITY: usize = 512;

/// What is known of each open item, by what its converter calls it.
#[derive(Debug)]
pub(super) struct OpenItems<T> {
    /// In no particular order.
    items: Vec<(ItemRef, T)>,
    /// The index of each in `items`, once there were more than [`MAX_LINEAR_SEARCH`] and until there are none.
    places: Option<Box<HashMap<ItemRef, usize>>>,
}

impl<T> OpenItems<T> {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn contains_key(&self, at: &ItemRef) -> bool {
        self.find(at).is_some()
    }

    pub(super) fn get(&self, at: &ItemRef) -> Option<&T> {
        self.items.get(self.find(at)?).map(|(_, item)| item)
    }

    pub(super) fn get_mut(&mut self, at: &ItemRef) -> Option<&mut T> {
        let place = self.find(at)?;
        self.items.get_mut(place).map(|(_, item)| item)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ItemRef, &T)> {
        self.items.iter().map(|(at, item)| (at, item))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }

    /// Puts an item in, in place of one of the same name.
    pub(super) fn insert(&mut self, at: ItemRef, item: T) {
        if let Some(known) = self.get_mut(&at) {
            *known = item;
            return;
        }
        if self.items.capacity() == 0 {
            self.items.reserve_exact((INITIAL_CAPACITY / size_of::<(ItemRef, T)>()).max(1));
        }
        if let Some(places) = &mut self.places {
            places.insert(at.clone(), self.items.len());
        }
        self.items.push((at, item));
        if self.places.is_none() && self.items.len() > MAX_LINEAR_SEARCH {
            let places = self.items.iter().enumerate().map(|(place, (at, _))| (at.clone(), place));
            self.places = Some(Box::new(places.collect()));
        }
    }

    pub(super) fn remove(&mut self, at: &ItemRef) -> Option<T> {
        let place = self.find(at)?;
        let (_, item) = self.items.swap_remove(place);
        if let Some(places) = &mut self.places {
            places.remove(at);
            // The last one has taken its place.
            if let Some((moved, _)) = self.items.get(place)
                && let Some(known) = places.get_mut(moved)
            {
                *known = place;
            }
            if self.items.is_empty() {
                self.places = None;
            }
        }
        Some(item)
    }

    fn find(&self, at: &ItemRef) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(at).copied(),
            None => self.items.iter().rposition(|(known, _)| known == at),
        }
    }
}

impl<T> Default for OpenItems<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scopes::ScopeId;
    use super::*;
    use crate::Key;

    fn at(number: u64) -> ItemRef {
        (ScopeId::MAIN, Key::numbered("item", number))
    }

    #[test]
    fn items_are_found_until_they_are_removed_however_many_there_are() {
        for count in [1, 2, 16, 17, 50] {
            let mut open = OpenItems::default();
            for _ in 0..2 {
                for number in 0..count {
                    open.insert(at(number), 0);
                    open.insert(at(number), number);
                }
                assert_eq!(open.values().sum::<u64>(), (0..count).sum::<u64>());
                // Each once, from here and there: no count has the factor 7.
                for number in (0..count).map(|step| step * 7 % count) {
                    assert_eq!(open.remove(&at(number)), Some(number));
                    assert_eq!(open.remove(&at(number)), None);
                    assert!(open.iter().all(|(at, number)| open.get(at) == Some(number)));
                }
                assert!(open.is_empty());
            }
        }
    }
}

//! Open items: those that have started and not completed.

use foldhash::HashMap;

use super::session::ItemRef;

/// Up to this number of items, a lookup compares each one. Rarely more than a few items are open at the same time.
const MAX_LINEAR_SEARCH: usize = 16;
/// Capacity of the list of items when it is first used, in bytes.
const INITIAL_CAPACITY: usize = 512;

/// A map of open items by their converter's key.
#[derive(Debug)]
pub(super) struct OpenItems<T> {
    /// In no particular order.
    items: Vec<(ItemRef, T)>,
    /// Position of each in `items`. Exists from the time that there are more than [`MAX_LINEAR_SEARCH`] items until
    /// there are none.
    positions: Option<Box<HashMap<ItemRef, usize>>>,
}

impl<T> OpenItems<T> {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn contains_key(&self, item_ref: &ItemRef) -> bool {
        self.find(item_ref).is_some()
    }

    pub(super) fn get(&self, item_ref: &ItemRef) -> Option<&T> {
        self.items.get(self.find(item_ref)?).map(|(_, item)| item)
    }

    pub(super) fn get_mut(&mut self, item_ref: &ItemRef) -> Option<&mut T> {
        let position = self.find(item_ref)?;
        self.items.get_mut(position).map(|(_, item)| item)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ItemRef, &T)> {
        self.items.iter().map(|(item_ref, item)| (item_ref, item))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }

    /// Inserts an item, or replaces the one with the same key.
    pub(super) fn insert(&mut self, item_ref: ItemRef, item: T) {
        if let Some(known) = self.get_mut(&item_ref) {
            *known = item;
            return;
        }
        if self.items.capacity() == 0 {
            self.items.reserve_exact((INITIAL_CAPACITY / size_of::<(ItemRef, T)>()).max(1));
        }
        if let Some(positions) = &mut self.positions {
            positions.insert(item_ref.clone(), self.items.len());
        }
        self.items.push((item_ref, item));
        if self.positions.is_none() && self.items.len() > MAX_LINEAR_SEARCH {
            let positions = self.items.iter().enumerate().map(|(position, (item_ref, _))| (item_ref.clone(), position));
            self.positions = Some(Box::new(positions.collect()));
        }
    }

    pub(super) fn remove(&mut self, item_ref: &ItemRef) -> Option<T> {
        let position = self.find(item_ref)?;
        let (_, item) = self.items.swap_remove(position);
        if let Some(positions) = &mut self.positions {
            positions.remove(item_ref);
            // The last item has moved to this position.
            if let Some((moved, _)) = self.items.get(position)
                && let Some(known) = positions.get_mut(moved)
            {
                *known = position;
            }
            if self.items.is_empty() {
                self.positions = None;
            }
        }
        Some(item)
    }

    fn find(&self, item_ref: &ItemRef) -> Option<usize> {
        match &self.positions {
            Some(positions) => positions.get(item_ref).copied(),
            None => self.items.iter().rposition(|(known, _)| known == item_ref),
        }
    }
}

impl<T> Default for OpenItems<T> {
    fn default() -> Self {
        Self { items: Vec::new(), positions: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scopes::ScopeId;
    use super::*;
    use crate::Key;

    fn item_ref(number: u64) -> ItemRef {
        (ScopeId::MAIN, Key::numbered("item", number))
    }

    #[test]
    fn items_are_found_until_they_are_removed_however_many_there_are() {
        for count in [1, 2, 16, 17, 50] {
            let mut open = OpenItems::default();
            for _ in 0..2 {
                for number in 0..count {
                    open.insert(item_ref(number), 0);
                    open.insert(item_ref(number), number);
                }
                assert_eq!(open.values().sum::<u64>(), (0..count).sum::<u64>());
                // Removes each item once, in mixed order: 7 and the count have no common factor.
                for number in (0..count).map(|step| step * 7 % count) {
                    assert_eq!(open.remove(&item_ref(number)), Some(number));
                    assert_eq!(open.remove(&item_ref(number)), None);
                    assert!(open.iter().all(|(item_ref, number)| open.get(item_ref) == Some(number)));
                }
                assert!(open.is_empty());
            }
        }
    }
}

//! How a store is opened.

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process, however sudden.
    #[default]
    Normal,
    /// The loss of power too: every commit waits for the disk.
    Full,
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct StoreOptions {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// The most pages of 4 KiB that the database may have. `None`: as many as the disk has room for.
    pub max_pages: Option<u32>,
}

impl StoreOptions {
    /// Sets what an acknowledged write survives.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// ReadLimits the database to so many pages of 4 KiB.
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }
}

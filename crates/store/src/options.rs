//! Options for opening a store.

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process, `kill -9` included.
    #[default]
    Normal,
    /// A power failure too: every commit waits for the disk.
    Full,
}

/// Options for opening a store.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct StoreOptions {
    /// What an acknowledged write survives.
    pub durability: Durability,
    /// Maximum number of pages (4 KiB each) of the database. `None`: limited by the disk only.
    pub max_pages: Option<u32>,
    /// Maximum number of stored bytes of a session; `None`: no limit.
    pub max_session_bytes: Option<u64>,
    /// Maximum number of bytes of the database, without the write-ahead log; `None`: no limit.
    pub max_store_bytes: Option<u64>,
}

impl StoreOptions {
    /// Sets what an acknowledged write survives.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the maximum number of pages (4 KiB each) of the database.
    #[must_use]
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// Sets the maximum number of stored bytes of a session.
    #[must_use]
    pub fn max_session_bytes(mut self, bytes: Option<u64>) -> Self {
        self.max_session_bytes = bytes;
        self
    }

    /// Sets the maximum number of bytes of the database, without the write-ahead log.
    #[must_use]
    pub fn max_store_bytes(mut self, bytes: Option<u64>) -> Self {
        self.max_store_bytes = bytes;
        self
    }
}

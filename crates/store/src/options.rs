//! How a store is opened.

/// What "durable" means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Survives the death of the process, however sudden.
    #[default]
    Normal,
    /// Survives the loss of power too: every commit waits for the disk.
    Full,
}

/// How a store is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// What an acknowledged write survives.
    pub sync: Sync,
    /// The most pages of 4 KiB that the database may have. `None`: as many as the disk has room for.
    pub most_pages: Option<u32>,
}

//! What every recording becomes as a bounded envelope, and what that must always be.

mod capabilities;
mod faithful;
mod projected;
mod safe;
mod snapshots;

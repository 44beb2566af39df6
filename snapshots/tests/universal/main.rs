//! What every recording becomes: its universal stream, and what that must always be.

mod chaos;
mod counts;
mod snapshots;
mod streams;
mod variants;

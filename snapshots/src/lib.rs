//! The recordings, and what the tests over them share.

mod converted;
mod corrupt;
pub mod coverage;
mod recording;
mod render;
pub mod uniformity;

pub use converted::{Converted, convert};
pub use corrupt::{Corruption, Damage, corrupt};
pub use recording::{Line, Recording, recordings};
pub use render::render;

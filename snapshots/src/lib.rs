//! The recordings, the oracles that their streams are compared with, and what the tests over them share.

pub mod canonical;
mod converted;
mod corpus;
mod corrupt;
pub mod coverage;
pub mod generate;
mod recording;
mod render;
pub mod uniformity;

pub use converted::{Converted, convert};
pub use corpus::{Corpus, CorpusEntry};
pub use corrupt::{Corruption, Damage, corrupt};
pub use recording::{Line, Recording, recordings};
pub use render::{render, render_envelope};

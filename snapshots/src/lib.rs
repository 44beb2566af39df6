//! The recordings of this repository as universal streams, the rules that those streams must keep, and the generators
//! that read them. The snapshot tests, `cargo xtask generate` and `cargo xtask live` share this crate.

pub mod canonical;
mod converted;
mod corpus;
mod corrupt;
pub mod coverage;
pub mod generate;
mod recording;
mod render;
pub mod uniformity;

pub use converted::{ConvertedRecording, convert};
pub use corpus::{Corpus, CorpusEntry};
pub use corrupt::{CorruptedLine, CorruptionKind, corrupt};
pub use recording::{Recording, recordings};
pub use render::{render, render_envelope};

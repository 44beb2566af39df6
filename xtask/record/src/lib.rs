//! What everybody needs who plays with real agents: a world with nobody else in it, a fresh place for an agent to live
//! in, and something for it to call.

pub mod isolation;
pub mod mcp;
pub mod place;
pub mod program;
pub mod table;
mod target;

pub use target::Target;

//! What a host sends to each coding agent, and how it reads the answers.
//!
//! One module per agent. Each builds requests from the types that are generated from the agent's own schema, so that a
//! field which the agent renames or begins to require is a compile error here. The modules are pure: they turn values
//! into lines or HTTP requests, and answers back into values. Starting processes, reading files and routing lines is the
//! work of the program that uses them: the runtime's drivers, and the recorder.
//!
//! Versions of an agent differ in what they take. Each module has one table of [`Support`] entries that says from which
//! version on, or up to which version, something is sent.

pub mod amp;
pub mod claude;
pub mod codex;
pub mod form;
pub mod opencode;
mod version;

pub use version::Support;

/// What an agent is told when the user refuses what it asked for and gives no reason. With a message, agents go on.
pub const REFUSED: &str = "The user refused this.";

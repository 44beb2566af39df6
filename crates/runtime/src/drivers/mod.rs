//! One driver per real agent, over the same processes.

pub(crate) mod amp;
pub(crate) mod claude;
pub(crate) mod codex;
mod form;
pub(crate) mod opencode;
mod shared;
mod text;

/// What an agent is told when the user refuses what it asked for. With a reason, all of them go on.
const REFUSED: &str = "The user refused this.";

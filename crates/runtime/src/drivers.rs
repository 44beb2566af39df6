//! One driver per real agent, over the same processes.

pub(crate) mod amp;
pub(crate) mod claude;
pub(crate) mod codex;
mod installed;
pub(crate) mod opencode;
mod scanner;
mod shared;

pub(crate) use installed::InstalledDriver;

/// What an agent is told when the user refuses what it asked for. With a reason, all of them go on.
const REFUSED: &str = "The user refused this.";

//! One driver per real agent, over the same processes.

pub(crate) mod amp;
pub(crate) mod claude;
pub(crate) mod codex;
mod form;
pub(crate) mod opencode;
mod shared;

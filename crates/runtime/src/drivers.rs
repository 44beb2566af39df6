//! One driver per real agent, over the same processes.

pub(crate) mod amp;
pub(crate) mod claude;
pub(crate) mod codex;
mod installed;
pub(crate) mod opencode;
mod scanner;
mod shared;

pub(crate) use installed::InstalledDriver;
use interlingua_protocol::REFUSED;

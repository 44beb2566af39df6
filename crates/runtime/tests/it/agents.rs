//! The drivers of real agents, against stand-ins that replay recordings, and against faults.

mod acp;
mod amp;
mod claude;
mod codex;
mod faults;
mod install;
mod opencode;
mod shared_faults;
pub(crate) mod stand_in;
mod two_sessions;

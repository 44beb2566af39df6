//! Real agents behind the runtime: every driver against stand-ins that play recordings, and against what goes wrong.

mod amp;
pub(crate) mod cast;
mod claude;
mod codex;
mod faults;
mod opencode;
mod pair;
mod shared_faults;

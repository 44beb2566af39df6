//! Real agents behind the runtime: every driver against stand-ins that play recordings, and against what goes wrong.

mod amp;
mod cast;
mod claude;
mod codex;
mod faults;
mod opencode;
mod pair;
mod shared_faults;
#[path = "../sessions/stage.rs"]
#[allow(dead_code, reason = "shared with the tests of sessions, which use all of it")]
mod stage;

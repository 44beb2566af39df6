//! Plays every scenario on the real agents and records what they say.
//!
//! `cargo xtask record` installs the agents and starts this program. It needs no key and no network: the model is a
//! scripted one, and it runs itself again where there is nothing but loopback.
//!
//! ```text
//! scenario ─▶ scripted model ◀─ agent ◀─ host ─▶ tape ─▶ recording ─▶ form (the same as before? then keep that)
//!                                                                  ├▶ stream (the same as before for a client?)
//!                                                                  └▶ shape (what changed, in words)
//! ```

mod cell;
mod changes;
mod form;
mod heard;
mod host;
mod play;
mod process;
mod record;
mod redact;
mod scrub;
mod shape;
mod shelf;
mod stream;
mod tape;

use std::process::ExitCode;

use interlingua_record::{place, program, table};

fn main() -> ExitCode {
    program::run(record::run)
}

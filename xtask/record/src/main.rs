//! Plays every scenario on the real agents and records what crosses the wire.
//!
//! `cargo xtask record` installs the agents and starts this program. It needs no key and no network: the model is a
//! scripted one, and the program runs itself again in namespaces that have only loopback.
//!
//! ```text
//! scenario ─▶ scripted model ◀─ agent ◀─ host ─▶ recording ─▶ normal form (same? then keep the old recording)
//!                                                          ├▶ normal stream (same as before for a client?)
//!                                                          └▶ shape (what changed, in words)
//! ```

mod changes;
mod host;
mod normal_form;
mod normal_stream;
mod outcome;
mod process;
mod record;
mod recorded_versions;
mod recording_writer;
mod redact;
mod scenario_runner;
mod scrub;
mod shape;
mod wire_messages;

use std::process::ExitCode;

use interlingua_record::{agent_dirs, program, table};

fn main() -> ExitCode {
    program::run(record::run)
}

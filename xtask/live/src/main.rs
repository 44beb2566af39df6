//! Runs the real agents behind the server, on a scripted model, and says what works.
//!
//! `cargo xtask live` installs the agents, builds the server and starts this program. It needs no key and no network: it
//! runs itself again where there is nothing but loopback.
//!
//! ```text
//! scenario ─▶ scripted model ◀─ agent ◀─ interlingua server ◀─ HTTP, SSE ─ player ─▶ verdict
//! ```

mod checks;
mod flow;
mod leftovers;
mod live;
mod older;
mod player;
mod server;
mod session;
mod settings;
mod stage;

use std::process::ExitCode;

use interlingua_record::program;

fn main() -> ExitCode {
    program::run(live::run)
}

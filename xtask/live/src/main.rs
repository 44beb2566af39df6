//! Runs the real agents behind the server, with a scripted model, and reports what works.
//!
//! `cargo xtask live` installs the agents, builds the server and starts this program. It needs no key and no network:
//! it runs itself again in namespaces that have only loopback.
//!
//! ```text
//! scenario ─▶ scripted model ◀─ agent ◀─ interlingua server ◀─ HTTP, SSE ─ scenario runner ─▶ verdict
//! ```

mod checks;
mod flow;
mod leftover_processes;
mod live;
mod older_versions;
mod scenario_runner;
mod server;
mod session;
mod settings;
mod test_environment;

use std::process::ExitCode;

use interlingua_record::program;

fn main() -> ExitCode {
    program::run(live::run)
}

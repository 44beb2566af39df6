//! Runs the real agents behind the server, on a scripted model, and says what works.
//!
//! `cargo xtask live` installs the agents, builds the server and starts this program. It needs no key and no network: it
//! runs itself again where there is nothing but loopback.
//!
//! ```text
//! scenario ─▶ scripted model ◀─ agent ◀─ interlingua server ◀─ HTTP, SSE ─ player ─▶ verdict
//! ```

mod api;
mod checks;
mod flow;
mod leftovers;
mod live;
mod player;
mod server;
mod session;
mod settings;
mod stage;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;
use interlingua_record::{isolation, mcp};

/// The word with which this program is an MCP server.
const MCP_SERVER: &str = "mcp-server";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode> {
    // As an MCP server it is started by an agent, in whatever way the agent starts one.
    if std::env::args().nth(1).as_deref() == Some(MCP_SERVER) {
        return mcp::serve().map(|()| ExitCode::SUCCESS);
    }
    let args = live::Args::parse();
    if let Some(code) = isolation::enter()? {
        return Ok(code);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot run anything")?;
    runtime.block_on(isolation::unless_stopped(live::run(&args)))
}

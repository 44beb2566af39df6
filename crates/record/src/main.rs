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

use anyhow::{Context as _, Result};
use clap::Parser;
use interlingua_record::{isolation, mcp, place, table};

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
    if std::env::args().nth(1).as_deref() == Some("mcp-server") {
        return mcp::serve().map(|()| ExitCode::SUCCESS);
    }
    let args = record::Args::parse();
    if let Some(code) = isolation::enter()? {
        return Ok(code);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot run anything")?;
    runtime.block_on(isolation::unless_stopped(record::run(&args)))
}

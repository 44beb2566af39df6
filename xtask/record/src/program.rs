//! The entry point of programs that run real agents.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use crate::{isolation, mcp};

/// Parses the arguments, enters the isolated run, and runs `work` in it until it is done or a signal ends it. If the
/// first argument is [`mcp::SUBCOMMAND`], the program is an MCP server instead.
pub fn run<A: Parser>(work: impl AsyncFnOnce(&A) -> Result<ExitCode>) -> ExitCode {
    try_run(work).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn try_run<A: Parser>(work: impl AsyncFnOnce(&A) -> Result<ExitCode>) -> Result<ExitCode> {
    // An agent starts the MCP server, in any environment, so it must not depend on the isolation.
    if std::env::args().nth(1).as_deref() == Some(mcp::SUBCOMMAND) {
        return mcp::serve().map(|()| ExitCode::SUCCESS);
    }
    let args = A::parse();
    if let Some(code) = isolation::enter()? {
        return Ok(code);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start a runtime")?;
    runtime.block_on(isolation::run_until_signal(work(&args)))
}

//! A program that plays with real agents, from its start to its exit code.

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser;

use crate::{isolation, mcp};

/// Reads the arguments, goes where there is nobody else, and works there until it is done or is to end. Started by an
/// agent with [`mcp::WORD`], the program is an MCP server instead.
pub fn run<A: Parser>(work: impl AsyncFnOnce(&A) -> Result<ExitCode>) -> ExitCode {
    try_run(work).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

fn try_run<A: Parser>(work: impl AsyncFnOnce(&A) -> Result<ExitCode>) -> Result<ExitCode> {
    // As an MCP server it is started by an agent, in whatever way the agent starts one.
    if std::env::args().nth(1).as_deref() == Some(mcp::WORD) {
        return mcp::serve().map(|()| ExitCode::SUCCESS);
    }
    let args = A::parse();
    if let Some(code) = isolation::enter()? {
        return Ok(code);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot run anything")?;
    runtime.block_on(isolation::unless_stopped(work(&args)))
}

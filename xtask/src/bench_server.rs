//! `cargo xtask bench-server`: how fast the server is, and how much memory it takes.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args as ClapArgs;

use crate::start::{build, start_as};

/// Measure the server: start, memory, latency, throughput, and what it costs beside `interlingua convert`
///
/// Builds the server and the program that measures it, starts the server three times with a fresh data folder, and
/// prints a table with the median of each figure and the load average of the machine, which should be otherwise idle.
/// A second table compares, for each agent, events per second of `interlingua convert FILE` with those that reach a
/// client when a stand-in plays the same file as fast as it can.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask bench-server
  cargo xtask bench-server --overhead                                only what it costs beside convert
  cargo xtask bench-server --quick                                   see whether it works, soon
  cargo xtask bench-server --base http://127.0.0.1:2468 --pid 1234   measure a server that runs; its
                                                                     token is read from INTERLINGUA_TOKEN")]
pub(crate) struct Args {
    /// Measure the server that runs here, instead of building and starting one
    #[arg(long, value_name = "URL", requires = "pid")]
    base: Option<String>,
    /// Its process, to see its memory
    #[arg(long, value_name = "PID", requires = "base")]
    pid: Option<u32>,
    /// Only compare with `interlingua convert`
    #[arg(long, conflicts_with = "base")]
    overhead: bool,
    /// A tenth of everything, with programs that are not optimised
    #[arg(long)]
    quick: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let profile = if args.quick { "dev" } else { "release" };
    let pid = args.pid.map(|pid| pid.to_string());
    let mut arguments = Vec::new();
    match (&args.base, &pid) {
        (Some(base), Some(pid)) => arguments.extend(["--base", base, "--pid", pid]),
        _ if !build(profile, "interlingua")? || !build(profile, "interlingua-replay")? => {
            return Ok(ExitCode::FAILURE);
        }
        _ => {}
    }
    if args.overhead {
        arguments.push("--overhead");
    }
    if args.quick {
        arguments.push("--quick");
    }
    start_as(profile, "interlingua-bench-server", "bench-server", &arguments)
}

//! `cargo xtask bench-server`: measures the speed and memory of the server.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args as ClapArgs;

use crate::cargo;

/// Measure the server: startup time, memory, latency, throughput, and overhead over `interlingua convert`
///
/// Builds the server and the benchmark, starts the server three times with an empty data folder, and prints a table
/// with the median of each measurement and the load average of the machine, which should be otherwise idle. A second
/// table compares, for each agent, the events per second of `interlingua convert FILE` with those that reach a client
/// when a stand-in replays the same file as fast as possible.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask bench-server
  cargo xtask bench-server --overhead                                only the overhead over convert
  cargo xtask bench-server --large-messages                          only large messages
  cargo xtask bench-server --many-sessions                           1,000 sessions on one connection, 100 readers
  cargo xtask bench-server --search 1000                             search over 1 GB of sessions
  cargo xtask bench-server --store postgres --servers 3              servers that share a store, beside one with SQLite
  cargo xtask bench-server --quick                                   a quick test run
  cargo xtask bench-server --base http://127.0.0.1:2468 --pid 1234   a running server

The token of a running server is read from INTERLINGUA_TOKEN.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// Measure the running server at this URL instead of starting one
    #[arg(long, value_name = "URL", requires = "pid")]
    base: Option<String>,
    /// Process id of that server, to measure its memory
    #[arg(long, value_name = "PID", requires = "base")]
    pid: Option<u32>,
    /// Measure only the overhead over `interlingua convert`
    #[arg(long, conflicts_with = "base")]
    overhead: bool,
    /// Only send 8 messages of 31 MiB at once, and measure health requests and memory. Fails beyond 50 ms or 400 MiB
    #[arg(long, conflicts_with_all = ["base", "overhead"])]
    large_messages: bool,
    /// Measure only the stream of many sessions, beside that of one session
    #[arg(long, conflicts_with_all = ["base", "overhead"])]
    many_sessions: bool,
    /// Measure only searching a store of this many megabytes, which is written to a temporary folder first
    #[arg(long, value_name = "MB", conflicts_with_all = ["base", "overhead", "many_sessions"])]
    search: Option<u64>,
    /// Measure only servers that share this store, `postgres`, beside one server with `SQLite`
    #[arg(long, value_name = "STORE", conflicts_with_all = ["base", "overhead", "many_sessions", "search"])]
    store: Option<String>,
    /// Number of these servers [default: 3]
    #[arg(long, value_name = "N", requires = "store")]
    servers: Option<usize>,
    /// Run a tenth of the work, with unoptimised programs
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
        _ if !cargo::build(profile, "interlingua")? || !cargo::build(profile, "interlingua-replay")? => {
            return Ok(ExitCode::FAILURE);
        }
        _ => {}
    }
    if args.overhead {
        arguments.push("--overhead");
    }
    if args.large_messages {
        arguments.push("--large-messages");
    }
    if args.many_sessions {
        arguments.push("--many-sessions");
    }
    let megabytes = args.search.map(|megabytes| megabytes.to_string());
    if let Some(megabytes) = &megabytes {
        arguments.extend(["--search", megabytes]);
    }
    if let Some(store) = &args.store {
        arguments.extend(["--store", store]);
    }
    let servers = args.servers.map(|servers| servers.to_string());
    if let Some(servers) = &servers {
        arguments.extend(["--servers", servers]);
    }
    if args.quick {
        arguments.push("--quick");
    }
    cargo::run_with_profile(profile, "interlingua-bench-server", "bench-server", &arguments)
}

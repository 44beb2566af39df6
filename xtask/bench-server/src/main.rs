//! Measures a server with the sessions API.
//!
//! `cargo xtask bench-server` starts this program. Everything is measured from outside, over HTTP and from `/proc`, so
//! that any server with the same API can be measured the same way. Each round is independent of the others, and the
//! table shows the median of the rounds. A second table compares the server with `interlingua convert`.

mod api;
mod fleet;
mod follower;
mod large_messages;
mod long_recording;
mod many_sessions;
mod memory;
mod metrics;
mod overhead;
mod process;
mod reading;
mod report;
mod round;
mod search;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::metrics::Metrics;
use crate::overhead::{Overhead, Programs};
use crate::process::Server;

/// Measure the speed and the memory use of a server with the sessions API.
///
/// Without --base, a server is started for each round, with its own data folder that is removed afterwards. Then
/// stand-ins for the agents replay long recordings as fast as they can, and the events per second through the server
/// and SSE are compared with those of `interlingua convert` on the same file.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(
    name = "bench-server",
    after_help = "\
Examples:
  cargo xtask bench-server
  cargo xtask bench-server --overhead
  cargo xtask bench-server --large-messages
  cargo xtask bench-server --many-sessions
  cargo xtask bench-server --search 1000
  cargo xtask bench-server --store postgres --servers 3
  cargo xtask bench-server --base http://127.0.0.1:2468 --pid $(pgrep -x interlingua)"
)]
struct Args {
    /// Measure the running server with this base URL instead of starting one
    #[arg(long, value_name = "URL", requires = "pid")]
    base: Option<String>,
    /// Process id of that server, to read its memory
    #[arg(long, value_name = "PID", requires = "base")]
    pid: Option<u32>,
    /// Token of that server; by default `INTERLINGUA_TOKEN`
    #[arg(long, value_name = "TOKEN", requires = "base")]
    token: Option<String>,
    /// Program to start; by default the `interlingua` beside this program
    #[arg(long, value_name = "FILE", conflicts_with = "base")]
    server: Option<PathBuf>,
    /// Folder with the recordings that stand-ins replay
    #[arg(long, value_name = "FOLDER", default_value = "snapshots/transcripts")]
    transcripts: PathBuf,
    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Only compare with `interlingua convert`
    #[arg(long, conflicts_with = "base")]
    overhead: bool,
    /// Only measure 8 messages of 31 MiB at once: latency of health requests, and memory. Fails beyond 50 ms or 400 MiB
    #[arg(long, conflicts_with_all = ["base", "overhead"])]
    large_messages: bool,
    /// Only measure the stream of many sessions, beside that of one session
    #[arg(long, conflicts_with_all = ["base", "overhead"])]
    many_sessions: bool,
    /// Only measure searching a store of this many megabytes, which is written first
    #[arg(long, value_name = "MB", conflicts_with_all = ["base", "overhead", "many_sessions"])]
    search: Option<u64>,
    /// Only measure servers that share a store in Postgres, beside one server with `SQLite`
    #[arg(long, value_name = "STORE", conflicts_with_all = ["base", "overhead", "many_sessions", "search"])]
    store: Option<SharedStore>,
    /// Number of these servers
    #[arg(long, value_name = "N", default_value_t = 3, requires = "store")]
    servers: usize,
    /// Do a tenth of the work: a test that it works, not a measurement
    #[arg(long)]
    quick: bool,
}

/// A store that servers share.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum SharedStore {
    Postgres,
}

fn main() -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    match runtime.block_on(run(Args::parse())) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

/// Runs the measurement. Returns whether it is within its bounds, if it has any.
async fn run(args: Args) -> Result<bool> {
    if args.rounds == 0 {
        bail!("--rounds 0 would measure nothing");
    }
    raise_file_limit()?;
    let token = args.token.clone().or_else(|| std::env::var("INTERLINGUA_TOKEN").ok());
    let load_before = load_average()?;
    if let Some(megabytes) = args.search {
        let program = args.server.map_or_else(|| find_sibling("interlingua"), Ok)?;
        let folder = tempfile::tempdir()?;
        let metrics = search::measure(&program, folder.path(), megabytes * 1_000_000).await?;
        report::print_search(&metrics);
        report::print_load(&format!("{load_before} before, {} after", load_average()?), args.quick);
        return Ok(true);
    }
    if let Some(SharedStore::Postgres) = args.store {
        measure_fleet(&args).await?;
        report::print_load(&format!("{load_before} before, {} after", load_average()?), args.quick);
        return Ok(true);
    }
    if args.many_sessions {
        let program = args.server.map_or_else(|| find_sibling("interlingua"), Ok)?;
        let scale = if args.quick { many_sessions::Scale::quick() } else { many_sessions::Scale::full() };
        let mut rounds = Vec::new();
        for number in 1..=args.rounds {
            eprintln!("round {number} of {}", args.rounds);
            let server = Server::start(&program).await?;
            rounds.push(many_sessions::measure(&api::Api::new(&server.base, None)?, scale).await?);
            server.stop().await?;
        }
        report::print_fan_out(many_sessions::FanOut::median(&mut rounds), scale, rounds.len());
        report::print_load(&format!("{load_before} before, {} after", load_average()?), args.quick);
        return Ok(true);
    }
    let scale = if args.quick { round::Scale::quick() } else { round::Scale::full() };
    let (mut rounds, mut comparisons, mut large) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=args.rounds {
        eprintln!("round {number} of {}", args.rounds);
        if let (Some(base), Some(pid)) = (&args.base, args.pid) {
            rounds.push(round::measure(&api::Api::new(base, token.as_deref())?, pid, number, scale).await?);
            continue;
        }
        let program = args.server.clone().map_or_else(|| find_sibling("interlingua"), Ok)?;
        if args.large_messages {
            large.push(large_messages::measure(&program).await?);
            continue;
        }
        if !args.overhead {
            rounds.push(measure_new_server(&program, number, scale).await?);
        }
        let programs = Programs {
            interlingua: program,
            replay: find_sibling("interlingua-replay")?,
            transcripts: args.transcripts.clone(),
        };
        comparisons.push(overhead::measure(&programs, scale.lines).await?);
    }
    if !rounds.is_empty() {
        report::print_metrics(&Metrics::medians(&rounds), rounds.len());
    }
    if !comparisons.is_empty() {
        report::print_overhead(&Overhead::medians(&comparisons), comparisons.len());
    }
    // Unoptimised programs are not within the bounds.
    let is_within_bounds = large.is_empty() || large_messages::print(&large) || args.quick;
    report::print_load(&format!("{load_before} before, {} after", load_average()?), args.quick);
    Ok(is_within_bounds)
}

/// Measures servers that share a store and one with a store of its own, in turns.
async fn measure_fleet(args: &Args) -> Result<()> {
    let program = args.server.clone().map_or_else(|| find_sibling("interlingua"), Ok)?;
    let scale = if args.quick { fleet::Scale::quick() } else { fleet::Scale::full() };
    let (mut sqlite, mut postgres) = (Vec::new(), Vec::new());
    for number in 1..=args.rounds {
        eprintln!("round {number} of {}", args.rounds);
        sqlite.push(fleet::measure_sqlite(&program, scale).await?);
        postgres.push(fleet::measure_postgres(&program, args.servers, scale).await?);
    }
    fleet::print(&sqlite, &postgres, args.servers, scale);
    Ok(())
}

/// Starts a server, measures it, and stops it.
async fn measure_new_server(program: &Path, number: usize, scale: round::Scale) -> Result<Metrics> {
    let server = Server::start(program).await?;
    let api = api::Api::new(&server.base, None)?;
    let mut metrics = round::measure(&api, server.pid(), number, scale).await?;
    metrics.start = Some(server.start);
    server.stop().await?;
    Ok(metrics)
}

/// Finds a program in the folder of this one.
fn find_sibling(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot determine the path of this program")?;
    let program = own.with_file_name(name);
    if !program.exists() {
        bail!("{} does not exist: build it with `cargo build --release --package {name}`", program.display());
    }
    Ok(program)
}

/// Raises the limit of open files, because every reader is a connection. The server inherits the limit.
fn raise_file_limit() -> Result<()> {
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits })
        .context("cannot raise the limit of open files")
}

fn load_average() -> Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg").context("cannot read the load average")?;
    Ok(load.split(' ').next().unwrap_or_default().to_owned())
}

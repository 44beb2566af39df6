//! Measures a server that speaks the sessions API.
//!
//! Started by `cargo xtask bench-server`. Everything is measured from outside, over HTTP and from `/proc`, so that any
//! server with the same API can be measured the same way. Each round is independent of the others, and the table has
//! the median of the rounds. What the server costs beside `interlingua convert` is a table of its own.

mod api;
mod figures;
mod follower;
mod long_log;
mod memory;
mod overhead;
mod process;
mod reading;
mod round;
mod table;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::figures::Figures;
use crate::overhead::{Overhead, Programs};
use crate::process::Server;

/// Measure a server that speaks the sessions API: how fast it is, and how much memory it takes.
///
/// Without --base, a server is started for each round, with a data folder of its own that is removed afterwards. Then
/// agents' stand-ins play long recordings as fast as they can, and events per second through the server and SSE are
/// compared with what `interlingua convert` does on the same file.
#[derive(Debug, Parser)]
#[command(
    name = "bench-server",
    after_help = "\
Examples:
  cargo xtask bench-server
  cargo xtask bench-server --overhead
  cargo xtask bench-server --base http://127.0.0.1:2468 --pid $(pgrep -x interlingua)"
)]
struct Args {
    /// Measure the server that runs here, instead of starting one
    #[arg(long, value_name = "URL", requires = "pid")]
    base: Option<String>,
    /// Its process, to see its memory
    #[arg(long, value_name = "PID", requires = "base")]
    pid: Option<u32>,
    /// Its token, if it has one; `INTERLINGUA_TOKEN` when not given
    #[arg(long, value_name = "TOKEN", requires = "base")]
    token: Option<String>,
    /// The program to start; the `interlingua` beside this one when not given
    #[arg(long, value_name = "FILE", conflicts_with = "base")]
    server: Option<PathBuf>,
    /// Where the recordings are that stand-ins play
    #[arg(long, value_name = "FOLDER", default_value = "snapshots/transcripts")]
    transcripts: PathBuf,
    /// How many rounds to take the median of
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Only compare with `interlingua convert`
    #[arg(long, conflicts_with = "base")]
    overhead: bool,
    /// A tenth of everything: to see whether it works, not how fast
    #[arg(long)]
    quick: bool,
}

fn main() -> ExitCode {
    let tokio = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(tokio) => tokio,
        Err(error) => return failed(&error.into()),
    };
    match tokio.block_on(run(Args::parse())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

async fn run(args: Args) -> Result<()> {
    if args.rounds == 0 {
        bail!("--rounds 0 would measure nothing");
    }
    raise_file_limit()?;
    let token = args.token.or_else(|| std::env::var("INTERLINGUA_TOKEN").ok());
    let load_before = load_average()?;
    let scale = if args.quick { round::Scale::tenth() } else { round::Scale::whole() };
    let (mut rounds, mut compared) = (Vec::new(), Vec::new());
    for number in 1..=args.rounds {
        eprintln!("round {number} of {}", args.rounds);
        if let (Some(base), Some(pid)) = (&args.base, args.pid) {
            rounds.push(round::measure(&api::Api::new(base, token.as_deref())?, pid, number, scale).await?);
            continue;
        }
        let program = args.server.clone().map_or_else(|| beside_this_one("interlingua"), Ok)?;
        if !args.overhead {
            rounds.push(started(&program, number, scale).await?);
        }
        let programs = Programs {
            interlingua: program,
            replay: beside_this_one("interlingua-replay")?,
            transcripts: args.transcripts.clone(),
        };
        compared.push(overhead::measure(&programs, scale.lines).await?);
    }
    if !rounds.is_empty() {
        table::print(&Figures::medians(&rounds), rounds.len());
    }
    if !compared.is_empty() {
        table::print_overhead(&Overhead::medians(&compared), compared.len());
    }
    table::print_load(&format!("{load_before} before, {} after", load_average()?), args.quick);
    Ok(())
}

/// Starts a server, measures it, and ends it.
async fn started(program: &Path, number: usize, scale: round::Scale) -> Result<Figures> {
    let server = Server::start(program).await?;
    let api = api::Api::new(&server.base, None)?;
    let mut figures = round::measure(&api, server.pid(), number, scale).await?;
    figures.start = Some(server.start);
    server.stop().await?;
    Ok(figures)
}

fn beside_this_one(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    let program = own.with_file_name(name);
    if !program.exists() {
        bail!("there is no {}: build it with `cargo build --release --package {name}`", program.display());
    }
    Ok(program)
}

/// Every reader is a connection. The server that is started inherits this.
fn raise_file_limit() -> Result<()> {
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits })
        .context("cannot have as many connections as are measured")
}

fn load_average() -> Result<String> {
    let load = std::fs::read_to_string("/proc/loadavg").context("cannot read the load average")?;
    Ok(load.split(' ').next().unwrap_or_default().to_owned())
}

//! Benchmarks over the recordings of this repository.
//!
//! A benchmark has a task that is measured and baselines that read the same bytes. Each is measured twice: by time, where
//! the tasks alternate in the same run, and by instructions, which other load on the machine does not change. Instructions
//! are counted by callgrind, a tool of valgrind, if it is installed.

mod callgrind;
mod report;
mod timing;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use interlingua_recordings::{RecordingFile, Transcripts};
use serde_json::json;

/// A benchmark.
#[derive(Clone, Copy)]
pub struct Benchmark {
    /// Its name, which is that of the bench target.
    pub name: &'static str,
    /// Ids of the agents whose recordings it reads.
    pub agents: &'static [&'static str],
    /// Reads the recordings of one agent.
    pub load: fn(&str, &[RecordingFile]) -> Result<Corpus>,
}

/// The recordings of one agent, and what is done with them.
pub struct Corpus {
    /// Number of native payloads.
    pub lines: usize,
    /// Number of bytes of these payloads.
    pub bytes: usize,
    /// The task that is measured, and then the baselines.
    pub tasks: Vec<Task>,
}

/// Something that is done with a corpus.
pub struct Task {
    /// Its name in the report.
    pub name: &'static str,
    /// Does it once, with the whole corpus.
    pub work: Box<dyn FnMut()>,
}

impl Task {
    /// A task.
    pub fn new(name: &'static str, work: impl FnMut() + 'static) -> Self {
        Self { name, work: Box::new(work) }
    }
}

/// Measure work over the recordings of this repository
#[derive(Parser)]
struct Args {
    /// Only count the instructions of the measured task, and print one JSON object per agent
    #[arg(long)]
    figures: bool,
    /// Versions to read, such as codex/0.98.0; default: all
    #[arg(long, value_delimiter = ',', value_name = "AGENT/VERSION")]
    versions: Vec<String>,
    /// Run one task while callgrind counts
    #[arg(long, hide = true, num_args = 2, value_names = ["AGENT", "TASK"])]
    count: Vec<String>,
    /// Passed by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
}

/// Runs a benchmark as the command line says.
#[must_use]
pub fn run(benchmark: &Benchmark) -> ExitCode {
    match run_with(benchmark, &Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error:#}", benchmark.name);
            ExitCode::FAILURE
        }
    }
}

fn run_with(benchmark: &Benchmark, args: &Args) -> Result<()> {
    if let [agent, task] = args.count.as_slice() {
        let mut corpus = load(benchmark, agent, &args.versions)?.0;
        let Some(task) = corpus.tasks.iter_mut().find(|found| found.name == task) else {
            bail!("there is no task `{task}`");
        };
        callgrind::run_counted_task(task);
        return Ok(());
    }
    if args.figures {
        return print_figures(benchmark, &args.versions);
    }
    let can_count = callgrind::is_installed();
    println!("{}", benchmark.name);
    for agent in benchmark.agents {
        let (mut corpus, _) = load(benchmark, agent, &args.versions)?;
        let times = timing::measure(&mut corpus);
        let count = |task: &Task| callgrind::count(agent, task.name, &args.versions);
        let counts = if can_count { corpus.tasks.iter().map(count).collect::<Result<_>>()? } else { Vec::new() };
        print!("{}", report::table(agent, &corpus, &times, &counts));
    }
    if !can_count {
        println!("\nInstructions are not counted, because valgrind is not installed (`apt install valgrind`).");
    }
    Ok(())
}

/// Prints the instructions per line of the measured task, as one line of JSON per agent.
fn print_figures(benchmark: &Benchmark, versions: &[String]) -> Result<()> {
    if !callgrind::is_installed() {
        bail!("valgrind, which counts the instructions, is not installed; on Debian: `apt install valgrind`");
    }
    for agent in benchmark.agents {
        let (corpus, versions_read) = load(benchmark, agent, versions)?;
        let task = corpus.tasks.first().context("the benchmark has no task")?;
        let instructions = callgrind::count(agent, task.name, versions)? / corpus.lines.max(1) as u64;
        let figures = json!({
            "benchmark": benchmark.name,
            "agent": agent,
            "versions": versions_read,
            "lines": corpus.lines,
            "instructions": instructions,
        });
        println!("{figures}");
    }
    Ok(())
}

/// Reads the recordings of an agent. Returns also the versions that were read.
fn load(benchmark: &Benchmark, agent: &str, versions: &[String]) -> Result<(Corpus, Vec<String>)> {
    let mut files = Transcripts::in_repository().for_agent(agent)?;
    if !versions.is_empty() {
        files.retain(|file| versions.contains(&format!("{agent}/{}", file.version)));
    }
    let mut versions_read: Vec<String> = files.iter().map(|file| file.version.clone()).collect();
    versions_read.dedup();
    let corpus = (benchmark.load)(agent, &files).with_context(|| format!("cannot read the recordings of {agent}"))?;
    Ok((corpus, versions_read))
}

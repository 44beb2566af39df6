//! `cargo xtask bench`: measures decoding and conversion, and compares them with the last release.

mod figures;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args as ClapArgs;

use self::figures::{Figures, Measured};
use crate::repository::Repository;
use crate::{atomic_write, cargo, console};

/// The figures of the last release.
const FIGURES_FILE: &str = "xtask/bench/figures.toml";
/// The benchmarks whose instructions are compared.
const COMPARED: [&str; 2] = ["decode", "convert"];

/// Measure decoding and conversion of the recordings, by time and by instructions
///
/// Prints, for each agent, the speed and the instructions per line beside those of baselines that read the same bytes:
/// the reader's own skipping of whole lines, and parsing to `serde_json::Value`. Conversion is measured with the system's
/// allocator and with that of the `interlingua` program.
///
/// Instructions are counted by callgrind, so valgrind must be installed. Unlike time, they do not depend on what else runs
/// on the machine.
#[derive(ClapArgs)]
#[command(after_long_help = "\
Examples:
  cargo xtask bench            measure and print
  cargo xtask bench --check    exit 1 if a line takes 3 % more instructions than in the last release
  cargo xtask bench --save     save the instructions per line, for a release

The figures of the last release are in xtask/bench/figures.toml. `--check` reads the recordings that it names.")]
pub(crate) struct Args {
    /// Compare the instructions per line with the last release, and exit 1 if they have grown by more than 3 %
    #[arg(long, conflicts_with = "save")]
    check: bool,
    /// Save the instructions per line as the figures of the last release
    #[arg(long)]
    save: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let repository = Repository::find()?;
    let file = repository.root().join(FIGURES_FILE);
    if args.check {
        return check(&file);
    }
    if args.save {
        let Some(measured) = count(&[])? else { return Ok(ExitCode::FAILURE) };
        let figures = Figures::new(cargo::compiler_version()?, measured);
        atomic_write::write_files([(file.as_path(), figures.to_toml()?.as_str())])?;
        console::log(format_args!("wrote {FIGURES_FILE}"));
        return Ok(ExitCode::SUCCESS);
    }
    cargo::run_benches(&["decode", "convert", "convert-mimalloc"], &[])
}

fn check(file: &Path) -> Result<ExitCode> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let saved = Figures::parse(&text).with_context(|| format!("cannot parse {}", file.display()))?;
    let compiler = cargo::compiler_version()?;
    if compiler != saved.compiler {
        let saved = &saved.compiler;
        console::log(format_args!("warning: {FIGURES_FILE} was saved with {saved}, and this is {compiler}"));
    }
    let Some(measured) = count(&saved.versions())? else { return Ok(ExitCode::FAILURE) };
    let comparison = saved.compare(&measured);
    print!("{}", comparison.table);
    for issue in &comparison.issues {
        console::log(format_args!("error: {issue}"));
    }
    Ok(if comparison.issues.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Counts the instructions of the compared benchmarks in the recordings of these versions, or of all. `None` if a benchmark
/// failed.
fn count(versions: &[String]) -> Result<Option<Vec<Measured>>> {
    let versions = versions.join(",");
    let mut arguments = vec!["--figures"];
    if !versions.is_empty() {
        arguments.extend(["--versions", &versions]);
    }
    let Some(output) = cargo::capture_benches(&COMPARED, &arguments)? else { return Ok(None) };
    figures::parse_measured(&output).map(Some)
}

//! The command line of an audit.

use std::io::Write as _;

use anyhow::Context as _;
use interlingua_convert::Agent;
use interlingua_wirelog::Reader;

use super::report::{FileReport, audit};
use super::table;
use crate::Outcome;
use crate::log;
use crate::output::Output;

/// See whether our types fit what an agent really sends.
///
/// For every native type in a log: how many lines there are, how many decode, what was left out because it does not fit
/// or lacks a needed field, and what the types do not know. Exits with 1 when a tag is unknown or a payload malformed;
/// the rest is only told.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua audit recording.jsonl
  claude -p hi --output-format stream-json --verbose | interlingua audit -
  interlingua audit --strict --json logs/*.jsonl")]
pub struct Args {
    /// Logs, or `-` for standard input
    #[arg(value_name = "FILE|-", required = true)]
    files: Vec<String>,
    /// Whose logs they are: claude, codex, opencode or amp; found out from each log when left out
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print a JSON array, one object per file
    #[arg(long)]
    json: bool,
    /// Exit with 1 for unknown fields, unknown values and left out parts too
    #[arg(long)]
    strict: bool,
}

/// Runs the command. A file that cannot be audited does not keep the others from it.
///
/// # Errors
/// When the last file that could not be audited could not.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let given = log::named(args.agent.as_deref())?;
    let mut output = Output::new();
    let mut reports = Vec::new();
    let mut problems = Vec::new();
    for file in &args.files {
        match audit_file(file, given, &output) {
            Ok(report) => reports.push(report),
            Err(problem) => problems.push(problem),
        }
    }
    if args.json {
        serde_json::to_writer_pretty(&mut output, &reports)?;
        writeln!(output)?;
    } else {
        for report in &reports {
            table::write(report, &mut output)?;
        }
    }
    output.flush()?;
    if let Some(last) = problems.pop() {
        for problem in problems {
            eprintln!("error: {problem:#}");
        }
        return Err(last);
    }
    Ok(Outcome::found_if(reports.iter().any(|report| report.fails(args.strict))))
}

fn audit_file(file: &str, given: Option<Agent>, output: &Output) -> anyhow::Result<FileReport> {
    let cannot_read = || format!("cannot read {file}");
    let mut reader = Reader::new(log::open(file, output)?).with_context(cannot_read)?;
    let agent = log::agent(file, &mut reader, given)?;
    audit(file, &mut reader, agent).with_context(cannot_read)
}

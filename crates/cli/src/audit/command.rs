//! The command line of `interlingua audit`.

use std::io::Write as _;

use anyhow::Context as _;
use interlingua_convert::Agent;
use interlingua_wirelog::Reader;

use super::report::{FileReport, audit};
use super::table;
use crate::Outcome;
use crate::agent_log;
use crate::output::Output;
use crate::parallel::{ErrorList, for_each_file};

/// Check whether Interlingua's native types match the payloads that an agent really sends.
///
/// For every native type in a log: the number of lines, how many of them decode, parts that were left out because they
/// do not match or lack a required field, and fields and values that the types do not know. Exits with 1 if a tag is
/// unknown or a payload is malformed; everything else is only reported, unless --strict is set. Several logs are audited
/// at the same time, on all cores.
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
    /// Agent of the logs: claude, codex, opencode, amp or acp [default: detected from each log]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Print a JSON array, one object per file
    #[arg(long)]
    json: bool,
    /// Exit with 1 also for unknown fields, unknown values and parts that were left out
    #[arg(long)]
    strict: bool,
}

/// Runs the command. Continues with the other files if one cannot be audited.
///
/// # Errors
/// If any file cannot be audited. The error is that of the last such file; the others are printed.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let given = agent_log::parse_agent(args.agent.as_deref())?;
    let mut reports = Vec::new();
    let mut errors = ErrorList::default();
    for_each_file(
        &args.files,
        |file, output| audit_file(file, given, &output),
        |result| match result {
            Ok(report) => {
                reports.push(report);
                Ok(())
            }
            Err(error) => errors.push(error),
        },
    )?;
    let mut output = Output::new();
    if args.json {
        serde_json::to_writer_pretty(&mut output, &reports)?;
        writeln!(output)?;
    } else {
        for report in &reports {
            table::write(report, &mut output)?;
        }
    }
    output.flush()?;
    errors.finish()?;
    Ok(Outcome::issues_if(reports.iter().any(|report| report.has_issues(args.strict))))
}

fn audit_file(file: &str, given: Option<Agent>, output: &Output) -> anyhow::Result<FileReport> {
    let cannot_read = || format!("cannot read {file}");
    let mut reader = Reader::new(agent_log::open(file, output)?).with_context(cannot_read)?;
    let agent = agent_log::resolve_agent(file, &mut reader, given)?;
    audit(file, &mut reader, agent).with_context(cannot_read)
}

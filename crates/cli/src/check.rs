//! `interlingua check`: checks a universal event stream against the lifecycle rules.

use std::io::{BufRead, Write};

use anyhow::{Context, bail};
use interlingua_schema::Checker;

use crate::Outcome;
use crate::agent_log;
use crate::output::Output;

/// Check a universal event stream against the lifecycle rules L1 to L18.
///
/// Prints one line per violation, such as `L5 seq 17: …`, and exits with 1 if there is any.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua check events.jsonl
  interlingua convert recording.jsonl | interlingua check -")]
pub struct Args {
    /// Universal events, one JSON object per line, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    file: String,
}

/// Runs the command.
///
/// # Errors
/// If the file cannot be read, or is an agent's log instead of universal events.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut output = Output::new();
    let input = agent_log::open(&args.file, &output)?;
    let counts = check(&args.file, input, &mut output)?;
    output.flush()?;
    eprintln!("{}: {} events, {} violations", args.file, counts.events, counts.violations);
    Ok(Outcome::issues_if(counts.violations > 0))
}

/// Result of a check.
#[derive(Debug, Default)]
struct Counts {
    events: u64,
    violations: u64,
}

fn check(file: &str, mut input: impl BufRead, output: &mut impl Write) -> anyhow::Result<Counts> {
    let mut checker = Checker::new();
    let mut counts = Counts::default();
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).with_context(|| format!("cannot read {file}"))? == 0 {
            return Ok(counts);
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let result = match std::str::from_utf8(&line) {
            Ok(text) => checker.push_line(text).map_err(|error| error.to_string()),
            Err(_) => Err("expected UTF-8, found other bytes".to_owned()),
        };
        match result {
            Ok(violations) => {
                counts.events += 1;
                counts.violations += violations.len() as u64;
                for violation in violations {
                    writeln!(output, "{violation}")?;
                }
            }
            Err(_) if counts.events == 0 && is_agent_log(&line) => {
                bail!(
                    "{file} is an agent's log; check its events with `interlingua convert {file} | interlingua check -`"
                );
            }
            Err(reason) => {
                counts.violations += 1;
                writeln!(output, "line {number}: {reason}")?;
            }
        }
    }
}

/// Whether a line is the header of a wirelog or a payload of an agent.
fn is_agent_log(line: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(line) else { return false };
    text.trim_start().starts_with("{\"wirelog\"") || interlingua_convert::detect_agent(text).is_some()
}

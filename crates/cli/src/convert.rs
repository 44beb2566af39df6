//! `interlingua convert`: a log as universal events.

use std::io::Write as _;

use anyhow::Context;
use interlingua_convert::{Options, Stream, convert_log};
use interlingua_schema::UniversalEvent;
use interlingua_wirelog::Reader;

use crate::Outcome;
use crate::log;
use crate::output::Output;

/// Turn an agent's log into universal events, one JSON object a line.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A line that makes no sense becomes an `agent.unparsed` event and the rest goes on.

Examples:
  interlingua convert recording.jsonl > events.jsonl
  codex exec --json 'fix the test' | interlingua convert -
  interlingua convert --agent amp --raw --pretty amp-output.jsonl")]
pub struct Args {
    /// The log, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    file: String,
    /// Whose log it is: claude, codex, opencode or amp; found out from the log when left out
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Keep each event's native payload, byte for byte
    #[arg(long)]
    raw: bool,
    /// Write each event over several lines, for reading
    #[arg(long)]
    pretty: bool,
    /// Exit with 1 if anything could not be read, and say what came first
    #[arg(long)]
    strict: bool,
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read, nobody can tell whose it is, or the output cannot be written.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let given = log::named(args.agent.as_deref())?;
    let mut output = Output::new();
    let file = args.file.as_str();
    let cannot_read = || format!("cannot read {file}");
    let mut reader = Reader::new(log::open(file, &output)?).with_context(cannot_read)?;
    let agent = log::agent(file, &mut reader, given)?;
    let mut stream = Stream::new(agent.converter(), Options { raw: args.raw, ..Options::default() });
    let mut line = Vec::new();
    let write = |event: UniversalEvent| {
        line.clear();
        if args.pretty {
            serde_json::to_writer_pretty(&mut line, &event)?;
        } else {
            event.write_json(&mut line)?;
        }
        line.push(b'\n');
        output.write_all(&line)
    };
    convert_log(&mut reader, &mut stream, write).with_context(|| format!("cannot convert {file}"))?;
    output.flush()?;
    let tally = stream.tally();
    match &tally.first_unparsed {
        Some(reason) if args.strict => {
            eprintln!("{file}: {} of {} payloads could not be read; {reason}", tally.unparsed, tally.payloads);
            Ok(Outcome::Found)
        }
        _ => Ok(Outcome::Fine),
    }
}

//! `interlingua convert`: a log as universal events, or as the bounded envelope.

use std::fmt::Write as _;
use std::io::{self, Write};

use anyhow::{Context, bail};
use interlingua_convert::{
    Conversion, ConversionOptions, ConversionStats, UnparsedReason, convert_log, convert_log_to_writer, converter_for,
};
use interlingua_envelope::{EnvelopeLine, Projector};
use interlingua_schema::{EventData, UniversalEvent};
use interlingua_wirelog::Reader;
use serde::Serialize;

use crate::Outcome;
use crate::log;
use crate::output::Output;

/// How many reasons `--strict` lists.
const MAX_REASONS: usize = 50;

/// Turn an agent's log into universal events, one JSON object a line.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "one for each flag")]
#[command(after_help = "\
A line that makes no sense becomes an `agent.unparsed` event and the rest goes on.

With --envelope the events are bounded and carry no tool's input or output, only how much of it there was. After the last \
event of each session comes a line {\"completion\": …} with the final text. `interlingua schema --envelope` describes both.

Examples:
  interlingua convert recording.jsonl > events.jsonl
  codex exec --json 'fix the test' | interlingua convert -
  interlingua convert --agent amp --raw --pretty amp-output.jsonl
  interlingua convert --envelope recording.jsonl > envelope.jsonl")]
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
    /// Write the bounded envelope instead: what was said, and of tools only what they are and how they went
    #[arg(long)]
    envelope: bool,
    /// Write each event over several lines, for reading
    #[arg(long)]
    pretty: bool,
    /// Exit with 1 if any payload could not be read or lost a part, and list what, where, why and how often
    #[arg(long)]
    strict: bool,
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read, nobody can tell whose it is, the output cannot be written, or two flags contradict.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.raw && args.envelope {
        bail!("--raw keeps native payloads, which the envelope never carries; leave out --raw or --envelope");
    }
    let given = log::named(args.agent.as_deref())?;
    let output = Output::new();
    let file = args.file.as_str();
    let cannot_read = || format!("cannot read {file}");
    let mut reader = Reader::new(log::open(file, &output)?).with_context(cannot_read)?;
    let agent = log::agent(file, &mut reader, given)?;
    let mut stream = Conversion::new(converter_for(agent), ConversionOptions::with_raw(args.raw));
    let mut lines = Lines { output, is_pretty: args.pretty, line: Vec::new() };
    let cannot_convert = || format!("cannot convert {file}");
    if args.envelope {
        let mut projector = Projector::new(agent);
        convert_log(&mut reader, &mut stream, |event| lines.project(&mut projector, &event))
            .with_context(cannot_convert)?;
        projector.finish().try_for_each(|completion| lines.envelope(&EnvelopeLine::Completion(completion)))?;
    } else if args.pretty {
        convert_log(&mut reader, &mut stream, |event| lines.pretty(&event)).with_context(cannot_convert)?;
    } else {
        convert_log_to_writer(&mut reader, &mut stream, &mut lines.output).with_context(cannot_convert)?;
    }
    lines.output.flush()?;
    let tally = stream.stats();
    if args.strict && tally.unparsed > 0 {
        eprint!("{}", unparsed_report(file, tally));
    }
    Ok(Outcome::found_if(args.strict && tally.unparsed > 0))
}

/// What could not be read or lost a part, the most frequent first.
fn unparsed_report(file: &str, tally: &ConversionStats) -> String {
    let mut report =
        format!("{file}: {} of {} payloads could not be read or lost a part\n", tally.unparsed, tally.payloads);
    let mut reasons: Vec<_> = tally.unparsed_reasons.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (UnparsedReason { native_type, error, .. }, count) in reasons.iter().take(MAX_REASONS) {
        let native_type = native_type.as_deref().unwrap_or("no type");
        let _ = writeln!(report, "  {count}x {native_type}: {error}");
    }
    if reasons.len() > MAX_REASONS {
        let _ = writeln!(report, "  and {} more reasons", reasons.len() - MAX_REASONS);
    }
    report
}

/// The output, one value a line unless it is for reading.
struct Lines {
    output: Output,
    is_pretty: bool,
    line: Vec<u8>,
}

impl Lines {
    fn pretty(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer_pretty(&mut self.line, value)?;
        self.end()
    }

    /// The envelope of an event, and what its session came to if it was the last.
    fn project(&mut self, projector: &mut Projector, event: &UniversalEvent) -> io::Result<()> {
        projector.push(event).try_for_each(|event| self.envelope(&EnvelopeLine::Event(event)))?;
        if let EventData::SessionEnded(_) = event.data
            && let Some(completion) = projector.complete(&event.session_id)
        {
            self.envelope(&EnvelopeLine::Completion(completion))?;
        }
        Ok(())
    }

    fn envelope(&mut self, line: &EnvelopeLine) -> io::Result<()> {
        if self.is_pretty {
            return self.pretty(line);
        }
        self.line.clear();
        line.write_json(&mut self.line)?;
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        self.output.write_all(&self.line)
    }
}

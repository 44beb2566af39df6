//! `interlingua convert`: converts a log into universal events or the bounded envelope.

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
use crate::agent_log;
use crate::output::Output;

/// Maximum number of reasons that `--strict` lists.
const MAX_REASONS: usize = 50;

/// Convert an agent's log into universal events, one JSON object per line.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "one per flag")]
#[command(after_help = "\
A line that cannot be parsed becomes an `agent.unparsed` event, and the conversion continues.

With --envelope, events have a bounded size and do not contain the input or output of tools, only its size. The last event \
of each session is followed by a line {\"completion\": …} with the final text. `interlingua schema --envelope` \
describes both.

Examples:
  interlingua convert recording.jsonl > events.jsonl
  codex exec --json 'fix the test' | interlingua convert -
  interlingua convert --agent amp --raw --pretty amp-output.jsonl
  interlingua convert --envelope recording.jsonl > envelope.jsonl")]
pub struct Args {
    /// The log, or `-` for standard input
    #[arg(value_name = "FILE|-")]
    file: String,
    /// Agent of the log: claude, codex, opencode, amp or acp [default: detected from the log]
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Include each event's native payload, byte for byte
    #[arg(long)]
    raw: bool,
    /// Write the bounded envelope: messages, and only name and status of tools
    #[arg(long)]
    envelope: bool,
    /// Write each event as indented JSON
    #[arg(long)]
    pretty: bool,
    /// Exit with 1 if any payload could not be parsed completely, and list the reasons
    #[arg(long)]
    strict: bool,
}

/// Runs the command.
///
/// # Errors
/// If the log cannot be read, its agent cannot be detected, the output cannot be written, or two flags conflict.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.raw && args.envelope {
        bail!("the envelope never contains native payloads; leave out --raw or --envelope");
    }
    let given = agent_log::parse_agent(args.agent.as_deref())?;
    let output = Output::new();
    let file = args.file.as_str();
    let cannot_read = || format!("cannot read {file}");
    let mut reader = Reader::new(agent_log::open(file, &output)?).with_context(cannot_read)?;
    let agent = agent_log::resolve_agent(file, &mut reader, given)?;
    let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::with_raw(args.raw));
    let mut writer = LineWriter { output, is_pretty: args.pretty, line: Vec::new() };
    let cannot_convert = || format!("cannot convert {file}");
    if args.envelope {
        let mut projector = Projector::new(agent);
        convert_log(&mut reader, &mut conversion, |event| writer.write_projection(&mut projector, &event))
            .with_context(cannot_convert)?;
        projector.finish().try_for_each(|completion| writer.write_envelope(&EnvelopeLine::Completion(completion)))?;
    } else if args.pretty {
        convert_log(&mut reader, &mut conversion, |event| writer.write_pretty(&event)).with_context(cannot_convert)?;
    } else {
        convert_log_to_writer(&mut reader, &mut conversion, &mut writer.output).with_context(cannot_convert)?;
    }
    writer.output.flush()?;
    let stats = conversion.stats();
    if args.strict && stats.unparsed > 0 {
        eprint!("{}", unparsed_report(file, stats));
    }
    Ok(Outcome::issues_if(args.strict && stats.unparsed > 0))
}

/// Lists why payloads could not be parsed completely, most frequent reason first.
fn unparsed_report(file: &str, stats: &ConversionStats) -> String {
    let mut report =
        format!("{file}: {} of {} payloads could not be parsed completely\n", stats.unparsed, stats.payloads);
    let mut reasons: Vec<_> = stats.unparsed_reasons.iter().collect();
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

/// Writes one JSON value per line, or indented JSON.
struct LineWriter {
    output: Output,
    is_pretty: bool,
    line: Vec<u8>,
}

impl LineWriter {
    fn write_pretty(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer_pretty(&mut self.line, value)?;
        self.write_line()
    }

    /// Writes the envelope of an event, and the completion after the last event of a session.
    fn write_projection(&mut self, projector: &mut Projector, event: &UniversalEvent) -> io::Result<()> {
        projector.push(event).try_for_each(|event| self.write_envelope(&EnvelopeLine::Event(event)))?;
        if let EventData::SessionEnded(_) = event.data
            && let Some(completion) = projector.complete(&event.session_id)
        {
            self.write_envelope(&EnvelopeLine::Completion(completion))?;
        }
        Ok(())
    }

    fn write_envelope(&mut self, line: &EnvelopeLine) -> io::Result<()> {
        if self.is_pretty {
            return self.write_pretty(line);
        }
        self.line.clear();
        line.write_json(&mut self.line)?;
        self.write_line()
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.line.push(b'\n');
        self.output.write_all(&self.line)
    }
}

//! `interlingua convert`: converts logs into universal events or the bounded envelope.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, bail};
use interlingua_convert::{
    Agent, Conversion, ConversionOptions, ConversionStats, UnparsedReason, convert_log, convert_log_to_writer,
    converter_for,
};
use interlingua_envelope::{EnvelopeLine, Projector};
use interlingua_history::{EventSinkFn, HistoryReport, HistorySession, LineSink};
use interlingua_schema::{EventData, UniversalEvent};
use interlingua_wirelog::Reader;
use serde::Serialize;

use crate::Outcome;
use crate::agent_log;
use crate::history::{self, History};
use crate::output::Output;
use crate::parallel::{ErrorList, for_each_file};

/// Maximum number of reasons that `--strict` lists.
const MAX_REASONS: usize = 50;

/// Convert agents' logs into universal events, one JSON object per line.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "one per flag")]
#[command(after_help = "\
A line that cannot be parsed becomes an `agent.unparsed` event, and the conversion continues.

Several logs are converted at the same time, on all cores. Each is converted as if it were the only one, and the output is \
in the order of the arguments. If a log cannot be converted, the others are.

With --envelope, events have a bounded size and do not contain the input or output of tools, only its size. The last event \
of each session is followed by a line {\"completion\": …} with the final text. `interlingua schema --envelope` \
describes both.

Examples:
  interlingua convert recording.jsonl > events.jsonl
  codex exec --json 'fix the test' | interlingua convert -
  interlingua convert --agent amp --raw --pretty amp-output.jsonl
  interlingua convert --envelope recording.jsonl > envelope.jsonl
  interlingua convert --strict logs/*.jsonl > events.jsonl")]
pub struct Args {
    /// Logs, or `-` for standard input
    #[arg(value_name = "FILE|-", required = true)]
    files: Vec<String>,
    /// Agent of the logs: claude, codex, opencode, amp or acp [default: detected from each log]
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

/// Runs the command. Continues with the other logs if one cannot be converted.
///
/// # Errors
/// If a log cannot be read, its agent cannot be detected, the output cannot be written, or two flags conflict. If several
/// logs fail, the error is that of the last one; the others are printed.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.raw && args.envelope {
        bail!("the envelope never contains native payloads; leave out --raw or --envelope");
    }
    let given = agent_log::parse_agent(args.agent.as_deref())?;
    let mut has_issues = false;
    let mut errors = ErrorList::default();
    let mut logs: Vec<&str> = Vec::new();
    for file in &args.files {
        // An error is reported when the file is converted.
        if given.is_none() && history::is_history(file).unwrap_or(false) {
            has_issues |= convert_logs(args, given, &std::mem::take(&mut logs), &mut errors)?;
            match convert_history(args, file) {
                Ok(outcome) => has_issues |= outcome == Outcome::IssuesFound,
                Err(error) => errors.push(error)?,
            }
        } else {
            logs.push(file);
        }
    }
    has_issues |= convert_logs(args, given, &logs, &mut errors)?;
    errors.finish()?;
    Ok(Outcome::issues_if(has_issues))
}

/// Converts logs, on all cores. Returns whether there are issues.
fn convert_logs(args: &Args, given: Option<Agent>, files: &[&str], errors: &mut ErrorList) -> anyhow::Result<bool> {
    let mut has_issues = false;
    for_each_file(
        files,
        |file, output| convert_file(args, given, file, output),
        |result| {
            match result {
                Ok(None) => {}
                Ok(Some(report)) => {
                    eprint!("{report}");
                    has_issues = true;
                }
                Err(error) => errors.push(error)?,
            }
            Ok(())
        },
    )?;
    Ok(has_issues)
}

/// Converts one log. Returns a report if `--strict` is set and payloads could not be parsed completely.
fn convert_file(args: &Args, given: Option<Agent>, file: &str, output: Output) -> anyhow::Result<Option<String>> {
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
    Ok((args.strict && stats.unparsed > 0).then(|| unparsed_report(file, stats)))
}

/// Converts the sessions of a history, on all cores. The output is in the order of the sessions.
fn convert_history(args: &Args, file: &str) -> anyhow::Result<Outcome> {
    let history = History::open(Path::new(file))?;
    convert_all(&history, args.strict, |session, output| {
        let mut writer = LineWriter { output, is_pretty: args.pretty, line: Vec::new() };
        let report = if args.envelope {
            let mut projector = Projector::new(session.agent());
            let mut write = EventSinkFn::new(|event| writer.write_projection(&mut projector, &event));
            let report = history.convert(session, false, &mut write)?;
            projector
                .finish()
                .try_for_each(|completion| writer.write_envelope(&EnvelopeLine::Completion(completion)))?;
            report
        } else if args.pretty {
            history.convert(session, args.raw, &mut EventSinkFn::new(|event| writer.write_pretty(&event)))?
        } else {
            history.convert(session, args.raw, &mut LineSink::new(&mut writer.output))?
        };
        writer.output.flush()?;
        Ok(report)
    })
}

/// Converts sessions of a history into one JSON object per line, on all cores.
pub(crate) fn convert_sessions(history: &History, raw: bool) -> anyhow::Result<Outcome> {
    convert_all(history, false, |session, mut output| {
        let report = history.convert(session, raw, &mut LineSink::new(&mut output))?;
        output.flush()?;
        Ok(report)
    })
}

fn convert_all(
    history: &History,
    is_strict: bool,
    convert: impl Fn(&HistorySession, Output) -> anyhow::Result<HistoryReport> + Sync,
) -> anyhow::Result<Outcome> {
    let mut report = history.report.clone();
    for_each_file(&history.sessions, convert, |converted| {
        report.merge(converted?);
        Ok(())
    })?;
    Ok(history::outcome(&report, is_strict))
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

//! `interlingua usage`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;

use anyhow::Context as _;
use interlingua_convert::UsageEntry;
use interlingua_history::{ConvertOptions, HistoryReport, HistorySession, UsageSink, for_each_session};
use interlingua_schema::{Timestamp, Usage};
use jiff::tz::TimeZone;
use serde_json::json;

use super::select::SelectArgs;
use super::{PROGRESS_DELAY, outcome};
use crate::Outcome;
use crate::output::Output;
use crate::progress::Progress;

/// Sum up the tokens and the reported cost of the sessions that agents keep on disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each message counts once, even if it is in several files. The cost is what the agent reports; an agent that reports none, \
or not for each turn, has none here.

Examples:
  interlingua usage --by day --since 30d
  interlingua usage --by day --timezone UTC
  interlingua usage --by model --agent claude --json")]
pub struct UsageArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// What to sum up by
    #[arg(long, value_enum, default_value = "day")]
    by: Grouping,
    /// Time zone of the days, such as UTC or Europe/Berlin [default: that of this machine]
    #[arg(long, value_name = "NAME")]
    timezone: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// What usage is summed up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Grouping {
    Day,
    Model,
    Agent,
    Directory,
    Session,
}

type Totals = BTreeMap<String, Usage>;

/// Runs the command.
///
/// # Errors
/// If a folder cannot be read, or the time zone is not known.
pub fn run(args: &UsageArgs) -> anyhow::Result<Outcome> {
    let zone = match &args.timezone {
        Some(name) => TimeZone::get(name).with_context(|| format!("unknown time zone {name}"))?,
        None => TimeZone::system(),
    };
    let mut history = args.select.open()?;
    let mut totals = Totals::new();
    let (mut report, mut done, count) = (HistoryReport::default(), 0, history.sessions.len());
    let mut progress = Progress::start_after(PROGRESS_DELAY);
    let work = |session: &HistorySession| {
        let (mut totals, mut report) = (Totals::new(), HistoryReport::default());
        let mut sink = UsageSink::new(|entry: &UsageEntry| {
            if args.select.since.is_none_or(|since| entry.time >= Some(since)) {
                *totals.entry(group(args.by, session, entry, &zone)).or_default() += entry.usage.clone();
            }
        });
        // Nothing is written.
        let _ = history.reader.convert(session, ConvertOptions::default(), &mut sink, &mut report);
        (totals, report)
    };
    for_each_session(&history.sessions, work, |_, (found, own)| {
        for (name, usage) in found {
            *totals.entry(name).or_default() += usage;
        }
        report.merge(own);
        done += 1;
        progress.update(|elapsed| format!("read {done} of {count} sessions, {} s", elapsed.as_secs()));
        ControlFlow::Continue(())
    });
    progress.finish();
    history.report.merge(report);
    let mut output = Output::new();
    if args.json {
        for (name, usage) in &totals {
            writeln!(output, "{}", json!({ "group": name, "usage": usage }))?;
        }
    } else {
        write_table(&totals, &mut output)?;
    }
    output.flush()?;
    Ok(outcome(&history.report, false))
}

fn group(by: Grouping, session: &HistorySession, entry: &UsageEntry, zone: &TimeZone) -> String {
    let unknown = || "unknown".to_owned();
    match by {
        Grouping::Day => entry.time.or(session.last_activity).and_then(|time| day(time, zone)).unwrap_or_else(unknown),
        Grouping::Model => entry.usage.model.clone().unwrap_or_else(unknown),
        Grouping::Agent => session.agent().id().to_owned(),
        Grouping::Directory => session.directory.clone().unwrap_or_else(unknown),
        Grouping::Session => format!("{} {}", session.agent().id(), session.native_session_id),
    }
}

/// The day of a time in a time zone.
fn day(time: Timestamp, zone: &TimeZone) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time.as_millis()).ok()?;
    Some(zone.to_datetime(time).date().to_string())
}

fn write_table(totals: &Totals, output: &mut impl std::io::Write) -> std::io::Result<()> {
    let width = totals.keys().map(|name| name.chars().count()).max().unwrap_or(0).max("TOTAL".len());
    writeln!(output, "{:width$}  {:>14}  {:>14}  {:>14}  {:>10}", "", "INPUT", "CACHED", "OUTPUT", "COST")?;
    let mut sum = Usage::default();
    for (name, usage) in totals {
        write_row(name, usage, width, output)?;
        sum += usage.clone();
    }
    write_row("TOTAL", &sum, width, output)
}

fn write_row(name: &str, usage: &Usage, width: usize, output: &mut impl std::io::Write) -> std::io::Result<()> {
    let cost = usage.cost_usd.map(|cost| format!("${cost:.4}")).unwrap_or_default();
    let cached = usage.cached_input_tokens.unwrap_or(0);
    writeln!(output, "{name:width$}  {:>14}  {cached:>14}  {:>14}  {cost:>10}", usage.input_tokens, usage.output_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_depends_on_the_time_zone() {
        let time: Timestamp = "2026-01-01T01:30:00Z".parse().unwrap();
        assert_eq!(day(time, &TimeZone::UTC).as_deref(), Some("2026-01-01"));
        let west = TimeZone::fixed(jiff::tz::offset(-8));
        assert_eq!(day(time, &west).as_deref(), Some("2025-12-31"));
    }
}

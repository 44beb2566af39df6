//! `interlingua usage`.

use std::collections::BTreeMap;
use std::io::Write as _;

use interlingua_history::{EventSinkFn, HistorySession};
use interlingua_schema::{EventData, Timestamp, UniversalEvent, Usage};
use serde_json::json;

use super::list::ListArgs;
use super::outcome;
use crate::Outcome;
use crate::output::Output;

/// Sum up the tokens and the reported cost of the sessions that agents keep on disk.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each message counts once, even if it is in several files. The cost is what the agent reports; an agent that reports none, \
or not for each turn, has none here.

Examples:
  interlingua usage --by day --since 30d
  interlingua usage --by model --agent claude --json")]
pub struct UsageArgs {
    #[command(flatten)]
    sessions: ListArgs,
    /// What to sum up by
    #[arg(long, value_enum, default_value = "day")]
    by: Grouping,
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

/// Runs the command.
///
/// # Errors
/// If a folder cannot be read.
pub fn run(args: &UsageArgs) -> anyhow::Result<Outcome> {
    let mut history = args.sessions.open()?;
    let mut totals: BTreeMap<String, Usage> = BTreeMap::new();
    for session in std::mem::take(&mut history.sessions) {
        let mut add = EventSinkFn::new(|event: UniversalEvent| {
            if let EventData::TurnEnded(turn) = &event.data
                && let Some(usage) = &turn.usage
                && args.sessions.since.is_none_or(|since| event.time >= since)
            {
                *totals.entry(group(args.by, &session, usage, event.time)).or_default() += usage.clone();
            }
            Ok(())
        });
        history.convert(&session, false, &mut add)?;
    }
    let mut output = Output::new();
    if args.sessions.json {
        for (name, usage) in &totals {
            writeln!(output, "{}", json!({ "group": name, "usage": usage }))?;
        }
    } else {
        write_table(&totals, &mut output)?;
    }
    output.flush()?;
    Ok(outcome(&history.report, false))
}

fn group(by: Grouping, session: &HistorySession, usage: &Usage, time: Timestamp) -> String {
    match by {
        Grouping::Day => time.to_string().split('T').next().unwrap_or_default().to_owned(),
        Grouping::Model => usage.model.clone().unwrap_or_else(|| "unknown".to_owned()),
        Grouping::Agent => session.agent().id().to_owned(),
        Grouping::Directory => session.directory.clone().unwrap_or_else(|| "unknown".to_owned()),
        Grouping::Session => format!("{} {}", session.agent().id(), session.native_session_id),
    }
}

fn write_table(totals: &BTreeMap<String, Usage>, output: &mut impl std::io::Write) -> std::io::Result<()> {
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

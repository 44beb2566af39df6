//! `interlingua history list`.

use std::collections::HashMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use interlingua_convert::UsageEntry;
use interlingua_history::{ConvertOptions, HistoryReport, HistorySession, HistorySink, for_each_session};
use interlingua_schema::{EventDataRef, EventRef, EventSink, Timestamp, Usage};
use serde_json::{Value, json};

use super::select::SelectArgs;
use super::stored::StoredSessions;
use super::{History, PROGRESS_DELAY, outcome};
use crate::Outcome;
use crate::data_dir::resolve_data_dir;
use crate::output::Output;
use crate::progress::Progress;
use crate::show::sanitize;

/// Maximum number of characters of a title in the table.
const MAX_TITLE_CHARS: usize = 60;

/// List the sessions that agents keep on disk, newest first.
///
/// Only the beginnings and ends of files are read. They have the usage of Claude Code since 2.1.325, Codex and OpenCode since
/// 1.15, without that of sub-agents. --full reads everything.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua history list --since 7d
  interlingua history list --agent codex --full
  interlingua history list --json | jq -r 'select(.sessionId == null) | .nativeSessionId'")]
pub(super) struct ListArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Read all of each session, for the number of turns and the whole usage
    #[arg(long)]
    full: bool,
    /// Directory of the store, to show which sessions are imported [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// What only the whole session tells.
#[derive(Debug, Default)]
struct Totals {
    turns: u64,
    usage: Usage,
}

impl EventSink for Totals {
    fn write_event(&mut self, event: EventRef<'_>) {
        self.turns += u64::from(matches!(event.data, EventDataRef::TurnStarted { .. }));
    }
}

impl HistorySink for Totals {
    fn record_usage(&mut self, entry: &UsageEntry) {
        let mut usage = entry.usage.clone();
        usage.model = None;
        self.usage += usage;
    }
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<Outcome> {
    let mut history = args.select.open()?;
    let stored = StoredSessions::load(&resolve_data_dir(args.data_dir.clone())?)?.unwrap_or_default();
    let totals = if args.full { read_all(&mut history) } else { HashMap::new() };
    let mut output = Output::new();
    let rows = history.sessions.iter().map(|session| Row {
        session,
        stored: stored.find(session),
        totals: totals.get(&(session.agent().id(), session.native_session_id.clone())),
    });
    if args.json {
        for row in rows {
            writeln!(output, "{}", row.to_json())?;
        }
    } else if history.sessions.is_empty() {
        writeln!(output, "no sessions")?;
    } else {
        write_table(rows, &mut output)?;
    }
    output.flush()?;
    Ok(outcome(&history.report, false))
}

/// Reads all sessions. Their totals by agent and id.
fn read_all(history: &mut History) -> HashMap<(&'static str, String), Totals> {
    let mut totals = HashMap::new();
    let mut progress = Progress::start_after(PROGRESS_DELAY);
    let (mut report, count) = (HistoryReport::default(), history.sessions.len());
    let work = |session: &HistorySession| {
        let (mut found, mut report) = (Totals::default(), HistoryReport::default());
        // Nothing is written.
        let _ = history.reader.convert(session, ConvertOptions::default(), &mut found, &mut report);
        (found, report)
    };
    for_each_session(&history.sessions, work, |session, (found, own)| {
        totals.insert((session.agent().id(), session.native_session_id.clone()), found);
        report.merge(own);
        progress.update(|elapsed| format!("read {} of {count} sessions, {} s", totals.len(), elapsed.as_secs()));
        ControlFlow::Continue(())
    });
    progress.finish();
    history.report.merge(report);
    totals
}

/// A session in the list.
struct Row<'a> {
    session: &'a HistorySession,
    /// Id of the stored session, if it was imported.
    stored: Option<&'a str>,
    totals: Option<&'a Totals>,
}

impl Row<'_> {
    fn usage(&self) -> Option<&Usage> {
        self.totals.map(|totals| &totals.usage).or(self.session.usage.as_ref())
    }

    fn to_json(&self) -> Value {
        let session = self.session;
        json!({
            "agent": session.agent().id(),
            "nativeSessionId": session.native_session_id,
            "sessionId": self.stored,
            "format": session.format.name(),
            "path": session.path,
            "title": session.title,
            "directory": session.directory,
            "agentVersion": session.agent_version,
            "startedAt": session.started_at.map(Timestamp::as_millis),
            "lastActivity": session.last_activity.map(Timestamp::as_millis),
            "turns": self.totals.map(|totals| totals.turns),
            "usage": self.usage(),
        })
    }

    /// The cells of the table.
    fn cells(&self) -> [String; 9] {
        let session = self.session;
        let title = sanitize(session.title.as_deref().unwrap_or_default()).replace('\n', " ");
        let tokens = self.usage().map(|usage| (usage.input_tokens + usage.output_tokens).to_string());
        let cost = self.usage().and_then(|usage| usage.cost_usd).map(|cost| format!("${cost:.4}"));
        [
            session.last_activity.map(|time| time.to_string()).unwrap_or_default(),
            session.agent().id().to_owned(),
            session.native_session_id.clone(),
            if self.stored.is_some() { "yes" } else { "no" }.to_owned(),
            self.totals.map_or_else(|| "-".to_owned(), |totals| totals.turns.to_string()),
            tokens.unwrap_or_else(|| "-".to_owned()),
            cost.unwrap_or_else(|| "-".to_owned()),
            title.chars().take(MAX_TITLE_CHARS).collect(),
            sanitize(session.directory.as_deref().unwrap_or_default()),
        ]
    }
}

fn write_table<'a>(rows: impl Iterator<Item = Row<'a>>, output: &mut impl Write) -> std::io::Result<()> {
    let header = ["LAST ACTIVITY", "AGENT", "SESSION", "IMPORTED", "TURNS", "TOKENS", "COST", "TITLE", "DIRECTORY"];
    let rows: Vec<[String; 9]> =
        std::iter::once(header.map(str::to_owned)).chain(rows.map(|row| row.cells())).collect();
    let widths: [usize; 9] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    for row in &rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            4..=6 => format!("{cell:>width$}"),
            _ => format!("{cell:<width$}"),
        });
        writeln!(output, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

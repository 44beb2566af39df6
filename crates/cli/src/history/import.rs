//! `interlingua history import`.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use interlingua_history::{
    HistoryReport, HistorySession, Import, ImportError, ImportOutcome, Importer, for_each_session,
};
use interlingua_store::{OpenError, StoreOptions};
use serde_json::{Value, json};

use super::select::SelectArgs;
use super::stored::StoredSessions;
use super::{PROGRESS_DELAY, follow, outcome, remote};
use crate::Outcome;
use crate::data_dir::resolve_data_dir;
use crate::output::Output;
use crate::progress::Progress;
use crate::server_file::find_server;
use crate::store_args::StoreArgs;

/// Import the sessions that agents keep on disk, so that they can be read, searched and continued.
///
/// Importing again adds only what is new. The next message to an imported session resumes the agent where it was.
///
/// One process at a time uses a data directory. If a server does, import with --endpoint: the server reads the folders of
/// the agents on its machine. Servers that share a Postgres database can run meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  interlingua history import --all
  interlingua history import --since 30d --agent claude
  interlingua history import --all --follow
  interlingua history import --all --endpoint http://127.0.0.1:2468")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct ImportArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Import all sessions; required unless other arguments select some
    #[arg(long)]
    all: bool,
    /// Keep importing what agents write, until interrupted
    #[arg(long)]
    follow: bool,
    /// Only print what would be imported
    #[arg(long, conflicts_with = "follow")]
    dry_run: bool,
    /// Directory of the store [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address of a server that imports instead, with the token in `$INTERLINGUA_TOKEN`
    #[arg(long, value_name = "URL", conflicts_with_all = ["data_dir", "follow", "dry_run"])]
    endpoint: Option<String>,
    /// Print one JSON object per session, and one with the totals
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &ImportArgs) -> anyhow::Result<Outcome> {
    if !args.all && args.select.is_empty() {
        bail!("which sessions? Use --all, or select some with --agent, --since, --directory or a path");
    }
    args.select.check_agent()?;
    if let Some(endpoint) = &args.endpoint {
        return remote::import(endpoint, &args.select, args.json);
    }
    let data_dir = resolve_data_dir(args.data_dir.clone())?;
    if args.dry_run {
        return dry_run(args, &data_dir);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    let store = runtime
        .block_on(args.store.open_for_import(&data_dir, StoreOptions::default()))
        .map_err(|error| open_error(error, &data_dir))?;
    let (placement, home) = args.store.placement()?;
    let importer = Importer::new(store.clone(), runtime.handle().clone()).placed(placement, home);
    let mut printer =
        Printer { output: Output::new(), is_json: args.json, report: HistoryReport::default(), failed: 0 };
    let result = if args.follow {
        follow::run(&args.select, &importer, runtime.handle(), &mut printer)
    } else {
        import_once(&args.select, &importer, &mut printer)
    };
    runtime.block_on(store.close());
    result?;
    printer.finish()
}

/// A server that uses the data directory can import.
fn open_error(error: anyhow::Error, data_dir: &std::path::Path) -> anyhow::Error {
    match (error.downcast_ref(), find_server(data_dir)) {
        (Some(OpenError::InUse { .. }), Some(server)) => anyhow::anyhow!(
            "a server uses the data directory {}; import through it with --endpoint {}",
            data_dir.display(),
            server.address
        ),
        _ => error,
    }
}

fn dry_run(args: &ImportArgs, data_dir: &std::path::Path) -> anyhow::Result<Outcome> {
    let mut history = args.select.open()?;
    let stored = StoredSessions::load(data_dir)?.unwrap_or_default();
    history.sessions.reverse();
    let mut output = Output::new();
    for session in &history.sessions {
        let stored = stored.find(session);
        if args.json {
            let line = json!({
                "agent": session.agent().id(),
                "nativeSessionId": session.native_session_id,
                "path": session.path,
                "sessionId": stored,
            });
            writeln!(output, "{line}")?;
        } else {
            let verb = if stored.is_some() { "would update" } else { "would import" };
            writeln!(output, "{verb} {} {}", session.agent().id(), session.native_session_id)?;
        }
    }
    output.flush()?;
    Ok(outcome(&history.report, false))
}

fn import_once(select: &SelectArgs, importer: &Importer, printer: &mut Printer) -> anyhow::Result<()> {
    let mut report = HistoryReport::default();
    let mut sessions = importer.reader().sessions(&select.folders(), &mut report)?;
    sessions.retain(|session| select.includes(session));
    printer.add_report(report);
    import_sessions(&sessions, importer, false, printer, |_, _| {})
}

/// Imports sessions on all cores, and prints what became of each. `note` gets the imports that did not fail.
pub(super) fn import_sessions(
    sessions: &[HistorySession],
    importer: &Importer,
    may_grow: bool,
    printer: &mut Printer,
    mut note: impl FnMut(&HistorySession, &Import),
) -> anyhow::Result<()> {
    let mut progress = Progress::start_after(PROGRESS_DELAY);
    let (mut done, mut bytes, count) = (0, 0, sessions.len());
    let mut outcome = Ok(());
    let work = |session: &HistorySession| {
        let mut report = HistoryReport::default();
        (importer.import(session, may_grow, &mut report), report)
    };
    for_each_session(sessions, work, |session, (imported, report)| {
        done += 1;
        bytes += report.bytes;
        if let Ok(import) = &imported {
            note(session, import);
        }
        progress.finish();
        outcome = printer.print(session, imported, report);
        progress.update(|elapsed| {
            format!("imported {done} of {count} sessions, {} MB, {} s", bytes / 1_000_000, elapsed.as_secs())
        });
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    progress.finish();
    outcome
}

/// Prints what became of each session, and sums it up.
pub(super) struct Printer {
    output: Output,
    is_json: bool,
    report: HistoryReport,
    /// Number of sessions that could not be imported.
    failed: u64,
}

impl Printer {
    /// Adds what was found while the sessions were searched. Problems are printed at once.
    pub(super) fn add_report(&mut self, report: HistoryReport) {
        for problem in &report.problems {
            eprintln!("{problem}");
        }
        self.report.merge(report);
    }

    fn print(
        &mut self,
        session: &HistorySession,
        imported: Result<Import, ImportError>,
        report: HistoryReport,
    ) -> anyhow::Result<()> {
        let id = format!("{} {}", session.agent().id(), session.native_session_id);
        match imported {
            Ok(import) if self.is_json => writeln!(self.output, "{}", to_json(session, &import.outcome, &report))?,
            Ok(import) => writeln!(self.output, "{id}: {}{}", describe(&import.outcome), summary(&report))?,
            // One session that cannot be imported does not prevent the import of the others.
            Err(error) => {
                self.output.flush()?;
                eprintln!("cannot import {id}: {:#}", anyhow::Error::new(error));
                self.failed += 1;
            }
        }
        self.add_report(report);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.output.flush()?)
    }

    fn finish(mut self) -> anyhow::Result<Outcome> {
        let report = &self.report;
        if self.is_json {
            writeln!(self.output, "{}", json!({ "totals": counts(report), "failed": self.failed }))?;
        } else {
            writeln!(
                self.output,
                "{} records, {} events, {} unparsed, {} problems",
                report.records, report.events, report.unparsed, report.damaged
            )?;
            for (reason, count) in &report.dropped {
                writeln!(self.output, "  dropped {count}: {reason}")?;
            }
        }
        self.output.flush()?;
        Ok(Outcome::issues_if(self.failed > 0 || report.damaged > 0))
    }
}

fn describe(outcome: &ImportOutcome) -> String {
    match outcome {
        ImportOutcome::Imported(events) => format!("imported, {events} events"),
        ImportOutcome::Extended(events) => format!("{events} new events"),
        ImportOutcome::Replaced(events) => format!("changed by the agent and stored anew, {events} events"),
        ImportOutcome::Unchanged => "unchanged".to_owned(),
        ImportOutcome::Empty => "nothing to show".to_owned(),
        ImportOutcome::Continued(stored) => format!("continues in the store as {stored}"),
        _ => "done".to_owned(),
    }
}

/// What else is worth a look in a line.
fn summary(report: &HistoryReport) -> String {
    let mut parts = vec![format!("{} records", report.records)];
    let dropped: u64 = report.dropped.values().sum();
    for (count, name) in [(dropped, "dropped"), (report.unparsed, "unparsed"), (report.damaged, "problems")] {
        if count > 0 {
            parts.push(format!("{count} {name}"));
        }
    }
    let tokens = report.usage.input_tokens + report.usage.output_tokens;
    if tokens > 0 {
        parts.push(format!("{tokens} tokens"));
    }
    format!(" ({})", parts.join(", "))
}

fn to_json(session: &HistorySession, outcome: &ImportOutcome, report: &HistoryReport) -> Value {
    let (name, events) = match outcome {
        ImportOutcome::Imported(events) => ("imported", *events),
        ImportOutcome::Extended(events) => ("extended", *events),
        ImportOutcome::Replaced(events) => ("replaced", *events),
        ImportOutcome::Unchanged => ("unchanged", 0),
        ImportOutcome::Empty => ("empty", 0),
        ImportOutcome::Continued(_) => ("continued", 0),
        _ => ("done", 0),
    };
    json!({
        "agent": session.agent().id(),
        "nativeSessionId": session.native_session_id,
        "path": session.path,
        "outcome": name,
        "newEvents": events,
        "report": counts(report),
    })
}

fn counts(report: &HistoryReport) -> Value {
    json!({
        "records": report.records,
        "bytes": report.bytes,
        "events": report.events,
        "unparsed": report.unparsed,
        "dropped": report.dropped,
        "usage": report.usage,
        "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

//! `interlingua history import`.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use interlingua_history::{HistoryReport, HistorySession, ImportOutcome, Importer};
use interlingua_schema::Timestamp;
use interlingua_store::{Store, StoreOptions};

use super::list::ListArgs;
use super::outcome;
use crate::Outcome;
use crate::data_dir::resolve_data_dir;

/// Time between two looks at the agents' folders.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(2);

/// Import the sessions that agents keep on disk, so that they can be read, searched and continued.
///
/// Importing again adds only what is new. The server that uses the data directory must be stopped.
#[derive(Debug, clap::Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    sessions: ListArgs,
    /// Import all sessions; required unless other arguments select some
    #[arg(long)]
    all: bool,
    /// Keep importing what agents write, until interrupted
    #[arg(long)]
    follow: bool,
    /// Only print what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Directory of the store [default: ~/.local/share/interlingua]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(super) fn run(args: &ImportArgs) -> anyhow::Result<Outcome> {
    let ListArgs { paths, agent, since, directory, .. } = &args.sessions;
    if !args.all && paths.is_empty() && agent.is_none() && since.is_none() && directory.is_none() {
        bail!("which sessions? Use --all, or select some with --agent, --since, --directory or a path");
    }
    if args.dry_run {
        let mut history = args.sessions.open()?;
        history.sessions.reverse();
        for session in &history.sessions {
            println!("would import {} {}", session.agent().id(), session.native_session_id);
        }
        return Ok(outcome(&history.report, false));
    }
    let data_dir = resolve_data_dir(args.data_dir.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("cannot start the runtime")?;
    let store = Store::open(&data_dir, StoreOptions::default())
        .with_context(|| format!("cannot open the store in {}", data_dir.display()))?;
    let mut importer = Importer::new(store.clone(), runtime.handle().clone())?;
    let mut report = HistoryReport::default();
    let mut seen = HashMap::new();
    loop {
        import_changed(&args.sessions, &mut importer, &mut seen, &mut report)?;
        if !args.follow {
            break;
        }
        std::thread::sleep(FOLLOW_INTERVAL);
        importer.refresh();
    }
    store.close();
    println!(
        "{} records, {} events, {} unparsed, {} damaged",
        report.records, report.events, report.unparsed, report.damaged
    );
    for (reason, count) in &report.dropped {
        println!("  dropped {count}: {reason}");
    }
    Ok(outcome(&report, false))
}

/// Imports the sessions that have changed since the last time.
fn import_changed(
    args: &ListArgs,
    importer: &mut Importer,
    seen: &mut HashMap<String, Option<Timestamp>>,
    report: &mut HistoryReport,
) -> anyhow::Result<()> {
    for folder in args.folders() {
        let sessions = importer.sessions(&folder, report)?;
        for session in sessions.iter().filter(|session| args.includes(session)) {
            let id = format!("{} {}", session.agent().id(), session.native_session_id);
            if seen.insert(id, session.last_activity) == Some(session.last_activity) {
                continue;
            }
            // One session that cannot be read does not prevent the import of the others.
            match importer.import(session, report) {
                Ok(done) => print_outcome(session, &done),
                Err(error) => {
                    eprintln!("cannot import {} {}: {error}", session.agent().id(), session.native_session_id);
                    report.damaged += 1;
                }
            }
        }
    }
    Ok(())
}

fn print_outcome(session: &HistorySession, outcome: &ImportOutcome) {
    let id = format!("{} {}", session.agent().id(), session.native_session_id);
    match outcome {
        ImportOutcome::Imported(events) => println!("{id}: imported, {events} events"),
        ImportOutcome::Extended(events) => println!("{id}: {events} new events"),
        ImportOutcome::Unchanged => println!("{id}: unchanged"),
        ImportOutcome::Empty => println!("{id}: no complete turn"),
        ImportOutcome::Continued(stored) => println!("{id}: continues in the store as {stored}"),
        ImportOutcome::Rewritten => println!("{id}: was rewritten by the agent; the stored events stay as they are"),
        _ => println!("{id}: done"),
    }
}

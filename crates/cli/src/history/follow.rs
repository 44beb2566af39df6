//! `interlingua history import --follow`: imports what agents write, while they write it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use interlingua_history::{FollowedFiles, Follower, HistoryReport, HistorySession, Importer};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};

use super::import::{Printer, import_sessions};
use super::select::SelectArgs;

/// Time between two looks at the agents' folders.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(2);
/// How often a look checks whether the command was interrupted.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Imports what agents write until the process receives SIGINT or SIGTERM. Then the last turns are ended.
pub(super) fn run(
    select: &SelectArgs,
    importer: &Importer,
    runtime: &Handle,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let is_stopped = stop_on_signals(runtime)?;
    let mut follower = Follower::new();
    let mut known_problems = 0;
    loop {
        importer.reader().refresh();
        let mut report = HistoryReport::default();
        // A folder may be moved away for a moment.
        let sessions = importer.reader().sessions(&select.folders(), &mut report).unwrap_or_else(|error| {
            eprintln!("{:#}", anyhow::Error::new(error));
            Vec::new()
        });
        // The same problems are found each time.
        if std::mem::replace(&mut known_problems, report.damaged) != report.damaged {
            printer.add_report(report);
        }
        let sessions: Vec<HistorySession> = sessions.into_iter().filter(|session| select.includes(session)).collect();
        import_changed(&sessions, importer, &mut follower, printer)?;
        let next = Instant::now() + FOLLOW_INTERVAL;
        while Instant::now() < next {
            if is_stopped.load(Ordering::Relaxed) {
                return end_turns(&sessions, importer, &follower, printer);
            }
            std::thread::sleep(STOP_INTERVAL);
        }
    }
}

/// Imports the sessions that have changed since they were read.
fn import_changed(
    sessions: &[HistorySession],
    importer: &Importer,
    follower: &mut Follower,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let changed = sessions.iter().filter_map(|session| {
        let files = follower.changed(importer.reader(), session)?;
        Some((session.clone(), files))
    });
    let (changed, files): (Vec<HistorySession>, Vec<FollowedFiles>) = changed.unzip();
    let started = Instant::now();
    let mut open = vec![false; changed.len()];
    import_sessions(&changed, importer, true, printer, |session, import| {
        let index = changed.iter().position(|other| other.native_session_id == session.native_session_id);
        if let Some(open) = index.and_then(|index| open.get_mut(index)) {
            *open = import.is_open;
        }
    })?;
    let took = started.elapsed() / u32::try_from(changed.len().max(1)).unwrap_or(1);
    for ((session, files), is_open) in changed.iter().zip(files).zip(open) {
        follower.note(session, files, is_open, took);
    }
    printer.flush()
}

/// Imports the ends of the turns that may have gone on.
fn end_turns(
    sessions: &[HistorySession],
    importer: &Importer,
    follower: &Follower,
    printer: &mut Printer,
) -> anyhow::Result<()> {
    let open: Vec<HistorySession> = sessions.iter().filter(|session| follower.is_open(session)).cloned().collect();
    import_sessions(&open, importer, false, printer, |_, _| {})
}

/// A flag that is set when the process is to stop.
fn stop_on_signals(runtime: &Handle) -> anyhow::Result<Arc<AtomicBool>> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let _guard = runtime.enter();
        let mut signals = signal(kind).context("cannot receive signals")?;
        let is_stopped = Arc::clone(&is_stopped);
        runtime.spawn(async move {
            signals.recv().await;
            is_stopped.store(true, Ordering::Relaxed);
        });
    }
    Ok(is_stopped)
}

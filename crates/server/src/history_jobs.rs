//! Lists and imports of the sessions on disk. An import is a job: it goes on when the client that started it leaves, and
//! others can join it.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use interlingua_agents::Agent;
use interlingua_history::{
    HistoryReport, HistorySession, Import, ImportError, ImportOutcome, Importer, for_each_session,
};
use interlingua_runtime::Runtime;
use interlingua_schema::{SessionId, Timestamp};
use interlingua_store::{Store, StoreError};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::spawn_blocking;

use crate::history::folders;
use crate::problem::{Problem, ProblemKind};

/// A list that was made this short a time ago is not made again, so that pages of one list fit together.
const LIST_LIFETIME: Duration = Duration::from_secs(5);
/// Number of imports whose status can be read.
const MAX_RECENT_JOBS: usize = 32;
/// Maximum number of problems of an import.
const MAX_PROBLEMS: usize = 100;

/// Which sessions an import or a list is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImportSelection {
    pub(crate) agent: Option<Agent>,
    pub(crate) directory: Option<String>,
    pub(crate) since: Option<Timestamp>,
    /// Native ids; all if empty.
    pub(crate) sessions: Vec<String>,
}

impl ImportSelection {
    pub(crate) fn includes(&self, session: &HistorySession) -> bool {
        self.agent.is_none_or(|agent| session.agent() == agent)
            && self.directory.as_ref().is_none_or(|directory| session.directory.as_ref() == Some(directory))
            && self.since.is_none_or(|since| session.last_activity >= Some(since))
            && (self.sessions.is_empty() || self.sessions.contains(&session.native_session_id))
    }
}

/// The sessions on disk.
#[derive(Debug)]
pub(crate) struct HistoryListing {
    /// Newest first.
    pub(crate) sessions: Vec<ListedSession>,
    pub(crate) problems: Vec<String>,
}

/// A session on disk, and the stored session if there is one.
#[derive(Debug)]
pub(crate) struct ListedSession {
    pub(crate) session: HistorySession,
    pub(crate) stored: Option<SessionId>,
}

/// State of the last import since the server was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ImportState {
    /// There was none.
    #[default]
    None,
    Running,
    Done,
    Failed,
}

/// How far an import is.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImportStatus {
    /// Number of the import; 0 if there was none.
    pub(crate) id: u64,
    pub(crate) state: ImportState,
    /// Number of sessions to import; 0 while they are searched.
    pub(crate) sessions: u64,
    /// What was done so far.
    pub(crate) result: ImportResult,
    /// Why it failed; `None` if it did not.
    pub(crate) failure: Option<ImportFailure>,
}

/// Why an import failed.
#[derive(Clone, Debug)]
pub(crate) struct ImportFailure {
    pub(crate) kind: ProblemKind,
    pub(crate) reason: String,
}

/// What an import has done so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ImportResult {
    /// Number of sessions that were looked at.
    pub(crate) sessions: u64,
    pub(crate) imported: u64,
    pub(crate) extended: u64,
    pub(crate) replaced: u64,
    pub(crate) unchanged: u64,
    pub(crate) empty: u64,
    pub(crate) continued: u64,
    pub(crate) failed: u64,
    pub(crate) new_events: u64,
    pub(crate) report: HistoryReport,
    pub(crate) problems: Vec<String>,
}

impl ImportResult {
    fn add_report(&mut self, report: HistoryReport) {
        let rest = MAX_PROBLEMS.saturating_sub(self.problems.len());
        self.problems.extend(report.problems.iter().take(rest).map(ToString::to_string));
        self.report.merge(report);
    }

    fn add(&mut self, session: &HistorySession, imported: Result<Import, ImportError>, report: HistoryReport) {
        self.sessions += 1;
        self.add_report(report);
        let outcome = match imported {
            Ok(import) => import.outcome,
            Err(error) => {
                self.failed += 1;
                let error = error_chain(&error);
                if self.problems.len() < MAX_PROBLEMS {
                    self.problems.push(format!("{}: {error}", session.path.display()));
                }
                tracing::warn!(native = session.native_session_id, error, "cannot import a session from disk");
                return;
            }
        };
        let (count, events) = match outcome {
            ImportOutcome::Imported(events) => (&mut self.imported, events),
            ImportOutcome::Extended(events) => (&mut self.extended, events),
            ImportOutcome::Replaced(events) => (&mut self.replaced, events),
            ImportOutcome::Empty => (&mut self.empty, 0),
            ImportOutcome::Continued(_) => (&mut self.continued, 0),
            _ => (&mut self.unchanged, 0),
        };
        *count += 1;
        self.new_events += events;
    }
}

/// An error with its causes.
fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A handle to an import. Dropping it does not end the import.
#[derive(Debug)]
pub(crate) struct ImportJob(watch::Receiver<ImportStatus>);

impl ImportJob {
    pub(crate) fn status(&self) -> ImportStatus {
        self.0.borrow().clone()
    }

    /// Waits until the import has ended.
    pub(crate) async fn wait(mut self) -> ImportStatus {
        match self.0.wait_for(|status| status.state != ImportState::Running).await {
            Ok(status) => status.clone(),
            Err(_) => ImportStatus {
                state: ImportState::Failed,
                failure: Some(ImportFailure {
                    kind: ProblemKind::InternalError,
                    reason: "the import was aborted".to_owned(),
                }),
                ..ImportStatus::default()
            },
        }
    }
}

/// The last list, and when it was made.
type CachedList = Option<(Instant, Arc<HistoryListing>)>;

/// Lists and imports of the sessions on disk.
pub(crate) struct HistoryJobs {
    importer: Arc<Importer>,
    /// Folders to read instead of the agents' own.
    folders: Option<Vec<PathBuf>>,
    list: Arc<AsyncMutex<CachedList>>,
    jobs: Mutex<Jobs>,
    /// Held by the import that runs.
    running: Arc<AsyncMutex<()>>,
    closing: watch::Receiver<bool>,
}

impl HistoryJobs {
    /// Must be called inside a tokio runtime.
    pub(crate) fn new(
        store: Store,
        runtime: &Runtime,
        folders: Option<Vec<PathBuf>>,
        closing: watch::Receiver<bool>,
    ) -> Self {
        let (placement, home) = runtime.placement_of_local_files();
        Self {
            importer: Arc::new(Importer::new(store, Handle::current()).placed(placement, home)),
            folders,
            list: Arc::default(),
            jobs: Mutex::default(),
            running: Arc::default(),
            closing,
        }
    }

    /// The sessions on disk.
    pub(crate) async fn list(&self) -> Result<Arc<HistoryListing>, Problem> {
        let mut cached = self.list.lock().await;
        if let Some((made, list)) = &*cached
            && made.elapsed() < LIST_LIFETIME
        {
            return Ok(Arc::clone(list));
        }
        let (importer, folders) = (Arc::clone(&self.importer), folders(self.folders.as_ref()));
        let list = spawn_blocking(move || read_list(&importer, &folders)).await;
        let internal = |error: String| Problem::new(ProblemKind::InternalError, error);
        let list = Arc::new(list.map_err(|error| internal(error.to_string()))?.map_err(internal)?);
        *cached = Some((Instant::now(), Arc::clone(&list)));
        Ok(list)
    }

    /// Starts an import, or joins the one that runs for the same sessions. Imports of others run one after the other.
    pub(crate) fn start_import(&self, selection: ImportSelection) -> ImportJob {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let same = jobs
            .recent
            .iter()
            .find(|(other, status)| *other == selection && status.borrow().state == ImportState::Running);
        if let Some((_, status)) = same {
            return ImportJob(status.clone());
        }
        jobs.count += 1;
        let running = ImportStatus { id: jobs.count, state: ImportState::Running, ..ImportStatus::default() };
        let (sender, status) = watch::channel(running);
        let (importer, folders) = (Arc::clone(&self.importer), folders(self.folders.as_ref()));
        let (turn, closing, list) = (Arc::clone(&self.running), self.closing.clone(), Arc::clone(&self.list));
        let selected = selection.clone();
        tokio::spawn(async move {
            let _turn = turn.lock_owned().await;
            let work = spawn_blocking(move || import(&importer, &folders, &selected, &sender, &closing, &list));
            if let Err(error) = work.await {
                tracing::error!(%error, "an import of sessions from disk has failed");
            }
        });
        jobs.recent.truncate(MAX_RECENT_JOBS - 1);
        jobs.recent.push_front((selection, status.clone()));
        ImportJob(status)
    }

    /// How far an import is, or the last one. `None` if there is no such import, or it was too long ago.
    pub(crate) fn import_status(&self, id: Option<u64>) -> Option<ImportStatus> {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statuses = jobs.recent.iter().map(|(_, status)| status.borrow().clone());
        match id {
            Some(id) => statuses.find(|status| status.id == id),
            None => Some(statuses.next().unwrap_or_default()),
        }
    }
}

/// The imports since the server was started.
#[derive(Default)]
struct Jobs {
    count: u64,
    /// The last ones, newest first.
    recent: VecDeque<(ImportSelection, watch::Receiver<ImportStatus>)>,
}

fn read_list(importer: &Importer, folders: &[PathBuf]) -> Result<HistoryListing, String> {
    importer.reader().refresh();
    let mut report = HistoryReport::default();
    let mut sessions = importer.reader().sessions(folders, &mut report).map_err(|error| error_chain(&error))?;
    sessions.sort_by_key(|session| std::cmp::Reverse(session.last_activity));
    let listed = sessions.into_iter().map(|session| {
        let stored = importer.stored_session(&session)?;
        Ok(ListedSession { session, stored })
    });
    let sessions = listed.collect::<Result<_, StoreError>>().map_err(|error| error.to_string())?;
    Ok(HistoryListing { sessions, problems: report.problems.iter().map(ToString::to_string).collect() })
}

fn import(
    importer: &Importer,
    folders: &[PathBuf],
    selection: &ImportSelection,
    status: &watch::Sender<ImportStatus>,
    closing: &watch::Receiver<bool>,
    list: &AsyncMutex<CachedList>,
) {
    importer.reader().refresh();
    let mut report = HistoryReport::default();
    let sessions = match importer.reader().sessions(folders, &mut report) {
        Ok(sessions) => sessions,
        Err(error) => return fail(status, ProblemKind::InternalError, error_chain(&error)),
    };
    let sessions: Vec<HistorySession> = sessions.into_iter().filter(|session| selection.includes(session)).collect();
    let found: HashSet<&str> = sessions.iter().map(|session| session.native_session_id.as_str()).collect();
    if let Some(missing) = selection.sessions.iter().find(|id| !found.contains(id.as_str())) {
        let reason = format!("no session on disk has the id {missing}; GET /v1/history lists all");
        return fail(status, ProblemKind::SessionNotFound, reason);
    }
    status.send_modify(|status| {
        status.sessions = sessions.len() as u64;
        status.result.add_report(report);
    });
    let work = |session: &HistorySession| {
        let mut report = HistoryReport::default();
        (importer.import(session, false, &mut report), report)
    };
    let mut is_stopped = false;
    for_each_session(&sessions, work, |session, (imported, report)| {
        status.send_modify(|status| status.result.add(session, imported, report));
        is_stopped = *closing.borrow();
        if is_stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    // It says which sessions are in the store.
    *list.blocking_lock() = None;
    if is_stopped {
        let reason = "the server is shutting down; import again later".to_owned();
        return fail(status, ProblemKind::Unavailable, reason);
    }
    status.send_modify(|status| status.state = ImportState::Done);
    let result = &status.borrow().result;
    tracing::info!(
        sessions = result.sessions,
        imported = result.imported,
        extended = result.extended,
        replaced = result.replaced,
        failed = result.failed,
        events = result.new_events,
        "imported sessions from disk"
    );
}

fn fail(status: &watch::Sender<ImportStatus>, kind: ProblemKind, reason: String) {
    tracing::warn!(reason, "cannot import sessions from disk");
    status.send_modify(|status| {
        status.state = ImportState::Failed;
        status.failure = Some(ImportFailure { kind, reason });
    });
}

//! `interlingua history` and `interlingua usage`: sessions that agents keep on disk.

mod follow;
mod import;
mod list;
mod remote;
mod report;
mod select;
mod stored;
pub mod usage;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use interlingua_history::{
    ConvertOptions, HistoryFormat, HistoryReader, HistoryReport, HistorySession, HistorySink, default_folders,
    detect_format,
};

pub(crate) use self::report::outcome;
use crate::progress::Progress;
use crate::{Outcome, convert, show};

/// Progress is shown after this time.
const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// List, show, convert and import the sessions that agents keep on disk.
///
/// Claude Code, Codex and OpenCode write each session to files or a database. Nothing of these is ever changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without a folder, the agents' own folders are read: $CLAUDE_CONFIG_DIR or ~/.claude, $CODEX_HOME or ~/.codex, \
$XDG_DATA_HOME/opencode or ~/.local/share/opencode.

Examples:
  interlingua history list --since 7d
  interlingua history show 2f6c
  interlingua history convert ~/.codex > events.jsonl
  interlingua history import --all")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::ListArgs),
    /// Show a session as a readable transcript
    Show(SessionArgs),
    /// Convert a session, or all sessions of a folder, into universal events
    Convert(ConvertArgs),
    Import(import::ImportArgs),
}

#[derive(Debug, clap::Args)]
struct SessionArgs {
    /// A session id or the beginning of one, a file, or a folder
    #[arg(value_name = "SESSION|FILE")]
    session: String,
    /// Show a branch of the conversation that was left by going back; 1 is the oldest
    #[arg(long, value_name = "NUMBER")]
    branch: Option<usize>,
}

#[derive(Debug, clap::Args)]
struct ConvertArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Include each event's record, as it is on disk
    #[arg(long)]
    raw: bool,
}

/// Runs the command.
///
/// # Errors
/// If a folder cannot be read, a session is not found, or the store cannot be used.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Command::List(args) => list::run(&args),
        Command::Show(args) => show::show_history(&History::open_session(&args)?),
        Command::Convert(args) => convert::convert_sessions(&History::open_session(&args.session)?, args.raw),
        Command::Import(args) => import::run(&args),
    }
}

/// Whether a file or folder is a history. Standard input is not.
pub(crate) fn is_history(file: &str) -> anyhow::Result<bool> {
    let path = Path::new(file);
    if path.is_dir() {
        return Ok(true);
    }
    Ok(path.is_file() && detect_format(path).with_context(|| format!("cannot read {file}"))?.is_some())
}

/// The sessions of files and folders.
pub(crate) struct History {
    pub(crate) reader: HistoryReader,
    pub(crate) sessions: Vec<HistorySession>,
    pub(crate) report: HistoryReport,
    /// The branch to show; `None` for the current one.
    branch: Option<usize>,
}

impl History {
    /// Finds the sessions, oldest first.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let history = Self::open_all(&[path.to_owned()])?;
        let report = &history.report;
        if history.sessions.is_empty() && report.damaged == 0 && report.problems.is_empty() {
            let name = path.display();
            if path.is_dir() {
                bail!("cannot read {name}: it is a directory without sessions of Claude Code, Codex or OpenCode");
            }
            match detect_format(path)? {
                Some(HistoryFormat::CodexRollout) => bail!(
                    "{name} is part of a session file of Codex: its first line, with the id of the session (`session_meta`), is \
                     missing; give the whole file"
                ),
                _ => bail!("{name} has no session of Claude Code, Codex or OpenCode"),
            }
        }
        Ok(history)
    }

    fn open_all(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut report = HistoryReport::default();
        let reader = HistoryReader::new();
        let mut progress = Progress::start_after(PROGRESS_DELAY);
        let sessions = reader.sessions_with_progress(paths, &mut report, &mut |done, total| {
            progress.update(|elapsed| format!("read {done} of {total} files, {} s", elapsed.as_secs()));
        })?;
        progress.finish();
        Ok(Self { reader, sessions, report, branch: None })
    }

    /// Finds a session by its path, or by the beginning of its id in the agents' own folders.
    fn open_session(args: &SessionArgs) -> anyhow::Result<Self> {
        let mut history = Self::find_session(&args.session)?;
        if let Some(branch) = args.branch {
            let [session] = history.sessions.as_slice() else {
                bail!("--branch needs one session; {} has {}", args.session, history.sessions.len());
            };
            let branches = history.reader.branches(session)?;
            if !(1..=branches.len()).contains(&branch) {
                let branches = branches.iter().enumerate().map(|(index, branch)| {
                    let time = branch.time.map(|time| time.to_string()).unwrap_or_default();
                    format!("\n  {}  {time}  {}", index + 1, show::sanitize(&branch.prompt).replace('\n', " "))
                });
                let branches: String = branches.collect();
                bail!("the session has no branch {branch}; its branches, and the last prompt of each:{branches}");
            }
            history.branch = Some(branch);
        }
        Ok(history)
    }

    fn find_session(session: &str) -> anyhow::Result<Self> {
        let path = Path::new(session);
        if path.exists() {
            if !is_history(session)? {
                bail!("{session} is not a history of Claude Code, Codex or OpenCode");
            }
            return Self::open(path);
        }
        let folders: Vec<PathBuf> = default_folders().into_iter().map(|(_, folder)| folder).collect();
        let mut history = Self::open_all(&folders)?;
        history.sessions.retain(|known| known.native_session_id.starts_with(session));
        match history.sessions.as_slice() {
            [] => {
                bail!("no session on disk has an id that begins with {session}; `interlingua history list` shows all")
            }
            [_] => Ok(history),
            [first, second, ..] => bail!(
                "several sessions on disk have ids that begin with {session}, such as {} and {}; give more of the id",
                first.native_session_id,
                second.native_session_id
            ),
        }
    }

    /// Converts one of the sessions.
    pub(crate) fn convert(
        &self,
        session: &HistorySession,
        raw: bool,
        sink: &mut dyn HistorySink,
    ) -> anyhow::Result<HistoryReport> {
        let mut report = HistoryReport::default();
        let options = ConvertOptions::default().raw(raw).branch(self.branch);
        self.reader.convert(session, options, sink, &mut report)?;
        Ok(report)
    }
}

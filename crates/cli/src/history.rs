//! `interlingua history` and `interlingua usage`: sessions that agents keep on disk.

mod import;
mod list;
pub mod usage;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use interlingua_history::{
    ConvertOptions, HistoryReader, HistoryReport, HistorySession, HistorySink, SharedIds, default_folders,
    detect_format,
};

use crate::duration::parse_duration;
use crate::{Outcome, convert, show};

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
        Command::Show(args) => show::show_history(History::open_session(&args.session)?),
        Command::Convert(args) => convert::convert_sessions(History::open_session(&args.session.session)?, args.raw),
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

/// The sessions of a file or folder.
pub(crate) struct History {
    reader: HistoryReader,
    pub(crate) sessions: Vec<HistorySession>,
    pub(crate) report: HistoryReport,
    ids: SharedIds,
}

impl History {
    /// Finds the sessions, oldest first.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let history = Self::open_all(&[path.to_owned()])?;
        if history.sessions.is_empty() && history.report.damaged == 0 && path.is_dir() {
            let path = path.display();
            bail!("cannot read {path}: it is a directory without sessions of Claude Code, Codex or OpenCode");
        }
        Ok(history)
    }

    fn open_all(paths: &[PathBuf]) -> anyhow::Result<Self> {
        let mut report = HistoryReport::default();
        let mut reader = HistoryReader::new();
        let mut sessions = Vec::new();
        for path in paths {
            sessions.extend(reader.sessions(path, &mut report)?);
        }
        Ok(Self { reader, sessions, report, ids: SharedIds::default() })
    }

    /// Finds a session by its path, or by the beginning of its id in the agents' own folders.
    fn open_session(session: &str) -> anyhow::Result<Self> {
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
        &mut self,
        session: &HistorySession,
        raw: bool,
        sink: &mut dyn HistorySink,
    ) -> anyhow::Result<()> {
        let options = ConvertOptions::new(raw, self.ids.clone());
        Ok(self.reader.convert(session, options, sink, &mut self.report)?)
    }
}

/// Prints what is damaged. Records of unknown types only count if the command is strict.
pub(crate) fn outcome(report: &HistoryReport, is_strict: bool) -> Outcome {
    eprint!("{}", report_text(report));
    Outcome::issues_if(has_issues(report, is_strict))
}

/// What is damaged, one line each.
pub(crate) fn report_text(report: &HistoryReport) -> String {
    let mut lines: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    if report.damaged > 0 {
        lines.push(format!("{} of {} records are damaged", report.damaged, report.records));
    }
    // Each line ends with a line break.
    lines.push(String::new());
    lines.join("\n")
}

/// Whether records are damaged, or, if the command is strict, of unknown types.
pub(crate) fn has_issues(report: &HistoryReport, is_strict: bool) -> bool {
    report.damaged > 0 || (is_strict && report.unparsed > 0)
}

/// Parses how far back something is: `7d`, `12h`, `30m`, or a time.
pub(crate) fn parse_since(text: &str) -> Result<interlingua_schema::Timestamp, String> {
    use interlingua_schema::Timestamp;
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let age = parse_duration(text).map_err(|error| format!("{error}, or a time such as 2026-01-31T08:00:00Z"))?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let since = now.saturating_sub(age);
    Ok(Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_absolute_or_relative() {
        assert!(parse_since("7d").unwrap() < parse_since("1h").unwrap());
        assert_eq!(parse_since("1970-01-01T00:00:01Z").unwrap().as_millis(), 1000);
        for text in ["", "d", "7", "7y", "seven"] {
            assert!(parse_since(text).is_err(), "{text}");
        }
    }
}

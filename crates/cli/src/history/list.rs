//! `interlingua history list`.

use std::io::Write as _;
use std::path::PathBuf;

use interlingua_agents::Agent;
use interlingua_history::{HistorySession, default_folders};
use interlingua_schema::Timestamp;
use serde_json::{Value, json};

use super::{History, outcome, parse_since};
use crate::Outcome;
use crate::output::Output;
use crate::show::sanitize;

/// Maximum number of characters of a title in the table.
const MAX_TITLE_CHARS: usize = 60;

/// List the sessions that agents keep on disk, newest first.
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Folders or files to read instead of the agents' own folders
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT")]
    pub(super) agent: Option<Agent>,
    /// Only sessions that have changed since: 7d, 12h, or a time such as 2026-01-31T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub(super) since: Option<Timestamp>,
    /// Only sessions in this directory
    #[arg(long, value_name = "DIR")]
    pub(super) directory: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

impl ListArgs {
    /// The sessions to list, newest first.
    pub(super) fn open(&self) -> anyhow::Result<History> {
        let mut history = History::open_all(&self.folders())?;
        history.sessions.retain(|session| self.includes(session));
        history.sessions.sort_by_key(|session| std::cmp::Reverse(session.last_activity));
        Ok(history)
    }

    pub(super) fn folders(&self) -> Vec<PathBuf> {
        if !self.paths.is_empty() {
            return self.paths.clone();
        }
        let folders = default_folders().into_iter();
        folders.filter(|(agent, _)| self.agent.is_none_or(|only| only == *agent)).map(|(_, folder)| folder).collect()
    }

    pub(super) fn includes(&self, session: &HistorySession) -> bool {
        self.agent.is_none_or(|agent| session.agent() == agent)
            && self.since.is_none_or(|since| session.last_activity >= Some(since))
            && self.directory.as_ref().is_none_or(|directory| session.directory.as_ref() == Some(directory))
    }
}

pub(super) fn run(args: &ListArgs) -> anyhow::Result<Outcome> {
    let history = args.open()?;
    let mut output = Output::new();
    if args.json {
        for session in &history.sessions {
            writeln!(output, "{}", to_json(session))?;
        }
    } else if history.sessions.is_empty() {
        writeln!(output, "no sessions")?;
    } else {
        for session in &history.sessions {
            let title = session.title.as_deref().unwrap_or_default();
            let title: String = sanitize(title).replace('\n', " ").chars().take(MAX_TITLE_CHARS).collect();
            let activity = session.last_activity.map(|time| time.to_string()).unwrap_or_default();
            let directory = session.directory.as_deref().unwrap_or_default();
            writeln!(
                output,
                "{activity:24}  {:8}  {:36}  {title}  {}",
                session.agent().id(),
                session.native_session_id,
                sanitize(directory)
            )?;
        }
    }
    output.flush()?;
    Ok(outcome(&history.report, false))
}

fn to_json(session: &HistorySession) -> Value {
    json!({
        "agent": session.agent().id(),
        "nativeSessionId": session.native_session_id,
        "format": session.format.name(),
        "path": session.path,
        "title": session.title,
        "directory": session.directory,
        "agentVersion": session.agent_version,
        "startedAt": session.started_at.map(Timestamp::as_millis),
        "lastActivity": session.last_activity.map(Timestamp::as_millis),
    })
}

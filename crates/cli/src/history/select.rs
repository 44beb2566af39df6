//! Which sessions on disk a command is about.

use std::path::PathBuf;

use anyhow::bail;
use interlingua_agents::Agent;
use interlingua_history::{HistoryFormat, HistorySession, default_folders};
use interlingua_schema::Timestamp;

use super::History;
use crate::duration::parse_duration;

/// Which sessions a command is about.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct SelectArgs {
    /// Folders or files to read instead of the agents' own folders
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Only sessions of this agent: claude, codex or opencode
    #[arg(long, value_name = "AGENT")]
    pub(super) agent: Option<Agent>,
    /// Only sessions that have changed since: 7d, 12h, or a time such as 2026-01-31T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub(super) since: Option<Timestamp>,
    /// Only sessions in this directory
    #[arg(long, value_name = "DIR")]
    pub(super) directory: Option<String>,
}

impl SelectArgs {
    /// The sessions, newest first.
    pub(super) fn open(&self) -> anyhow::Result<History> {
        self.check_agent()?;
        let mut history = History::open_all(&self.folders())?;
        history.sessions.retain(|session| self.includes(session));
        history.sessions.sort_by_key(|session| std::cmp::Reverse(session.last_activity));
        Ok(history)
    }

    /// Whether nothing was selected, which means all sessions.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.agent.is_none() && self.since.is_none() && self.directory.is_none()
    }

    /// Refuses an agent that keeps nothing on disk.
    pub(super) fn check_agent(&self) -> anyhow::Result<()> {
        if let Some(agent) =
            self.agent.filter(|agent| !HistoryFormat::ALL.iter().any(|format| format.agent() == *agent))
        {
            bail!("{} keeps no sessions on disk; expected claude, codex or opencode", agent.id());
        }
        Ok(())
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

/// Parses how far back something is: `7d`, `12h`, `30m`, or a time.
fn parse_since(text: &str) -> Result<Timestamp, String> {
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

//! Sessions that agents keep on disk, and their import.

use interlingua_schema::Usage;
use serde::{Deserialize, Serialize};

/// Which sessions on disk a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryQuery {
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// Only sessions whose agent worked in this directory.
    pub directory: Option<String>,
    /// Only sessions that have changed since: milliseconds since 1970, or a time such as `2026-01-31T08:00:00Z`.
    pub since: Option<String>,
    /// Maximum number of sessions; all if `None`.
    pub limit: Option<u64>,
    /// [`HistoryPage::next_cursor`] of the previous page.
    pub cursor: Option<String>,
}

/// Sessions on the disk of the server's machine, newest first.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HistoryPage {
    /// The sessions.
    pub sessions: Vec<HistorySessionInfo>,
    /// Value for [`HistoryQuery::cursor`] to get the next page; `None` on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Number of sessions that pass the filters, on all pages.
    pub total: u64,
    /// Files and folders that cannot be read.
    pub problems: Vec<String>,
}

/// A session that an agent keeps on disk.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HistorySessionInfo {
    /// Agent id.
    pub agent: String,
    /// The agent's own id of the session.
    pub native_session_id: String,
    /// Id of the session in the store; `None` if it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Format in which the agent keeps it.
    pub format: String,
    /// The file, the database, or the folder of files.
    pub path: String,
    /// Title, or the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The agent's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Version of the agent that started the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// Time of the first record in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    /// Time of the last record in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_activity: Option<i64>,
    /// Total usage without that of sub-agents, as far as the end of the file or the database has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Which sessions to import. At least one field is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImportRequest {
    /// Whether to import all sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Only sessions of this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only sessions whose agent worked in this directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Only sessions that have changed since this time in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<i64>,
    /// Only sessions with these native ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native_session_ids: Option<Vec<String>>,
}

/// How far an import is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ImportStatus {
    /// Number of the import since the server was started; 0 if there was none.
    pub id: u64,
    /// How far it is.
    pub state: ImportState,
    /// How far a running import is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ImportProgress>,
    /// What a finished import has done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ImportResult>,
    /// Why it failed; `None` if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// State of an import.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ImportState {
    /// There was none.
    None,
    /// It runs.
    Running,
    /// It has finished.
    Done,
    /// It has failed.
    Failed,
    /// A state that this version does not know.
    #[serde(untagged)]
    Unknown(String),
}

/// How far an import is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct ImportProgress {
    /// Number of sessions to import; 0 while they are searched.
    pub sessions: u64,
    /// Number of sessions that were looked at.
    pub done: u64,
    /// Number of bytes that were read.
    pub bytes: u64,
}

/// What an import has done.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImportResult {
    /// Number of sessions that were looked at.
    pub sessions: u64,
    /// Number of sessions that are new in the store.
    pub imported: u64,
    /// Number of sessions that have new events.
    pub extended: u64,
    /// Number of sessions whose agent had changed what it had written. They were stored anew.
    pub replaced: u64,
    /// Number of sessions of which the store had all.
    pub unchanged: u64,
    /// Number of sessions that have nothing to show.
    pub empty: u64,
    /// Number of sessions that were continued in the store. Their files are not read any more.
    pub continued: u64,
    /// Number of sessions that could not be imported.
    pub failed: u64,
    /// Number of events that were added to the store.
    pub new_events: u64,
    /// Number of records that were read.
    pub records: u64,
    /// Number of bytes of these records.
    pub bytes: u64,
    /// Number of records of unknown types, which are `agent.unparsed` events.
    pub unparsed: u64,
    /// Number of problems, such as damaged records.
    pub damaged: u64,
    /// The first problems, each with its file.
    pub problems: Vec<String>,
}

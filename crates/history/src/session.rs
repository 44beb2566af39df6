//! Sessions that agents keep on disk.

use std::path::{Path, PathBuf};

use interlingua_agents::Agent;
use interlingua_schema::{NativeMetadata, SessionMetadata, Timestamp, Usage};
use serde_json::json;

/// A format in which an agent keeps its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum HistoryFormat {
    /// Claude Code: one file of lines per session.
    ClaudeLines,
    /// Codex: one rollout file per thread.
    CodexRollout,
    /// OpenCode since 1.15: a database.
    OpenCodeDatabase,
    /// OpenCode up to 1.1: one file per session, message and part.
    OpenCodeFiles,
}

impl HistoryFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::ClaudeLines, Self::CodexRollout, Self::OpenCodeDatabase, Self::OpenCodeFiles];

    /// The agent.
    #[must_use]
    pub const fn agent(self) -> Agent {
        match self {
            Self::ClaudeLines => Agent::Claude,
            Self::CodexRollout => Agent::Codex,
            Self::OpenCodeDatabase | Self::OpenCodeFiles => Agent::OpenCode,
        }
    }

    /// Name of the format in metadata.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeLines => "claude-jsonl",
            Self::CodexRollout => "codex-rollout",
            Self::OpenCodeDatabase => "opencode-sqlite",
            Self::OpenCodeFiles => "opencode-json",
        }
    }

    /// What a live session shows and this format does not contain.
    #[must_use]
    pub const fn not_on_disk(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeLines => &["permissions", "questions", "turn ends", "exits", "tasks", "tools", "MCP servers"],
            Self::CodexRollout => &["permissions", "questions", "errors", "retries", "notices", "exits"],
            Self::OpenCodeDatabase | Self::OpenCodeFiles => {
                &["permissions", "questions", "retries", "turn ends", "exits"]
            }
        }
    }
}

/// A session on disk.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HistorySession {
    /// The format.
    pub format: HistoryFormat,
    /// The agent's id of the session.
    pub native_session_id: String,
    /// The file, the database, or the folder of files.
    pub path: PathBuf,
    /// The session whose sub-agent this is.
    pub parent: Option<String>,
    /// Title, or the first prompt.
    pub title: Option<String>,
    /// Working directory.
    pub directory: Option<String>,
    /// Version of the agent that started it.
    pub agent_version: Option<String>,
    /// Time of the first record.
    pub started_at: Option<Timestamp>,
    /// Time of the last record.
    pub last_activity: Option<Timestamp>,
    /// The agent's mode of the last turn.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking, in the last turn.
    pub permission_mode: Option<String>,
    /// Model of the last turn, if the agent does not remember it by itself.
    pub model: Option<String>,
    /// Total usage, as far as it is at the end of the file or in the database. Without that of sub-agents.
    pub usage: Option<Usage>,
}

/// A branch of a conversation. A person goes back to an earlier message, and the conversation goes on from there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// Its last prompt.
    pub prompt: String,
    /// Time of that prompt.
    pub time: Option<Timestamp>,
}

impl HistorySession {
    pub(crate) fn new(format: HistoryFormat, native_session_id: impl Into<String>, path: &Path) -> Self {
        Self {
            format,
            native_session_id: native_session_id.into(),
            path: path.to_owned(),
            parent: None,
            title: None,
            directory: None,
            agent_version: None,
            started_at: None,
            last_activity: None,
            agent_mode: None,
            permission_mode: None,
            model: None,
            usage: None,
        }
    }

    /// The agent.
    #[must_use]
    pub const fn agent(&self) -> Agent {
        self.format.agent()
    }
}

/// Adds that a session was imported, from which format, and what that format does not contain.
pub(crate) fn add_history_metadata(metadata: &mut SessionMetadata, format: HistoryFormat) {
    metadata.imported = Some(true);
    let history = json!({ "format": format.name(), "not_on_disk": format.not_on_disk() });
    let native = metadata.native.take().unwrap_or_default();
    metadata.native = Some(native.merge(NativeMetadata::new().with("history", Some(history))));
}

//! Files of sub-agents, and the tool calls that started them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use foldhash::HashMap;
use interlingua_schema::Timestamp;
use serde::Deserialize;

use super::line::{Line, LineKind, Message, joined_text};
use super::scan::Scan;
use crate::discovery::read_folder;
use crate::json::{Field, decode, hash, text, time};
use crate::merge::SubAgentFile;
use crate::record_reader::RecordReader;
use crate::{HistoryError, HistoryReport};

/// Prompt of the sub-agents that 2.0 starts by itself, to fill a cache.
const WARMUP_PROMPT: &str = "Warmup";

/// The tool call that started a sub-agent; `None` if it is not known.
pub(super) type SpawningCall = Option<String>;

/// A file of a sub-agent, by its beginning.
#[derive(Clone, Debug)]
struct AgentFile {
    path: PathBuf,
    agent_id: Option<String>,
    session_id: Option<String>,
    prompt: String,
    starts_at: Option<Timestamp>,
}

/// The files of sub-agents that are beside session files, as up to 2.0, by their sessions.
#[derive(Debug, Default)]
pub(super) struct FlatAgents {
    files: HashMap<String, Vec<AgentFile>>,
    /// Files that cannot be read, until they are reported.
    errors: Mutex<Vec<(PathBuf, HistoryError)>>,
}

impl FlatAgents {
    /// Reads the beginnings of these files.
    pub(super) fn load(paths: &[PathBuf]) -> Self {
        let mut agents = Self::default();
        let mut errors = Vec::new();
        for path in paths {
            match AgentFile::read(path) {
                Ok(file) => {
                    let session = file.session_id.clone().unwrap_or_default();
                    agents.files.entry(session).or_default().push(file);
                }
                Err(error) => errors.push((path.clone(), error)),
            }
        }
        agents.errors = Mutex::new(errors);
        agents
    }

    fn of_session(&self, session_id: &str, report: &mut HistoryReport) -> Vec<AgentFile> {
        let errors = std::mem::take(&mut *self.errors.lock().unwrap_or_else(PoisonError::into_inner));
        for (path, error) in errors {
            report.add_error(&path, &error);
        }
        self.files.get(session_id).cloned().unwrap_or_default()
    }
}

/// Whether a path has the name of a sub-agent's file.
pub(super) fn is_agent_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("agent-") && path.extension().is_some_and(|extension| extension == "jsonl")
}

/// The folder with the files of a session's sub-agents, since 2.1.
pub(super) fn folder_of(session_file: &Path) -> PathBuf {
    session_file.with_extension("").join("subagents")
}

/// Finds the files of the sub-agents of a session, oldest first. A file that cannot be read is in the report.
pub(super) fn find(
    session_file: &Path,
    session_id: &str,
    scan: &Scan,
    flat: &FlatAgents,
    report: &mut HistoryReport,
) -> Vec<SubAgentFile<SpawningCall>> {
    let mut unlinked: HashMap<u64, Vec<&String>> = HashMap::default();
    for (call, prompt) in &scan.spawning_calls {
        if !scan.agent_calls.values().any(|known| known == call) {
            unlinked.entry(*prompt).or_default().push(call);
        }
    }
    let mut agents = read_agent_folder(&folder_of(session_file), report);
    agents.extend(flat.of_session(session_id, report));
    let mut files = Vec::new();
    for agent in agents {
        let prompt = agent.prompt.trim();
        let call = read_call(&agent.path)
            .or_else(|| agent.agent_id.as_ref().and_then(|agent| scan.agent_calls.get(agent).cloned()))
            .or_else(|| {
                let calls = unlinked.get_mut(&hash(prompt))?;
                (!calls.is_empty()).then(|| calls.remove(0).clone())
            });
        if call.is_some() || prompt != WARMUP_PROMPT {
            files.push(SubAgentFile { path: agent.path, starts_at: agent.starts_at, sub_agent: call });
        }
    }
    files.sort_by(|a, b| (a.starts_at, &a.path).cmp(&(b.starts_at, &b.path)));
    files
}

fn read_agent_folder(folder: &Path, report: &mut HistoryReport) -> Vec<AgentFile> {
    let mut agents = Vec::new();
    if folder.exists() {
        for (path, _) in read_folder(folder, report).into_iter().filter(|(path, _)| is_agent_file(path)) {
            match AgentFile::read(&path) {
                Ok(agent) => agents.push(agent),
                Err(error) => report.add_error(&path, &error),
            }
        }
    }
    agents
}

/// The call in the file beside a sub-agent's file.
fn read_call(path: &Path) -> Option<String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Meta<'a> {
        #[serde(borrow, rename = "toolUseId")]
        tool_use_id: Field<'a>,
    }
    let json = fs::read_to_string(path.with_extension("meta.json")).ok()?;
    let meta: Meta<'_> = serde_json::from_str(&json).ok()?;
    text(meta.tool_use_id).map(std::borrow::Cow::into_owned)
}

impl AgentFile {
    /// Reads a file up to the prompt, which is its first line.
    fn read(path: &Path) -> Result<Self, HistoryError> {
        let mut reader = RecordReader::open(path)?;
        let mut file =
            Self { path: path.to_owned(), agent_id: None, session_id: None, prompt: String::new(), starts_at: None };
        while let Some(record) = reader.next() {
            let Ok(record) = record.text else { continue };
            let Ok(line) = Line::parse(&record) else { continue };
            if line.kind() == LineKind::User {
                file.agent_id = text(line.agent_id).map(std::borrow::Cow::into_owned);
                file.session_id = text(line.session_id).map(std::borrow::Cow::into_owned);
                file.prompt = joined_text(&decode::<Message<'_>>(line.message).blocks());
                file.starts_at = time(line.timestamp);
                break;
            }
        }
        Ok(file)
    }
}

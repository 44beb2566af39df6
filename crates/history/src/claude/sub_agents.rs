//! Files of sub-agents, and the tool calls that started them.

use std::fs;
use std::path::{Path, PathBuf};

use foldhash::HashMap;
use interlingua_schema::Timestamp;
use serde::Deserialize;

use super::line::{Line, LineKind, joined_text};
use super::scan::Scan;
use crate::HistoryError;
use crate::json::{Field, decode, hash, text, time};
use crate::merge::SubAgentFile;
use crate::record_reader::RecordReader;

/// Prompt of the sub-agents that 2.0 starts by itself, to fill a cache.
const WARMUP_PROMPT: &str = "Warmup";

/// The tool call that started a sub-agent; `None` if it is not known.
pub(super) type SpawningCall = Option<String>;

/// Beginning of the file of a sub-agent.
#[derive(Default)]
struct Head {
    agent_id: Option<String>,
    session_id: Option<String>,
    prompt: Option<String>,
    starts_at: Option<Timestamp>,
}

/// Finds the files of the sub-agents of a session, oldest first.
pub(super) fn find(
    session_file: &Path,
    session_id: &str,
    scan: &Scan,
) -> Result<Vec<SubAgentFile<SpawningCall>>, HistoryError> {
    let mut files = Vec::new();
    let folder = session_file.with_extension("").join("subagents");
    let own = list(&folder)?;
    let flat = match session_file.parent() {
        Some(parent) => list(parent)?,
        None => Vec::new(),
    };
    let mut unlinked: HashMap<u64, Vec<&String>> = HashMap::default();
    for (call, prompt) in &scan.spawning_calls {
        if !scan.agent_calls.values().any(|known| known == call) {
            unlinked.entry(*prompt).or_default().push(call);
        }
    }
    for (path, is_own) in own.into_iter().map(|path| (path, true)).chain(flat.into_iter().map(|path| (path, false))) {
        let head = read_head(&path)?;
        // A file beside the session may belong to another session.
        if !is_own && head.session_id.as_deref() != Some(session_id) {
            continue;
        }
        let prompt = head.prompt.as_deref().unwrap_or_default().trim();
        let call = read_call(&path)
            .or_else(|| head.agent_id.as_ref().and_then(|agent| scan.agent_calls.get(agent).cloned()))
            .or_else(|| {
                let calls = unlinked.get_mut(&hash(prompt))?;
                (!calls.is_empty()).then(|| calls.remove(0).clone())
            });
        if call.is_none() && prompt == WARMUP_PROMPT {
            continue;
        }
        files.push(SubAgentFile { path, starts_at: head.starts_at, sub_agent: call });
    }
    files.sort_by(|a, b| (a.starts_at, &a.path).cmp(&(b.starts_at, &b.path)));
    Ok(files)
}

/// The files of sub-agents in a folder, and in the folders of background runs below it.
fn list(folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(HistoryError::read(folder)(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(HistoryError::read(folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("agent-") && path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
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

fn read_head(path: &Path) -> Result<Head, HistoryError> {
    let mut reader = RecordReader::open(path)?;
    while let Some(record) = reader.next()? {
        let Ok(record) = record.text else { continue };
        let Ok(line) = Line::parse(&record) else { continue };
        if line.kind() == LineKind::User {
            return Ok(Head {
                agent_id: text(line.agent_id).map(std::borrow::Cow::into_owned),
                session_id: text(line.session_id).map(std::borrow::Cow::into_owned),
                prompt: Some(joined_text(&decode::<super::line::Message<'_>>(line.message).blocks())),
                starts_at: time(line.timestamp),
            });
        }
    }
    Ok(Head::default())
}

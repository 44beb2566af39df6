//! Opening an agent's log and detecting the agent.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use interlingua_convert::{Agent, detect_agent};
use interlingua_wirelog::Reader;
use serde::Deserialize;

use crate::output::{FlushingReader, Output};

/// File name that stands for standard input.
const STDIN: &str = "-";
/// Maximum number of lines that are read to detect the agent.
const MAX_DETECTION_LINES: usize = 50;

/// Opens a file, or standard input for `-`.
pub(crate) fn open(file: &str, output: &Output) -> anyhow::Result<Box<dyn BufRead>> {
    let input: Box<dyn Read> = if file == STDIN {
        Box::new(FlushingReader { input: io::stdin(), output: output.clone() })
    } else {
        let opened = File::open(file).with_context(|| format!("cannot read {file}"))?;
        if Path::new(file).is_dir() {
            bail!("cannot read {file}: it is a directory");
        }
        Box::new(opened)
    };
    Ok(Box::new(BufReader::with_capacity(1 << 16, input)))
}

/// Parses the agent id of `--agent`.
pub(crate) fn parse_agent(id: Option<&str>) -> anyhow::Result<Option<Agent>> {
    id.map(|id| id.parse().map_err(anyhow::Error::from)).transpose()
}

/// The agent that wrote a log: the one given by the user, else the one in the header, else the one detected from the
/// first lines.
pub(crate) fn resolve_agent<R: BufRead>(
    file: &str,
    reader: &mut Reader<R>,
    given: Option<Agent>,
) -> anyhow::Result<Agent> {
    if let Some(agent) = given {
        // More lines of standard input may not be there yet. The first lines of a session file may be of types that do not
        // tell it from a log.
        let count = if file == STDIN { 1 } else { MAX_DETECTION_LINES };
        for line in reader.peek(count).with_context(|| format!("cannot read {file}"))? {
            refuse_history(file, &line)?;
        }
        return Ok(agent);
    }
    if let Some(id) = reader.header().and_then(|header| header.agent.as_deref()) {
        let agent = id.parse::<Agent>();
        return agent.map_err(|error| anyhow!("{file}: its header has an {error}; set the agent with --agent"));
    }
    let ids: Vec<&str> = Agent::ALL.iter().map(|agent| agent.id()).collect();
    let ids = ids.join("|");
    let mut lines_read = 0;
    let mut is_blank = true;
    for count in 1..=MAX_DETECTION_LINES {
        // One line at a time, so that the reader reads no further ahead than necessary.
        let mut lines = reader.peek(count).with_context(|| format!("cannot read {file}"))?;
        let Some(line) = lines.nth(lines_read) else { continue };
        lines_read += 1;
        is_blank &= line.trim().is_empty();
        if is_universal_event(&line) {
            bail!("{file} is already a universal event stream; use `interlingua check` or `interlingua show` on it");
        }
        refuse_history(file, &line)?;
        if let Some(agent) = detect_agent(&line) {
            return Ok(agent);
        }
    }
    if is_blank {
        bail!("cannot detect the agent of {file}, because it is empty or not text; set it with --agent {ids}");
    }
    bail!("cannot detect the agent of {file}; set it with --agent {ids}")
}

/// Fails for a line of the files in which Claude Code and Codex keep their sessions and prompts. They are no log of the
/// wire.
fn refuse_history(file: &str, line: &str) -> anyhow::Result<()> {
    match history_kind(line) {
        Some((agent, HistoryKind::Session)) => bail!(
            "{file} is a session file that {} keeps on disk, not what it prints; read it with `interlingua convert FILE` or \
             `interlingua show FILE`, without --agent",
            agent.descriptor().display_name
        ),
        Some((agent, HistoryKind::Prompts)) => bail!(
            "{file} is the list of prompts that {} keeps on disk, not a session; `interlingua history list` shows its sessions",
            agent.descriptor().display_name
        ),
        None => Ok(()),
    }
}

/// What an agent keeps on disk.
enum HistoryKind {
    Session,
    /// The user's messages in all sessions, without answers.
    Prompts,
}

/// The agent that keeps this line on disk, and in what.
fn history_kind(line: &str) -> Option<(Agent, HistoryKind)> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let has = |key: &str| line.get(key).is_some();
    if !has("type") {
        if has("session_id") && has("ts") && has("text") {
            return Some((Agent::Codex, HistoryKind::Prompts));
        }
        return (has("display") && has("project") && has("timestamp")).then_some((Agent::Claude, HistoryKind::Prompts));
    }
    if has("session_id") {
        None
    } else if has("sessionId") || has("leafUuid") {
        Some((Agent::Claude, HistoryKind::Session))
    } else if has("timestamp") && has("payload") {
        Some((Agent::Codex, HistoryKind::Session))
    } else {
        None
    }
}

/// Whether a line is a universal event.
pub(crate) fn is_universal_event(line: &str) -> bool {
    #[derive(Deserialize)]
    struct EventFields {
        #[allow(dead_code, reason = "only its presence matters")]
        event_id: String,
        #[allow(dead_code, reason = "only its presence matters")]
        sequence: u64,
    }
    serde_json::from_str::<EventFields>(line).is_ok()
}

//! The first pass over a session file: what has to be known before its lines can be converted in order.

use std::num::NonZeroU32;
use std::path::Path;

use foldhash::{HashMap, HashSet};
use interlingua_convert::claude::{is_compaction_summary, is_interrupt_marker};
use interlingua_schema::Timestamp;

use super::copies::{is_session_file, session_id_of};
use super::line::{Line, LineKind, Message, joined_text};
use crate::HistoryError;
use crate::json::{Field, decode, flag, hash, text, time};
use crate::record_reader::RecordReader;
use crate::session::Branch;
use serde::Deserialize;

/// Maximum number of characters of a prompt that are kept to describe a branch.
const MAX_BRANCH_CHARS: usize = 80;
/// Maximum number of lines that are read to find the first prompt.
pub(super) const MAX_HEAD_LINES: usize = 1000;

/// What the first pass over a session file finds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) version: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) first_prompt: Option<String>,
    pub(super) first_time: Option<Timestamp>,
    /// The file is that of a sub-agent, read on its own.
    pub(super) is_sub_agent: bool,
    /// The file contains operations of the prompt queue, so every prompt of a person was queued.
    pub(super) has_queue: bool,
    /// Time of the first line that is not part of the conversation. Such lines are not copied by a fork.
    pub(super) created_at: Option<Timestamp>,
    /// Hash of the id of the first line of the conversation.
    pub(super) first_entry: Option<u64>,
    /// Conversation lines of the main agent, in order. Only of versions that write lines again, and if asked for.
    pub(super) entries: Vec<Entry>,
    /// The branches of the conversation, oldest first.
    pub(super) branches: Vec<Branch>,
    /// A message was cut off while it streamed. Its usage is only in the totals.
    pub(super) has_aborted_message: bool,
    /// Lines that are on the branch of a rewound prompt.
    pub(super) abandoned: HashSet<u64>,
    /// Lines that repeat earlier lines of the same file.
    pub(super) repeated: HashSet<u64>,
    /// The tool call that started each sub-agent, by the sub-agent's id.
    pub(super) agent_calls: HashMap<String, String>,
    /// The calls that start sub-agents, with the hash of the prompt.
    pub(super) spawning_calls: Vec<(String, u64)>,
    /// Other sessions that lines name as their own.
    pub(super) named_sessions: Vec<String>,
    /// Ids of the last messages of other sessions, whose titles the file begins with.
    pub(super) summary_leaves: Vec<String>,
}

/// A line of the conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Hash of the line's id.
    pub(super) id: u64,
    /// Hash of what the line says, which is the same in a copy under another id.
    pub(super) content: u64,
    pub(super) time: Option<Timestamp>,
}

/// A prompt, which is a node in the tree of branches.
struct PromptNode {
    /// The prompt that it follows in the conversation.
    follows: Owner,
    is_answered: bool,
    /// Another prompt follows it.
    is_followed: bool,
    branch: Branch,
}

/// Index of a prompt in 32 bits, because there is one for each line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Owner(Option<NonZeroU32>);

impl Owner {
    fn new(index: usize) -> Self {
        Self(u32::try_from(index + 1).ok().and_then(NonZeroU32::new))
    }

    fn index(self) -> Option<usize> {
        self.0.map(|number| number.get() as usize - 1)
    }
}

/// The state of a scan.
#[derive(Default)]
struct Scanner {
    scan: Scan,
    session_id: String,
    /// The file is that of a sub-agent, read on its own.
    is_sub_agent: bool,
    keeps_entries: bool,
    /// The branch that is shown; `None` for the current one.
    branch: Option<usize>,
    prompts: Vec<PromptNode>,
    /// The prompt that each line belongs to, by the hash of the line's id.
    owners: HashMap<u64, Owner>,
    /// While earlier lines are repeated: number of the entries before, and position of the next one.
    repetition: Option<(usize, usize)>,
}

/// Reads a session file once. `branch` is the one that is shown, from 1.
pub(super) fn scan(path: &Path, session_id: &str, branch: Option<usize>) -> Result<Scan, HistoryError> {
    run(path, Scanner { session_id: session_id.to_owned(), branch, ..Scanner::default() })
}

/// Reads a session file once, and keeps the lines of the conversation.
pub(super) fn scan_entries(path: &Path, session_id: &str) -> Result<Scan, HistoryError> {
    run(path, Scanner { session_id: session_id.to_owned(), keeps_entries: true, ..Scanner::default() })
}

fn run(path: &Path, mut scanner: Scanner) -> Result<Scan, HistoryError> {
    scanner.is_sub_agent = !is_session_file(path);
    let mut reader = RecordReader::open(path)?;
    while let Some(record) = reader.next() {
        if let Ok(record) = record.text
            && let Ok(line) = Line::parse(&record)
        {
            scanner.push(&line);
        }
    }
    Ok(scanner.finish())
}

/// Reads a session file up to its first prompt.
pub(super) fn head(path: &Path) -> Result<Scan, HistoryError> {
    let is_sub_agent = !is_session_file(path);
    let mut scanner = Scanner { session_id: session_id_of(path), is_sub_agent, ..Scanner::default() };
    let mut reader = RecordReader::open(path)?;
    for _ in 0..MAX_HEAD_LINES {
        let Some(record) = reader.next() else { break };
        if let Ok(record) = record.text
            && let Ok(line) = Line::parse(&record)
        {
            scanner.push(&line);
        }
        if scanner.scan.first_prompt.is_some() {
            break;
        }
    }
    Ok(scanner.scan)
}

impl Scanner {
    fn push(&mut self, line: &Line<'_>) {
        let kind = line.kind();
        let at = time(line.timestamp);
        self.scan.first_time = self.scan.first_time.or(at);
        if line.uuid.is_none() && self.scan.first_entry.is_none() {
            self.scan.created_at = self.scan.created_at.or(at);
        }
        match kind {
            LineKind::QueueOperation => self.scan.has_queue = true,
            LineKind::Assistant => self.scan.has_aborted_message |= flag(line.is_aborted_mid_stream),
            LineKind::Summary if self.scan.first_entry.is_none() => {
                self.scan.summary_leaves.extend(text(line.leaf_uuid).map(std::borrow::Cow::into_owned));
            }
            _ => {}
        }
        if self.scan.version.is_none() && matches!(kind, LineKind::User | LineKind::Assistant) {
            self.scan.version = text(line.version).map(std::borrow::Cow::into_owned);
            self.scan.cwd = text(line.cwd).map(std::borrow::Cow::into_owned);
        }
        let message = match kind {
            LineKind::User | LineKind::Assistant => line.message(),
            _ => Message::default(),
        };
        if kind == LineKind::Assistant {
            self.note_spawning_calls(&message);
        }
        if line.is_side_chain() && !self.is_sub_agent {
            return;
        }
        if kind == LineKind::User {
            self.note_agent(line, &message);
        }
        self.note_other_session(line, kind);
        if kind == LineKind::Assistant && self.scan.model.is_none() {
            self.scan.model =
                text(message.model).filter(|model| !model.starts_with('<')).map(std::borrow::Cow::into_owned);
        }
        let prompt = (kind == LineKind::User).then(|| prompt_text(line, &message)).flatten();
        if let Some(prompt) = prompt.as_ref().filter(|_| self.scan.first_prompt.is_none()) {
            self.scan.first_prompt = Some(prompt.clone());
            self.scan.permission_mode = text(line.permission_mode).map(std::borrow::Cow::into_owned);
        }
        let Some(id) = line.id() else { return };
        self.add_to_tree(id, line, kind, prompt.as_deref());
        if matches!(kind, LineKind::User | LineKind::Assistant) {
            self.scan.first_entry.get_or_insert(id);
            if self.keeps_entries || self.scan.version.as_deref().is_some_and(writes_lines_again) {
                self.add_entry(Entry { id, content: content_hash(kind, &message), time: at }, line);
            }
        }
    }

    /// Notes which prompt a line belongs to.
    fn add_to_tree(&mut self, id: u64, line: &Line<'_>, kind: LineKind, prompt: Option<&str>) {
        let last = self.prompts.len().checked_sub(1).map(Owner::new).unwrap_or_default();
        // Without a known parent, the order of the lines decides.
        let owner = line.parent().and_then(|parent| self.owners.get(&parent).copied()).unwrap_or(last);
        let owner = if let Some(prompt) = prompt {
            if let Some(before) = owner.index().and_then(|before| self.prompts.get_mut(before)) {
                before.is_followed = true;
            }
            let prompt: String = prompt.chars().take(MAX_BRANCH_CHARS).collect();
            let branch = Branch { prompt, time: time(line.timestamp) };
            self.prompts.push(PromptNode { follows: owner, is_answered: false, is_followed: false, branch });
            Owner::new(self.prompts.len() - 1)
        } else {
            owner
        };
        if kind == LineKind::Assistant
            && let Some(prompt) = owner.index().and_then(|owner| self.prompts.get_mut(owner))
        {
            prompt.is_answered = true;
        }
        self.owners.insert(id, owner);
    }

    /// Adds a line of the conversation. Up to 1.x, a compaction writes earlier lines again, under new ids and in a new
    /// chain.
    fn add_entry(&mut self, entry: Entry, line: &Line<'_>) {
        let is_old = self.scan.version.as_deref().is_some_and(writes_lines_again);
        if is_old && line.parent().is_none() && !self.scan.entries.is_empty() {
            self.repetition = Some((self.scan.entries.len(), 0));
        }
        if let Some((length, position)) = &mut self.repetition {
            let before = self.scan.entries.get(*position..*length).unwrap_or_default();
            if let Some(found) = before.iter().position(|before| before.content == entry.content) {
                // Several lines of one message have the same content hash.
                *position += found;
                self.scan.repeated.insert(entry.id);
                return;
            }
            let is_summary = is_compaction_summary(&joined_text(&line.message().blocks()));
            if !is_summary {
                self.repetition = None;
            }
        }
        self.scan.entries.push(entry);
    }

    /// Notes the calls that start sub-agents.
    fn note_spawning_calls(&mut self, message: &Message<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Arguments<'a> {
            #[serde(borrow)]
            prompt: Field<'a>,
        }
        let has_call = message.content.is_some_and(|content| {
            let content = content.get();
            content.contains("\"Task\"") || content.contains("\"Agent\"")
        });
        if !has_call {
            return;
        }
        for block in message.blocks() {
            let is_spawn = matches!(text(block.name).as_deref(), Some("Task" | "Agent"));
            if let (true, Some(call)) = (is_spawn, block.call_id()) {
                let arguments: Arguments<'_> = decode(block.input);
                if let Some(prompt) = text(arguments.prompt) {
                    self.scan.spawning_calls.push((call, hash(prompt.trim())));
                }
            }
        }
    }

    /// Notes the sub-agent that a result names.
    fn note_agent(&mut self, line: &Line<'_>, message: &Message<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Result<'a> {
            #[serde(borrow, rename = "agentId")]
            agent_id: Field<'a>,
        }
        let Some(result) = line.tool_use_result.filter(|result| result.get().contains("\"agentId\"")) else { return };
        let result: Result<'_> = decode(Some(result));
        if let (Some(agent), Some(call)) =
            (text(result.agent_id), message.blocks().iter().find_map(super::line::Block::result_id))
        {
            self.scan.agent_calls.insert(agent.into_owned(), call);
        }
    }

    fn note_other_session(&mut self, line: &Line<'_>, kind: LineKind) {
        if !matches!(kind, LineKind::User | LineKind::Assistant) {
            return;
        }
        for session in [line.request_session_id, line.session_id].into_iter().filter_map(text) {
            if *session != self.session_id
                && !self.is_sub_agent
                && !self.scan.named_sessions.iter().any(|known| *known == *session)
            {
                self.scan.named_sessions.push(session.into_owned());
            }
        }
    }

    /// The current branch ends with the last prompt. Other prompts that were answered are on branches that a rewind left.
    fn finish(mut self) -> Scan {
        self.scan.is_sub_agent = self.is_sub_agent;
        let last = self.prompts.len().checked_sub(1);
        // A prompt that was sent again before it was answered is no branch.
        let ends = (0..self.prompts.len()).filter(|index| {
            let prompt = &self.prompts[*index];
            Some(*index) == last || (!prompt.is_followed && prompt.is_answered)
        });
        let ends: Vec<usize> = ends.collect();
        let mut is_current = vec![false; self.prompts.len()];
        let mut next = self.branch.and_then(|branch| ends.get(branch.checked_sub(1)?).copied()).or(last);
        self.scan.branches = ends.iter().map(|end| self.prompts[*end].branch.clone()).collect();
        while let Some(prompt) = next.filter(|prompt| !is_current[*prompt]) {
            is_current[prompt] = true;
            next = self.prompts[prompt].follows.index();
        }
        let is_abandoned = |owner: usize| !is_current[owner] && self.prompts[owner].is_answered;
        let owned = self.owners.iter().filter(|(_, owner)| owner.index().is_some_and(is_abandoned));
        self.scan.abandoned = owned.map(|(id, _)| *id).collect();
        self.scan
    }
}

/// Whether a version writes earlier lines again when it compacts a conversation.
fn writes_lines_again(version: &str) -> bool {
    version.starts_with("1.")
}

/// Hash of what a line says. A copy of the line has the same hash, whatever its id is.
fn content_hash(kind: LineKind, message: &Message<'_>) -> u64 {
    if kind == LineKind::Assistant {
        return hash(("assistant", text(message.id)));
    }
    let blocks = message.blocks();
    match blocks.iter().find_map(super::line::Block::result_id) {
        Some(call) => hash(("result", call)),
        None => hash(("user", joined_text(&blocks))),
    }
}

/// The text of a prompt that a person wrote; `None` for other `user` lines.
pub(super) fn prompt_text(line: &Line<'_>, message: &Message<'_>) -> Option<String> {
    if flag(line.is_meta) || flag(line.is_compact_summary) || is_injected(line.origin) {
        return None;
    }
    let blocks = message.blocks();
    if blocks.iter().any(|block| block.result_id().is_some()) {
        return None;
    }
    let text = joined_text(&blocks);
    let is_other = is_interrupt_marker(&text)
        || is_compaction_summary(&text)
        || text.trim_start().starts_with("<local-command-")
        || text.trim_start().starts_with("<task-notification>");
    (!is_other && !blocks.is_empty()).then_some(text)
}

/// Whether the origin of a message is not a person.
pub(super) fn is_injected(origin: Field<'_>) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Origin<'a> {
        #[serde(borrow)]
        kind: Field<'a>,
    }
    let origin: Origin<'_> = decode(origin);
    text(origin.kind).is_some_and(|kind| !matches!(&*kind, "human" | "channel" | "unclassified"))
}

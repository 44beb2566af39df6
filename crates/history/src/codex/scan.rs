//! The first pass over a rollout file: which items it has, and which lines are copies of another thread.

use std::collections::VecDeque;
use std::path::Path;

use foldhash::{HashMap, HashSet};
use interlingua_schema::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::items;
use super::legacy::is_rejected;
use super::line::{Line, Payload};
use crate::HistoryError;
use crate::json::{Field, decode, text, time};
use crate::record_reader::RecordReader;

/// What the first pass over a rollout file finds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Ids of the items that are complete in the file.
    pub(super) items: HashSet<String>,
    /// Starts of tools and messages, oldest first. The file has only their ends.
    pub(super) starts: VecDeque<ToolStart>,
    /// The file has items for messages, so older events about messages repeat them.
    pub(super) has_message_items: bool,
    /// Calls whose result is an event.
    pub(super) event_calls: HashSet<String>,
    /// The file has events for searches on the web, which repeat the API's items.
    pub(super) has_search_events: bool,
    /// Line number of the last copy of the parent's lines. 0 if there are none.
    pub(super) last_copied_line: u64,
    /// Calls that were never made: unknown tools, arguments that do not fit.
    pub(super) rejected_calls: HashSet<String>,
    /// The sub-agents that a call waits for. The item has only those that had ended.
    targets: HashMap<String, Value>,
    pub(super) model: Option<String>,
    pub(super) approval_policy: Option<String>,
    pub(super) sandbox: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) mode: Option<String>,
    /// The file has events about turns.
    pub(super) has_turn_events: bool,
}

/// Number of starts among which a repeated message is recognized.
const MAX_RETRIED: usize = 64;

/// Start of a tool or message.
#[derive(Debug)]
pub(super) struct ToolStart {
    pub(super) at: Timestamp,
    pub(super) turn_id: Option<String>,
    pub(super) item: Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ItemHead<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    id: Field<'a>,
}

/// Reads a rollout file once. `parent` is the thread that this one was forked from.
pub(super) fn scan(path: &Path, thread_id: &str, parent: &ParentThread) -> Result<Scan, HistoryError> {
    let mut scan = Scan::default();
    let mut copied_prompts = 0;
    let mut starts = Vec::new();
    let mut is_copying = false;
    let mut reader = RecordReader::open(path)?;
    while let Some(record) = reader.next() {
        let Ok(json) = record.text else { continue };
        let Ok(line) = Line::parse(&json) else { continue };
        let payload: Payload<'_> = decode(line.payload);
        let kind = text(line.kind).unwrap_or_default();
        let event = text(payload.kind).unwrap_or_default();
        if kind == "session_meta" && text(payload.id).is_some_and(|id| id != thread_id) {
            is_copying = true;
        }
        if is_copying {
            if parent.is_own_start(&event, &payload, &mut copied_prompts) {
                is_copying = false;
            } else {
                scan.last_copied_line = record.number;
                continue;
            }
        }
        match &*kind {
            "turn_context" if scan.model.is_none() => scan.note_context(&payload),
            "event_msg" => match &*event {
                "item_completed" => note_item(&mut scan, &mut starts, &payload),
                "mcp_tool_call_end" | "patch_apply_end" | "image_generation_end" | "view_image_tool_call" => {
                    scan.event_calls.extend(text(payload.call_id).map(std::borrow::Cow::into_owned));
                }
                "web_search_end" => scan.has_search_events = true,
                "task_started" => scan.has_turn_events = true,
                _ => {}
            },
            "response_item" => scan.note_call(&event, &payload),
            _ => {}
        }
    }
    for start in &mut starts {
        let id = start.item.get("id").and_then(Value::as_str).unwrap_or_default();
        if let Some(targets) = scan.targets.get(id) {
            start.item.insert("receiverThreadIds".to_owned(), targets.clone());
        }
    }
    // A plan is started by the message that contains it, often in the same millisecond.
    starts.sort_by_key(|start: &ToolStart| (start.at, start.item.get("type").and_then(Value::as_str) == Some("plan")));
    scan.starts = starts.into();
    Ok(scan)
}

fn note_item(scan: &mut Scan, starts: &mut Vec<ToolStart>, payload: &Payload<'_>) {
    let head: ItemHead<'_> = decode(payload.item);
    let Some(id) = text(head.id) else { return };
    scan.items.insert(id.into_owned());
    scan.has_message_items |= matches!(text(head.kind).as_deref(), Some("UserMessage" | "AgentMessage"));
    let has_no_start = matches!(text(head.kind).as_deref(), Some("UserMessage" | "Reasoning" | "ContextCompaction"));
    if let Some(at) = time(payload.started_at_ms).filter(|_| !has_no_start)
        && let Some(item) = payload.item.and_then(|item| items::to_wire(item.get()))
        && let Some(item) = items::started(&item)
    {
        let turn_id = text(payload.turn_id).map(std::borrow::Cow::into_owned);
        // A message that the model repeats after a retry has the same id.
        let id = |item: &Map<String, Value>| item.get("id").cloned();
        if starts.iter().rev().take(MAX_RETRIED).any(|known| known.turn_id == turn_id && id(&known.item) == id(&item)) {
            return;
        }
        starts.push(ToolStart { at, turn_id, item });
    }
}

/// Maximum number of lines that are read to find the first prompt.
const MAX_HEAD_LINES: usize = 200;

/// The first prompt of a thread, if it is near the beginning.
pub(super) fn first_prompt(path: &Path) -> Result<Option<String>, HistoryError> {
    let mut reader = RecordReader::open(path)?;
    for _ in 0..MAX_HEAD_LINES {
        let Some(record) = reader.next() else { break };
        let Ok(json) = record.text else { continue };
        let Ok(line) = Line::parse(&json) else { continue };
        let payload: Payload<'_> = decode(line.payload);
        let head: ItemHead<'_> = decode(payload.item);
        let prompt = if text(payload.kind).as_deref() == Some("user_message") {
            text(payload.message).map(std::borrow::Cow::into_owned)
        } else if text(head.kind).as_deref() == Some("UserMessage") {
            payload.item.and_then(|item| prompt_text(item.get()))
        } else {
            None
        };
        if prompt.is_some() {
            return Ok(prompt);
        }
    }
    Ok(None)
}

fn prompt_text(item: &str) -> Option<String> {
    let item = items::to_wire(item)?;
    let parts = item.get("content")?.as_array()?;
    Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())
}

impl Scan {
    fn note_call(&mut self, kind: &str, payload: &Payload<'_>) {
        let Some(id) = text(payload.call_id) else { return };
        if kind.ends_with("_output") {
            if text(payload.output).is_some_and(|output| is_rejected(&output)) {
                self.rejected_calls.insert(id.into_owned());
            }
        } else if text(payload.name).is_some_and(|name| name.starts_with("wait"))
            && let Some(arguments) = text(payload.arguments)
            && let Ok(Value::Object(mut arguments)) = serde_json::from_str(&arguments)
            && let Some(targets) = arguments.remove("targets").or_else(|| arguments.remove("ids"))
        {
            self.targets.insert(id.into_owned(), targets);
        }
    }

    /// Notes the settings that the thread starts with.
    fn note_context(&mut self, payload: &Payload<'_>) {
        let settings = Settings::from_context(payload);
        self.model = settings.model;
        self.approval_policy = settings.approval_policy;
        self.sandbox = settings.sandbox;
        self.effort = settings.effort;
        self.mode = settings.mode;
    }
}

/// Settings of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) model: Option<String>,
    pub(super) approval_policy: Option<String>,
    pub(super) sandbox: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) mode: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow)]
    mode: Field<'a>,
}

impl Settings {
    pub(super) fn from_context(payload: &Payload<'_>) -> Self {
        let owned = |field| text(field).map(std::borrow::Cow::into_owned);
        let sandbox: Named<'_> = decode(payload.sandbox_policy);
        let mode: Named<'_> = decode(payload.collaboration_mode);
        Self {
            model: owned(payload.model),
            approval_policy: owned(payload.approval_policy),
            sandbox: text(sandbox.kind).map(|kind| sandbox_name(&kind).to_owned()),
            effort: owned(payload.effort),
            mode: owned(mode.mode),
        }
    }
}

/// The name of a sandbox on the wire.
fn sandbox_name(name: &str) -> &str {
    match name {
        "danger-full-access" => "dangerFullAccess",
        "workspace-write" => "workspaceWrite",
        "read-only" => "readOnly",
        name => name,
    }
}

/// The thread that another one was forked from. Older versions copy its lines into the fork.
#[derive(Debug, Default)]
pub(super) struct ParentThread {
    /// Ids of its turns.
    turns: HashSet<String>,
    /// Its prompts, in order.
    prompts: Vec<String>,
}

impl ParentThread {
    /// Reads what the thread had when it was forked.
    pub(super) fn load(path: &Path, forked_at: Option<Timestamp>) -> Result<Self, HistoryError> {
        let mut parent = Self::default();
        let mut reader = RecordReader::open(path)?;
        while let Some(record) = reader.next() {
            let Ok(json) = record.text else { continue };
            let Ok(line) = Line::parse(&json) else { continue };
            if forked_at.is_some() && time(line.timestamp) > forked_at {
                break;
            }
            let payload: Payload<'_> = decode(line.payload);
            parent.turns.extend(text(payload.turn_id).map(std::borrow::Cow::into_owned));
            if text(payload.kind).as_deref() == Some("user_message") {
                parent.prompts.extend(text(payload.message).map(std::borrow::Cow::into_owned));
            }
        }
        Ok(parent)
    }

    /// Whether a line begins the fork's own part: a turn or a prompt that the parent does not have.
    fn is_own_start(&self, event: &str, payload: &Payload<'_>, copied_prompts: &mut usize) -> bool {
        match event {
            "task_started" => text(payload.turn_id).is_some_and(|turn| !self.turns.contains(&*turn)),
            // Versions without ids of turns.
            "user_message" if self.turns.is_empty() => {
                let rest = self.prompts.get(*copied_prompts..).unwrap_or_default();
                let prompt = text(payload.message).unwrap_or_default();
                match rest.iter().position(|known| *known == *prompt) {
                    Some(found) => {
                        *copied_prompts += found + 1;
                        false
                    }
                    None => true,
                }
            }
            _ => false,
        }
    }
}

/// Calls by their ids.
pub(super) type Calls<T> = HashMap<String, T>;

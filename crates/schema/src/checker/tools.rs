//! L7 and L15: every result belongs to a call, and every call has a title and a valid input.

use std::collections::{HashMap, HashSet};

use super::{Report, Rule, hash_id};
use crate::{ContentPart, Item, ItemId, ItemKind, MAX_TITLE_CHARS, ToolInput, ToolKind, TurnStatus};

/// The calls with one call id. An agent may use an id for several calls.
#[derive(Debug, Default)]
struct CallCounts {
    calls: u32,
    results: u32,
    is_command: bool,
    /// Whether it is a command whose turn ended `completed`.
    is_background: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tools {
    /// By the hash of the call id.
    calls: HashMap<u64, CallCounts>,
    /// Open tool items that were counted when they started. A call id may be known only when the item completes.
    counted_items: HashSet<ItemId>,
    /// Hashes of the call ids of commands that were called since the last end of a turn.
    recent_commands: HashSet<u64>,
}

impl Tools {
    pub(super) fn observe_started(&mut self, item: &Item, report: &mut Report) {
        if self.count(item, report) {
            self.counted_items.insert(item.item_id.clone());
        }
        self.observe_commands(item);
    }

    pub(super) fn observe_completed(&mut self, item: &Item, report: &mut Report) {
        if !self.counted_items.remove(&item.item_id) {
            self.count(item, report);
        }
        self.observe_commands(item);
        check_title_and_input(item, report);
    }

    /// Whether a tool call with this id was started.
    pub(super) fn was_called(&self, call_id: &str) -> bool {
        self.calls.get(&hash_id(call_id)).is_some_and(|call| call.calls > 0)
    }

    /// Whether the call is of kind `command`. `call` is the hash of its id.
    pub(super) fn is_command(&self, call: u64) -> bool {
        self.calls.get(&call).is_some_and(|call| call.is_command)
    }

    /// Whether the call is a command that may run on after its turn. `call` is the hash of its id.
    pub(super) fn is_background(&self, call: u64) -> bool {
        self.calls.get(&call).is_some_and(|call| call.is_background)
    }

    pub(super) fn observe_turn_end(&mut self, status: &TurnStatus) {
        for call in std::mem::take(&mut self.recent_commands) {
            self.calls.entry(call).or_default().is_background = *status == TurnStatus::Completed;
        }
    }

    /// Counts the calls and results of an item. Returns whether there were any.
    fn count(&mut self, item: &Item, report: &mut Report) -> bool {
        let mut found = false;
        for part in &item.content {
            match part {
                ContentPart::ToolCall { call_id, .. } if item.kind == ItemKind::ToolCall => {
                    self.calls.entry(hash_id(call_id)).or_default().calls += 1;
                    found = true;
                }
                ContentPart::ToolResult { call_id, .. } if item.kind == ItemKind::ToolResult => {
                    self.count_result(call_id, report);
                    found = true;
                }
                _ => {}
            }
        }
        found
    }

    /// Records which calls are commands. The kind may be known only when the call completes.
    fn observe_commands(&mut self, item: &Item) {
        for part in &item.content {
            if let ContentPart::ToolCall { call_id, tool_kind: Some(ToolKind::Command), .. } = part
                && item.kind == ItemKind::ToolCall
            {
                let call = hash_id(call_id);
                self.calls.entry(call).or_default().is_command = true;
                self.recent_commands.insert(call);
            }
        }
    }

    fn count_result(&mut self, call_id: &str, report: &mut Report) {
        let counts = self.calls.entry(hash_id(call_id)).or_default();
        counts.results += 1;
        if counts.calls == 0 {
            report.add(Rule::L7, format!("result of call {call_id}, which has not started"));
        } else if counts.results > counts.calls {
            report.add(Rule::L7, format!("second result of call {call_id}"));
        }
    }
}

/// Hash of the call id of a tool result; `None` for other items.
pub(super) fn result_call_hash(item: &Item) -> Option<u64> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { call_id, .. } if item.kind == ItemKind::ToolResult => Some(hash_id(call_id)),
        _ => None,
    })
}

/// L15: the title and input of a completed call.
fn check_title_and_input(item: &Item, report: &mut Report) {
    if item.kind != ItemKind::ToolCall {
        return;
    }
    let mut has_part = false;
    for part in &item.content {
        let ContentPart::ToolCall { tool_kind, title, input, .. } = part else { continue };
        has_part = true;
        if let Err(problem) = check_title(title.as_deref().unwrap_or_default()) {
            report.add(Rule::L15, format!("the title of tool call {} {problem}", item.item_id));
        }
        if let Some(Err(problem)) = input.as_ref().map(|input| check_input(tool_kind.as_ref(), input)) {
            report.add(Rule::L15, format!("the input of tool call {} {problem}", item.item_id));
        }
    }
    if !has_part {
        report.add(Rule::L15, format!("tool call {} has no tool_call part", item.item_id));
    }
}

/// Characters that break lines and are not control characters.
const LINE_SEPARATORS: [char; 2] = ['\u{2028}', '\u{2029}'];

fn check_title(title: &str) -> Result<(), String> {
    let length = title.chars().count();
    if title.trim().is_empty() {
        Err("is missing or empty".to_owned())
    } else if title.chars().any(|character| character.is_control() || LINE_SEPARATORS.contains(&character)) {
        Err("has control characters or line separators".to_owned())
    } else if length > MAX_TITLE_CHARS {
        Err(format!("has {length} characters, more than {MAX_TITLE_CHARS}"))
    } else {
        Ok(())
    }
}

/// Checks that an input has the keys of its kind. The input of an unknown kind is always valid.
fn check_input(tool_kind: Option<&ToolKind>, input: &ToolInput) -> Result<(), String> {
    let Some(kind) = tool_kind else { return Err("is present although the call has no tool_kind".to_owned()) };
    let name = || format!("{:?}", kind.as_str());
    match (kind, input) {
        (ToolKind::Unknown(_), _) => Ok(()),
        (ToolKind::Other, _) => Err(format!("is present although the tool_kind is {}", name())),
        (_, ToolInput::Web(web)) if web.url.is_none() && web.query.is_none() => {
            Err("has neither url nor query".to_owned())
        }
        (_, input) if input.kind().as_ref() == Some(kind) => Ok(()),
        _ => Err(format!("does not have the keys of its tool_kind {}", name())),
    }
}

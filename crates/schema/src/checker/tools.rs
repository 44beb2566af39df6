//! L7 and L15: results belong to calls, and calls are described in one vocabulary.

use std::collections::{HashMap, HashSet};

use super::{Report, Rule, hash};
use crate::{ContentPart, Item, ItemId, ItemKind, MAX_TITLE_CHARS, ToolInput, ToolKind, TurnStatus};

/// How often a call id was called and answered. An agent may use one id for several calls.
#[derive(Debug, Default)]
struct Count {
    calls: u32,
    results: u32,
    is_command: bool,
    /// It is a command, and the turn that called it ended `completed`.
    is_background: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tools {
    calls: HashMap<u64, Count>,
    /// Open tool items whose call id was counted when they started.
    counted: HashSet<ItemId>,
    /// Commands that were called since a turn last ended.
    recent_commands: HashSet<u64>,
}

impl Tools {
    pub(super) fn started(&mut self, item: &Item, report: &mut Report) {
        if self.count(item, report) {
            self.counted.insert(item.item_id.clone());
        }
        self.note_commands(item);
    }

    pub(super) fn completed(&mut self, item: &Item, report: &mut Report) {
        if !self.counted.remove(&item.item_id) {
            self.count(item, report);
        }
        self.note_commands(item);
        check_description(item, report);
    }

    /// Whether a tool call with this id was started.
    pub(super) fn was_called(&self, call_id: &str) -> bool {
        self.calls.get(&hash(call_id)).is_some_and(|count| count.calls > 0)
    }

    /// Whether the call with this hash of an id is of kind `command`.
    pub(super) fn is_command(&self, call: u64) -> bool {
        self.calls.get(&call).is_some_and(|count| count.is_command)
    }

    /// Whether the call with this hash of an id is a command that may go on after its turn.
    pub(super) fn is_background(&self, call: u64) -> bool {
        self.calls.get(&call).is_some_and(|count| count.is_background)
    }

    pub(super) fn turn_ended(&mut self, status: &TurnStatus) {
        for call in std::mem::take(&mut self.recent_commands) {
            self.calls.entry(call).or_default().is_background = *status == TurnStatus::Completed;
        }
    }

    fn count(&mut self, item: &Item, report: &mut Report) -> bool {
        let mut found = false;
        for part in &item.content {
            match part {
                ContentPart::ToolCall { call_id, .. } if item.kind == ItemKind::ToolCall => {
                    self.calls.entry(hash(call_id)).or_default().calls += 1;
                    found = true;
                }
                ContentPart::ToolResult { call_id, .. } if item.kind == ItemKind::ToolResult => {
                    self.result(call_id, report);
                    found = true;
                }
                _ => {}
            }
        }
        found
    }

    /// Notes which calls are commands. That may show only when a call is complete.
    fn note_commands(&mut self, item: &Item) {
        for part in &item.content {
            if let ContentPart::ToolCall { call_id, tool_kind: Some(ToolKind::Command), .. } = part
                && item.kind == ItemKind::ToolCall
            {
                let call = hash(call_id);
                self.calls.entry(call).or_default().is_command = true;
                self.recent_commands.insert(call);
            }
        }
    }

    fn result(&mut self, call_id: &str, report: &mut Report) {
        let count = self.calls.entry(hash(call_id)).or_default();
        count.results += 1;
        if count.calls == 0 {
            report.add(Rule::L7, format!("a result for {call_id}, which was never called"));
        } else if count.results > count.calls {
            report.add(Rule::L7, format!("a second result for {call_id}"));
        }
    }
}

/// The call that a result answers, as a hash; `None` for other items.
pub(super) fn call_of_result(item: &Item) -> Option<u64> {
    item.content.iter().find_map(|part| match part {
        ContentPart::ToolResult { call_id, .. } if item.kind == ItemKind::ToolResult => Some(hash(call_id)),
        _ => None,
    })
}

/// L15: the title and input of a completed call.
fn check_description(item: &Item, report: &mut Report) {
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

/// They break lines without being control characters.
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

/// An input of a kind that this version does not know cannot be judged.
fn check_input(tool_kind: Option<&ToolKind>, input: &ToolInput) -> Result<(), String> {
    let Some(kind) = tool_kind else { return Err("is there although the call has no tool_kind".to_owned()) };
    let name = || format!("{:?}", kind.as_str());
    match (kind, input) {
        (ToolKind::Unknown(_), _) => Ok(()),
        (ToolKind::Other, _) => Err(format!("is there although the tool_kind is {}", name())),
        (_, ToolInput::Web(web)) if web.url.is_none() && web.query.is_none() => {
            Err("has neither url nor query".to_owned())
        }
        (_, input) if input.kind().as_ref() == Some(kind) => Ok(()),
        _ => Err(format!("does not have the keys of its tool_kind {}", name())),
    }
}

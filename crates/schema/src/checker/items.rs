//! L3 to L6 and L8: the lifecycle of items.

use std::collections::{HashMap, HashSet};

use super::tools::{Tools, result_call_hash};
use super::{Report, Rule, hash_id};
use crate::{ContentPart, EventData, Item, ItemDelta, ItemId, ItemKind, ItemStatus, TurnStatus};

/// An item that has started and not completed.
#[derive(Debug)]
struct OpenItem {
    kind: ItemKind,
    /// Joined deltas of a message.
    streamed: String,
    /// Hash of the call id, if the item is a tool result.
    call: Option<u64>,
    /// Whether it may stay open when a turn ends, because it is the result of a command that runs in the background.
    outlives_turns: bool,
}

#[derive(Debug, Default)]
pub(super) struct Items {
    open: HashMap<ItemId, OpenItem>,
    /// Hashes of the ids of all items that ever started.
    started: HashSet<u64>,
    /// Hashes of the ids of tool calls and of all items below them. An item with such a parent belongs to a sub-agent.
    sub_agent_parents: HashSet<u64>,
    has_message: bool,
    /// The message that must complete with the next event, because the last event was a synthetic delta of it.
    completes_next: Option<ItemId>,
}

impl Items {
    pub(super) fn is_in_sub_agent(&self, parent: &ItemId) -> bool {
        self.sub_agent_parents.contains(&hash_id(parent))
    }

    pub(super) fn observe_started(&mut self, item: &Item, report: &mut Report) {
        if item.status != ItemStatus::InProgress {
            report.add(Rule::L6, format!("item {} started but is not in_progress", item.item_id));
        }
        self.check_parent(item, report);
        if item.parent_id.is_none()
            && self.has_message
            && matches!(item.kind, ItemKind::ToolCall | ItemKind::ToolResult)
        {
            report.add(
                Rule::L8,
                format!("tool item {} has no parent_id although the session has a message", item.item_id),
            );
        }
        self.has_message |= item.kind == ItemKind::Message;
        // A result has the same parent as its call, so a result alone does not make its children a sub-agent's.
        if item.kind == ItemKind::ToolCall || item.parent_id.as_ref().is_some_and(|parent| self.is_in_sub_agent(parent))
        {
            self.sub_agent_parents.insert(hash_id(&item.item_id));
        }
        if !self.started.insert(hash_id(&item.item_id)) {
            report.add(Rule::L3, format!("item {} started twice", item.item_id));
        }
        let open = OpenItem {
            kind: item.kind.clone(),
            streamed: String::new(),
            call: result_call_hash(item),
            outlives_turns: false,
        };
        self.open.insert(item.item_id.clone(), open);
    }

    pub(super) fn observe_delta(&mut self, delta: &ItemDelta, synthetic: bool, report: &mut Report) {
        match self.open.get_mut(&delta.item_id) {
            Some(open) if open.kind == ItemKind::Message => {
                open.streamed.push_str(&delta.delta);
                if synthetic {
                    self.completes_next = Some(delta.item_id.clone());
                }
            }
            Some(_) => {}
            None => self.report_not_open("delta of", &delta.item_id, report),
        }
    }

    pub(super) fn observe_completed(&mut self, item: &Item, report: &mut Report) {
        if !matches!(item.status, ItemStatus::Completed | ItemStatus::Failed) {
            report.add(Rule::L6, format!("item {} completed but is {}", item.item_id, item.status));
        }
        self.check_parent(item, report);
        check_exit_code(item, report);
        match self.open.remove(&item.item_id) {
            Some(open) if item.kind == ItemKind::Message => {
                let text: String = item.streamed_text().collect();
                if open.streamed != text {
                    let message = format!(
                        "the joined deltas of {} are {:?}, its final text is {:?}",
                        item.item_id,
                        excerpt(&open.streamed),
                        excerpt(&text)
                    );
                    report.add(Rule::L5, message);
                }
            }
            Some(_) => {}
            None => self.report_not_open("completion of", &item.item_id, report),
        }
    }

    /// L5: the synthetic delta of a message is followed by the completion of the message.
    pub(super) fn check_completes_next(&mut self, next: &EventData, report: &mut Report) {
        let Some(item_id) = self.completes_next.take() else {
            return;
        };
        let completes = matches!(next, EventData::ItemCompleted(data) if data.item.item_id == item_id);
        if !completes {
            let message = format!("{} comes between the synthetic delta of {item_id} and its completion", next.kind());
            report.add(Rule::L5, message);
        }
    }

    /// L4 at the end of a turn. The result of a command may stay open if its turn ends `completed`, and then later turns
    /// need not close it either. Its first output may come after that turn.
    pub(super) fn observe_turn_end(&mut self, status: &TurnStatus, tools: &Tools, report: &mut Report) {
        for open in self.open.values_mut() {
            open.outlives_turns |= open.call.is_some_and(|call| match status {
                TurnStatus::Completed => tools.is_command(call),
                TurnStatus::Failed | TurnStatus::Interrupted | TurnStatus::Unknown(_) => tools.is_background(call),
            });
        }
        let left = self.open.extract_if(|_, open| !open.outlives_turns).map(|(id, _)| id).collect();
        report_open_items("the turn", left, report);
    }

    /// L4 at the end of the session: every item must be completed.
    pub(super) fn observe_session_end(&mut self, report: &mut Report) {
        report_open_items("the session", self.open.drain().map(|(id, _)| id).collect(), report);
    }

    fn check_parent(&self, item: &Item, report: &mut Report) {
        if let Some(parent) = item.parent_id.as_ref().filter(|parent| !self.started.contains(&hash_id(parent))) {
            report.add(Rule::L8, format!("parent {parent} of {} is not an earlier item", item.item_id));
        }
    }

    fn report_not_open(&self, event: &str, item_id: &ItemId, report: &mut Report) {
        if self.started.contains(&hash_id(item_id)) {
            report.add(Rule::L4, format!("{event} item {item_id}, which is already completed"));
        } else {
            report.add(Rule::L3, format!("{event} item {item_id}, which has not started"));
        }
    }
}

/// L4: reports items that are open when the turn or the session ends.
fn report_open_items(ended: &str, mut items: Vec<ItemId>, report: &mut Report) {
    items.sort_unstable();
    for id in items {
        report.add(Rule::L4, format!("{ended} ended while item {id} was open"));
    }
}

/// L6: a command with a non-zero exit code is `failed`, whatever status the agent reports.
fn check_exit_code(item: &Item, report: &mut Report) {
    for part in &item.content {
        if let ContentPart::ToolResult { exit_code: Some(code), .. } = part
            && *code != 0
            && item.kind == ItemKind::ToolResult
            && item.status == ItemStatus::Completed
        {
            report.add(Rule::L6, format!("result {} has exit code {code} but is completed", item.item_id));
        }
    }
}

/// The beginning of a text, for messages.
fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

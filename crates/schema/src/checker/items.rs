//! L3 to L6 and L8: the life of items.

use std::collections::{HashMap, HashSet};

use super::tools::{Tools, call_of_result};
use super::{Report, Rule, hash};
use crate::{ContentPart, EventData, Item, ItemDelta, ItemId, ItemKind, ItemStatus, TurnStatus};

/// An item that has not completed.
#[derive(Debug)]
struct Open {
    kind: ItemKind,
    /// What a message streamed so far.
    streamed: String,
    /// The call that a result answers, as a hash.
    call: Option<u64>,
    /// Whether it may stay open when a turn ends: it is the result of a command that goes on in the background.
    outlives_turns: bool,
}

#[derive(Debug, Default)]
pub(super) struct Items {
    open: HashMap<ItemId, Open>,
    /// Every item ever started, as a hash.
    started: HashSet<u64>,
    /// Tool calls, and what stands below one: whatever has such a parent is a sub-agent's.
    sub_agents: HashSet<u64>,
    has_message: bool,
    /// A message whose synthetic delta came last, and which must complete next.
    must_complete: Option<ItemId>,
}

impl Items {
    pub(super) fn is_in_sub_agent(&self, parent: &ItemId) -> bool {
        self.sub_agents.contains(&hash(parent))
    }

    pub(super) fn started(&mut self, item: &Item, report: &mut Report) {
        if item.status != ItemStatus::InProgress {
            report.add(Rule::L6, format!("item {} started but is not in_progress", item.item_id));
        }
        self.parent(item, report);
        if item.parent_id.is_none()
            && self.has_message
            && matches!(item.kind, ItemKind::ToolCall | ItemKind::ToolResult)
        {
            report.add(Rule::L8, format!("{} names no message although there is one", item.item_id));
        }
        self.has_message |= item.kind == ItemKind::Message;
        // A result hangs on the same message as its call, so it is not by itself a sub-agent's.
        if item.kind == ItemKind::ToolCall || item.parent_id.as_ref().is_some_and(|parent| self.is_in_sub_agent(parent))
        {
            self.sub_agents.insert(hash(&item.item_id));
        }
        if !self.started.insert(hash(&item.item_id)) {
            report.add(Rule::L3, format!("item {} started twice", item.item_id));
        }
        let open = Open {
            kind: item.kind.clone(),
            streamed: String::new(),
            call: call_of_result(item),
            outlives_turns: false,
        };
        self.open.insert(item.item_id.clone(), open);
    }

    pub(super) fn delta(&mut self, delta: &ItemDelta, synthetic: bool, report: &mut Report) {
        match self.open.get_mut(&delta.item_id) {
            Some(open) if open.kind == ItemKind::Message => {
                open.streamed.push_str(&delta.delta);
                if synthetic {
                    self.must_complete = Some(delta.item_id.clone());
                }
            }
            Some(_) => {}
            None => self.not_open("a delta for", &delta.item_id, report),
        }
    }

    pub(super) fn completed(&mut self, item: &Item, report: &mut Report) {
        if !matches!(item.status, ItemStatus::Completed | ItemStatus::Failed) {
            report.add(Rule::L6, format!("item {} completed but is {}", item.item_id, item.status));
        }
        self.parent(item, report);
        failed_command(item, report);
        match self.open.remove(&item.item_id) {
            Some(open) if item.kind == ItemKind::Message => {
                let text: String = item.streamed_text().collect();
                if open.streamed != text {
                    let message = format!(
                        "the deltas of {} join to {:?}, its final text is {:?}",
                        item.item_id,
                        excerpt(&open.streamed),
                        excerpt(&text)
                    );
                    report.add(Rule::L5, message);
                }
            }
            Some(_) => {}
            None => self.not_open("completion of", &item.item_id, report),
        }
    }

    /// L5: what follows a message's synthetic delta is its completion.
    pub(super) fn expect_completion(&mut self, next: &EventData, report: &mut Report) {
        let Some(item_id) = self.must_complete.take() else {
            return;
        };
        let completes = matches!(next, EventData::ItemCompleted(data) if data.item.item_id == item_id);
        if !completes {
            let message = format!("{} between the synthetic delta of {item_id} and its completion", next.kind());
            report.add(Rule::L5, message);
        }
    }

    /// L4 at the end of a turn. The result of a command may stay open when its turn ends `completed`, and then no later
    /// turn closes it. Its first output may come after that turn.
    pub(super) fn turn_ended(&mut self, status: &TurnStatus, tools: &Tools, report: &mut Report) {
        for open in self.open.values_mut() {
            open.outlives_turns |= open.call.is_some_and(|call| match status {
                TurnStatus::Completed => tools.is_command(call),
                TurnStatus::Failed | TurnStatus::Interrupted | TurnStatus::Unknown(_) => tools.is_background(call),
            });
        }
        let left = self.open.extract_if(|_, open| !open.outlives_turns).map(|(id, _)| id).collect();
        left_open("the turn", left, report);
    }

    /// L4 at the end of the session, which nothing outlives.
    pub(super) fn session_ended(&mut self, report: &mut Report) {
        left_open("the session", self.open.drain().map(|(id, _)| id).collect(), report);
    }

    fn parent(&self, item: &Item, report: &mut Report) {
        if let Some(parent) = item.parent_id.as_ref().filter(|parent| !self.started.contains(&hash(parent))) {
            report.add(Rule::L8, format!("parent {parent} of {} is no earlier item", item.item_id));
        }
    }

    fn not_open(&self, what: &str, item_id: &ItemId, report: &mut Report) {
        if self.started.contains(&hash(item_id)) {
            report.add(Rule::L4, format!("{what} item {item_id}, which is complete"));
        } else {
            report.add(Rule::L3, format!("{what} item {item_id}, which has not started"));
        }
    }
}

/// L4: reports items that are open when they should not be.
fn left_open(what: &str, mut items: Vec<ItemId>, report: &mut Report) {
    items.sort_unstable();
    for id in items {
        report.add(Rule::L4, format!("{what} ended while item {id} was open"));
    }
}

/// L6: a command that exits non-zero failed, whatever the agent calls it.
fn failed_command(item: &Item, report: &mut Report) {
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

/// Enough of a text to recognise it by.
fn excerpt(text: &str) -> String {
    const SHOWN: usize = 60;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

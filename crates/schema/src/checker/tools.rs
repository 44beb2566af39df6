//! L7: results belong to calls.

use std::collections::{HashMap, HashSet};

use super::{Report, Rule, hash};
use crate::{ContentPart, Item, ItemId, ItemKind};

/// How often a call id was called and answered. An agent may use one id for several calls.
#[derive(Debug, Default)]
struct Count {
    calls: u32,
    results: u32,
}

#[derive(Debug, Default)]
pub(super) struct Tools {
    calls: HashMap<u64, Count>,
    /// Open tool items whose call id was counted when they started.
    counted: HashSet<ItemId>,
}

impl Tools {
    pub(super) fn started(&mut self, item: &Item, report: &mut Report) {
        if self.count(item, report) {
            self.counted.insert(item.item_id.clone());
        }
    }

    pub(super) fn completed(&mut self, item: &Item, report: &mut Report) {
        if !self.counted.remove(&item.item_id) {
            self.count(item, report);
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

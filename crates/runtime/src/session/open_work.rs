//! Items and commands of a session that have started and not ended, according to its events.

use std::collections::HashSet;

use interlingua_schema::{ContentPart, EventData, Item, ToolKind};

/// Items and commands that have not ended. A command may outlive its turn, and the session is not idle before the
/// command ends: the agent is still needed, and the next actor of the session has something to close.
#[derive(Debug, Default)]
pub(super) struct OpenWork {
    /// How many items have started and not completed.
    items: usize,
    /// Call ids of commands without a result.
    commands: HashSet<String>,
}

impl OpenWork {
    /// Whether everything has ended.
    pub(super) fn is_empty(&self) -> bool {
        self.items == 0 && self.commands.is_empty()
    }

    pub(super) fn observe(&mut self, data: &EventData) {
        match data {
            EventData::ItemStarted(_) => self.items += 1,
            EventData::ItemCompleted(completed) => {
                // Items that an earlier actor left open were not counted.
                self.items = self.items.saturating_sub(1);
                self.observe_completed(&completed.item);
            }
            EventData::SessionEnded(_) => *self = Self::default(),
            _ => {}
        }
    }

    fn observe_completed(&mut self, item: &Item) {
        match item.content.first() {
            Some(ContentPart::ToolCall { call_id, tool_kind: Some(ToolKind::Command), .. }) => {
                self.commands.insert(call_id.clone());
            }
            Some(ContentPart::ToolResult { call_id, .. }) => {
                self.commands.remove(call_id);
            }
            _ => {}
        }
    }
}

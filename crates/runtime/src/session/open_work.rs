//! What began in a session and has not ended, as its events tell.

use std::collections::HashSet;

use interlingua_schema::{ContentPart, EventData, Item, ToolKind};

/// Items and commands that are not over. A command may run on when its turn is over, and the session is not at rest
/// before it ends: the agent is still needed, and whoever takes the session up next has something to close.
#[derive(Debug, Default)]
pub(super) struct OpenWork {
    /// How many items began and did not complete.
    items: usize,
    /// The ids of calls of commands that have no result.
    commands: HashSet<String>,
}

impl OpenWork {
    /// Whether everything is over.
    pub(super) fn is_nothing(&self) -> bool {
        self.items == 0 && self.commands.is_empty()
    }

    /// Takes note of an event.
    pub(super) fn watch(&mut self, data: &EventData) {
        match data {
            EventData::ItemStarted(_) => self.items += 1,
            EventData::ItemCompleted(completed) => {
                // What an earlier stretch of work left open was not counted.
                self.items = self.items.saturating_sub(1);
                self.complete(&completed.item);
            }
            EventData::SessionEnded(_) => *self = Self::default(),
            _ => {}
        }
    }

    fn complete(&mut self, item: &Item) {
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

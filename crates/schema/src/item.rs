//! What is said and done in a session.

use crate::{ContentPart, ItemId, NativeItemId, wire_enum, wire_struct};

wire_enum! {
    /// What an item is.
    pub enum ItemKind {
        /// Something said, or reasoning.
        Message = "message",
        /// A tool is called.
        ToolCall = "tool_call",
        /// A tool's outcome.
        ToolResult = "tool_result",
        /// A system message.
        System = "system",
        /// A change of state worth knowing.
        Status = "status",
        /// Something the agent has and we have no word for.
        Unknown = "unknown",
    } else
        /// It is not `Unknown`, which is the word `unknown`.
        Unlisted
}

wire_enum! {
    /// Who speaks.
    pub enum Role {
        /// The user, or the agent that prompts a sub-agent.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// The agent's own system.
        System = "system",
        /// A tool.
        Tool = "tool",
    } else Unknown
}

wire_enum! {
    /// Where an item stands.
    pub enum ItemStatus {
        /// Begun.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Failed, denied, invalid or cut off.
        Failed = "failed",
    } else Unknown
}

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemOutcome {
    /// Well.
    Completed,
    /// It failed, was denied, was invalid or was cut off.
    Failed,
}

impl From<ItemOutcome> for ItemStatus {
    fn from(outcome: ItemOutcome) -> Self {
        match outcome {
            ItemOutcome::Completed => Self::Completed,
            ItemOutcome::Failed => Self::Failed,
        }
    }
}

wire_struct! {
    /// One thing that streams: a message, a tool call, its result, a status.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Item {
        /// Our id.
        pub item_id: ItemId,
        /// The agent's own id of the item or message; null when it has none.
        pub native_item_id: Option<NativeItemId>,
        /// The item this one came from: a tool's message, a sub-agent's tool call; null when there is none.
        pub parent_id: Option<ItemId>,
        /// What it is.
        pub kind: ItemKind,
        /// Who speaks; null where nobody does.
        pub role: Option<Role>,
        /// Where it stands.
        pub status: ItemStatus,
        /// What it consists of, as far as known.
        pub content: Vec<ContentPart>,
    }
}

impl Item {
    /// An item without content, parent or role. [`EventData`](crate::EventData) makes an event of it and sets the
    /// status that belongs to that event.
    #[must_use]
    pub fn new(item_id: impl Into<ItemId>, kind: ItemKind) -> Self {
        Self {
            item_id: item_id.into(),
            native_item_id: None,
            parent_id: None,
            kind,
            role: None,
            status: ItemStatus::InProgress,
            content: Vec::new(),
        }
    }

    /// The texts of a message in order, which joined are what its deltas join to.
    pub fn streamed_text(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(ContentPart::streamed_text)
    }
}

wire_struct! {
    /// Data of `item.started` and `item.completed`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct ItemEvent {
        /// The item.
        pub item: Item,
    }
}

impl ItemEvent {
    pub(crate) fn new(mut item: Item, status: ItemStatus) -> Self {
        item.status = status;
        Self { item }
    }
}

wire_struct! {
    /// Data of `item.delta`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ItemDelta {
        /// The item that goes on.
        pub item_id: ItemId,
        /// The agent's own id of it; null when it has none.
        pub native_item_id: Option<NativeItemId>,
        /// What comes next.
        pub delta: String,
    }
    /// What comes next in an item.
    new(item_id: impl Into<ItemId>, native_item_id: Option<NativeItemId>, delta: impl Into<String>)
}

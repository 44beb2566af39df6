//! Items: the messages, tool calls, tool results and status entries of a session.

use crate::{ContentPart, ItemId, NativeItemId, StatusLabel, wire_enum, wire_struct};

wire_enum! {
    /// The kind of an item.
    pub enum ItemKind {
        /// A message of the user or the agent, or reasoning.
        Message = "message",
        /// A tool call.
        ToolCall = "tool_call",
        /// The result of a tool call.
        ToolResult = "tool_result",
        /// A system message.
        System = "system",
        /// A change of state, such as a retry or a new plan.
        Status = "status",
        /// A native item that the universal schema has no kind for.
        Unknown = "unknown",
    } else
        /// `Unknown` is the listed value `unknown`.
        Unlisted
}

wire_enum! {
    /// The author of an item.
    pub enum Role {
        /// The user, or the agent that prompts a sub-agent.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// The agent's system, such as a system prompt.
        System = "system",
        /// A tool.
        Tool = "tool",
    } else Unknown
}

wire_enum! {
    /// The state of an item.
    pub enum ItemStatus {
        /// Started, not completed.
        InProgress = "in_progress",
        /// Completed successfully.
        Completed = "completed",
        /// Failed, denied, invalid or interrupted.
        Failed = "failed",
    } else Unknown
}

/// The final state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemOutcome {
    /// Completed successfully.
    Completed,
    /// Failed, denied, invalid or interrupted.
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
    /// A message, tool call, tool result, status, system or unknown entry of a session.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Item {
        /// Interlingua's id of the item.
        pub item_id: ItemId,
        /// The agent's id of the item or its message; null if there is none.
        pub native_item_id: Option<NativeItemId>,
        /// Id of the item that this one belongs to: for a tool call its message, for an item of a sub-agent the tool call
        /// that started the sub-agent; null if there is none.
        pub parent_id: Option<ItemId>,
        /// The kind of item.
        pub kind: ItemKind,
        /// The author; null if the item has none.
        pub role: Option<Role>,
        /// The state of the item.
        pub status: ItemStatus,
        /// The content known so far.
        pub content: Vec<ContentPart>,
    }
}

impl Item {
    /// An item without content, parent or role. The constructors of [`EventData`](crate::EventData) set its status.
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

    /// The texts of a message in order. Joined, they equal the joined deltas.
    pub fn streamed_text(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(ContentPart::streamed_text)
    }

    /// The label of a status item.
    #[must_use]
    pub fn status_label(&self) -> Option<&StatusLabel> {
        self.content.iter().find_map(|part| match part {
            ContentPart::Status { label, .. } => Some(label),
            _ => None,
        })
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
        /// Interlingua's id of the item.
        pub item_id: ItemId,
        /// The agent's id of the item; null if there is none.
        pub native_item_id: Option<NativeItemId>,
        /// The next piece of text.
        pub delta: String,
    }
    /// The next piece of an item's text.
    new(item_id: impl Into<ItemId>, native_item_id: Option<NativeItemId>, delta: impl Into<String>)
}
